"""The benchmarks run and check their contestants; what they measure is for `make bench`."""

import importlib
import pkgutil

import pytest

from tests import benchmarks
from tests.benchmarks import (
    checkpoint_bytes,
    disk,
    edit_bytes,
    imports,
    many_files,
    nested_bytes,
    overlay,
    turns,
)
from tests.benchmarks.__main__ import ALL
from tests.benchmarks.contestants import BARE, OURS
from tests.benchmarks.rows import Row, printed


def test_turns_measures_each_saver() -> None:
    rows = turns.measure(rounds=0, turns=2, contestants=[OURS, BARE])

    assert {(row.what, row.contestant) for row in rows} == {
        ("no saver", OURS.name),
        ("SQLite", OURS.name),
        ("no saver", BARE.name),
        ("SQLite", BARE.name),
    }
    assert all(row.target == 1.3 for row in rows if row.contestant == BARE.name)
    assert all(row.value > 0 for row in rows)


def test_many_files_measures_each_operation() -> None:
    rows = many_files.measure(rounds=0, turns=2, files=40, contestants=[OURS])

    assert {row.what.partition(",")[0] for row in rows} == {"ls", "glob", "grep", "read_file"}


def test_checkpoint_bytes_sets_the_database_against_the_conversation() -> None:
    rows = checkpoint_bytes.measure(files=2, size=2_000, edits=2, with_peers=False)

    assert [row.what for row in rows] == ["source code"] * 2 + ["random text"] * 2
    assert rows[0].ratio == pytest.approx(rows[0].value / rows[1].value)


def test_edit_bytes_measures_an_edit_and_the_way_back() -> None:
    rows = edit_bytes.measure(edits=2, size=2_000, with_peers=False, in_fresh_process=False)

    whats = ["added by an edit", "time of a turn", "get_state after 2 edits"]
    assert [row.what for row in rows] == whats


def test_nested_bytes_sets_a_parent_against_the_agent_alone() -> None:
    rows = nested_bytes.measure(files=2, size=2_000, writes=2)

    whats = ["1 visit", "2 visits"]
    assert [row.what for row in rows] == [what for what in whats for _ in range(3)]
    assert rows[1].ratio == pytest.approx(rows[1].value / rows[0].value)
    assert [row.target for row in rows[:3]] == [None, 2.0, None]


def test_disk_measures_each_operation_against_the_limit() -> None:
    rows = disk.measure(rounds=0, files=200, large=200_000, with_peers=False)

    assert {row.what.split(",")[0].split()[0] for row in rows} == {
        *("glob", "grep", "ls", "first", "20", "edit", "memory")
    }
    assert {row.contestant for row in rows} == {disk.OURS, disk.LIMIT}
    assert all(row.target == 1.5 for row in rows if row.what[:4] == "grep" and row.ratio)
    assert all(row.value >= 0 for row in rows)


def test_overlay_sets_each_operation_against_the_directory_itself() -> None:
    rows = overlay.measure(rounds=0, turns=2, files=40, edits=2, sizes=[2_000])

    timed, stored = rows[:-4], rows[-4:]
    assert {row.what.partition(",")[0] for row in timed} == {
        *("edit_file", "ls", "glob", "grep", "read_file")
    }
    assert all(row.target == 1.3 for row in timed if row.contestant == overlay.PLAIN)
    assert [row.contestant for row in stored] == [overlay.OVERLAY, overlay.PLAIN] * 2
    assert stored[0].ratio == pytest.approx(stored[0].value * 1000 / 2_000)
    assert [row.target for row in stored] == [None, None, 14.0, None]


def test_imports_compares_the_package_and_its_factory() -> None:
    assert list(imports.PAIRS) == ["package", "factory"]
    assert imports.measured("import json") > 0


def test_a_contestant_that_does_not_do_the_work_is_not_measured() -> None:
    with pytest.raises(AssertionError, match="bare"):
        many_files.measure(rounds=0, turns=1, files=10, contestants=[BARE])


def test_every_module_with_a_measure_is_run() -> None:
    names = [module.name for module in pkgutil.iter_modules(benchmarks.__path__)]
    modules = {name: importlib.import_module(f"tests.benchmarks.{name}") for name in names}

    assert dict(ALL) == {name: m for name, m in modules.items() if hasattr(m, "measure")}


def test_a_table_shows_what_is_missed() -> None:
    table = printed(
        "speed",
        [
            Row("a", "ours", 1.0, "ms"),
            Row("a", "peer", 2.0, "ms", 0.5, 0.5),
            Row("b", "x", 4, "kB", target=3),
        ],
    )

    assert table.splitlines()[1:] == [
        "speed",
        "",
        "what  contestant    value  ratio  target",
        "-" * 48,
        "a     ours        1.00 ms",
        "a     peer        2.00 ms  0.50x  <= 0.5      ok",
        "b     x           4.00 kB           <= 3  MISSED",
    ]
