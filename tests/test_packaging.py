"""The package as it is shipped: its parts, its dependencies and the direction of its imports."""

import ast
import importlib
import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = {
    "graph": "langgraph_filesystem",
    "nodes": "langgraph_filesystem.nodes",
    "state": "langgraph_filesystem.state",
}
MAY_IMPORT = {
    "nodes": ("langgraph_filesystem.nodes", "langgraph_filesystem.state"),
    "state": ("langgraph_filesystem.state",),
}
SOURCES = sorted(path.relative_to(ROOT) for room in ROOMS for path in (ROOT / room).rglob("*.py"))

BUILD_WHEEL = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"


def pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def module_name(path: Path) -> str:
    """Return the import name of a source file, such as `langgraph_filesystem.nodes.grep`."""
    room, *below = path.with_suffix("").parts
    return ".".join([ROOMS[room], *(part for part in below if part != "__init__")])


def imports(path: Path) -> Iterator[str]:
    """Yield the absolute name of each module that a source file imports, wherever it does so."""
    module = module_name(path)
    package = module if path.stem == "__init__" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            relative = "." * node.level + (node.module or "")
            yield importlib.util.resolve_name(relative, package)


def within(module: str, packages: tuple[str, ...]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def test_every_package_of_the_tree_is_listed() -> None:
    tree = {module_name(path) for path in SOURCES if path.stem == "__init__"}
    assert sorted(pyproject()["tool"]["setuptools"]["packages"]) == sorted(tree)


def test_every_directory_with_modules_is_a_package() -> None:
    directories = {path.parent for path in SOURCES}
    assert [str(path) for path in directories if not (ROOT / path / "__init__.py").exists()] == []


def declared(*extras: str) -> set[str]:
    """Return the names of the distributions that the package needs, with some of its extras."""
    project = pyproject()["project"]
    lines = [*project["dependencies"], *(x for e in extras for x in project[OPTIONAL][e])]
    return {re.split(r"[^\w-]", line)[0].replace("_", "-") for line in lines}


OPTIONAL = "optional-dependencies"
UNNAMED = {"langgraph-checkpoint", "langgraph-checkpoint-sqlite"}
"""They share the import name of `langgraph`."""
RENAMED = {"yaml": "pyyaml"}
"""Import names that differ from those of their distributions."""


def test_what_is_imported_is_declared_and_the_reverse() -> None:
    roots = {module.partition(".")[0] for path in SOURCES for module in imports(path)}
    others = roots - sys.stdlib_module_names - {"langgraph_filesystem"}
    used = {RENAMED.get(name, name.replace("_", "-")) for name in others}
    users = [extra for extra in pyproject()["project"][OPTIONAL] if extra not in ("dev", "bench")]
    # The conformance suite is for those who have pytest, and psycopg brings its pool.
    assert used - declared(*users) == {"psycopg-pool", "pytest"}
    assert declared() - used == UNNAMED


def test_constraints_are_pins_and_nothing_else() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.+!]+", line)] == []


@pytest.mark.parametrize(
    "path", [path for path in SOURCES if path.stem != "__main__"], ids=module_name
)
def test_module_exports_what_it_names(path: Path) -> None:
    module = importlib.import_module(module_name(path))
    # A subpackage may have nothing of its own.
    exported = getattr(module, "__all__", () if path.name == "__init__.py" else None)
    assert isinstance(exported, tuple)
    assert [name for name in exported if not hasattr(module, name)] == []


def test_every_directory_of_tests_is_a_package() -> None:
    # Two test files of one name in different rooms collide in pytest unless they are in packages.
    directories = {path.parent for path in (ROOT / "tests").rglob("test_*.py")}
    assert [str(path) for path in directories if not (path / "__init__.py").exists()] == []


@pytest.mark.parametrize("path", [path for path in SOURCES if path.parts[0] in MAY_IMPORT], ids=str)
def test_imports_go_one_way(path: Path) -> None:
    ours = [module for module in imports(path) if within(module, ("langgraph_filesystem",))]
    assert [module for module in ours if not within(module, MAY_IMPORT[path.parts[0]])] == []


@pytest.fixture(scope="module")
def wheel_names(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Return the names of the files in a wheel, built from a copy: a build leaves files behind."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for room in ROOMS:
        shutil.copytree(ROOT / room, source / room, ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run(
        [sys.executable, "-c", BUILD_WHEEL, str(target)],
        cwd=source,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    (wheel,) = target.glob("*.whl")
    return set(zipfile.ZipFile(wheel).namelist())


def test_wheel_holds_every_module(wheel_names: set[str]) -> None:
    modules = {
        "/".join([ROOMS[path.parts[0]].replace(".", "/"), *path.parts[1:]]) for path in SOURCES
    }
    assert modules | {"langgraph_filesystem/py.typed"} <= wheel_names


def test_wheel_puts_one_name_into_site_packages(wheel_names: set[str]) -> None:
    tops = {name.partition("/")[0] for name in wheel_names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"langgraph_filesystem"}
