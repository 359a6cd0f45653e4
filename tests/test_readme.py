"""The README is true: its code runs, its drawing is the graph, its commands exist."""

import re
from pathlib import Path

import pytest

from langgraph_filesystem import CommandModel, create_filesystem_agent
from langgraph_filesystem.labels import draw_mermaid

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("code", blocks("python"))
def test_code_of_the_readme_runs(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "assert " in code, "an example shows what comes out"
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {"__name__": "readme"})


def test_drawings_of_the_readme_are_the_graph() -> None:
    compact, generated = blocks("mermaid")
    drawn = create_filesystem_agent(CommandModel()).get_graph()
    assert generated == draw_mermaid(drawn)
    for node in {*drawn.nodes} - {"__start__", "__end__"}:
        assert re.search(rf"\b{node}\b", compact), node


def test_commands_of_the_readme_are_targets_of_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = re.findall(r"^make (\w+)", "\n".join(blocks("bash")), re.MULTILINE)
    assert {"demo", "test"} <= set(targets)
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_every_operation_is_in_the_readme() -> None:
    drawn = create_filesystem_agent(CommandModel()).get_graph().nodes
    for node in {*drawn} - {"__start__", "__end__"}:
        assert f"`{node}`" in README, node
