"""The documents are true: their code runs, their links and commands exist, their drawing fits."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from langgraph_filesystem import CommandModel, create_filesystem_agent
from langgraph_filesystem.labels import draw_mermaid
from tests.scripted import ScriptedModel, call, says

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
DOCUMENTS = [
    README,
    *(ROOT / name for name in ("ARCHITECTURE.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "examples").glob("**/README.md")),
]
PLAN = "1. Choose a sunny place.\n"
REAL_MODEL = [
    says(call("write_file", file_path="/plan.md", content=PLAN)),
    AIMessage("The plan is in /plan.md."),
]
"""What the scripted model does when a block of code asks for a real one."""


def name_of(document: Path) -> str:
    return str(document.relative_to(ROOT))


def blocks(document: Path, language: str) -> list[tuple[int, str]]:
    """Return the blocks of code in one language, with the number of their first line."""
    text = document.read_text()
    found = re.finditer(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [(text.count("\n", 0, block.start()) + 2, block[1]) for block in found]


CODE = [
    pytest.param(code, id=f"{name_of(document)}:{line}")
    for document in DOCUMENTS
    for line, code in blocks(document, "python")
]


@pytest.fixture(autouse=True)
def real_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a scripted model to code that asks for a real one: it would need a key."""

    def scripted(name: str, **options: Any) -> ScriptedModel:
        return ScriptedModel(REAL_MODEL)

    monkeypatch.setattr("langchain.chat_models.init_chat_model", scripted)


@pytest.mark.parametrize("code", CODE)
def test_code_runs(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    if "class Test" in code:
        Path("test_block.py").write_text(code)
        collected = subprocess.run(
            [sys.executable, "-m", "pytest", "--collect-only", "-q", "test_block.py"],
            capture_output=True,
            text=True,
        )
        assert collected.stdout.count("test_block.py::") > 100, collected.stdout
        return
    assert "assert " in code or "print(" in code, "an example shows what comes out"
    exec(compile(code, "a block of code", "exec"), {"__name__": "document"})


def test_the_quickstart_prints_the_answer_and_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    code = next(code for _, code in blocks(README, "python") if "init_chat_model" in code)
    exec(compile(code, "the quickstart", "exec"), {"__name__": "quickstart"})
    assert capsys.readouterr().out == f"The plan is in /plan.md.\n{PLAN}\n"


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_links_lead_to_files_and_headings(document: Path) -> None:
    for link in re.findall(r"\]\(([^)]+)\)", document.read_text()):
        path, _, heading = link.partition("#")
        target = (document.parent / path) if path else document
        assert target.exists(), f"{name_of(document)}: {link}"
        if heading:
            headings = re.findall(r"^#+ (.*)$", target.read_text(), re.MULTILINE)
            assert heading in map(anchor, headings), f"{name_of(document)}: {link}"


def anchor(heading: str) -> str:
    """Return the anchor that a heading gets on a page."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_make_commands_are_targets_of_the_makefile(document: Path) -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"(?:^|`)make (\w+)", document.read_text(), re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_the_readme_has_at_most_250_lines() -> None:
    assert len(README.read_text().splitlines()) <= 250


def test_the_drawings_show_the_graph() -> None:
    graph = create_filesystem_agent(CommandModel()).get_graph()
    compact, generated = (drawing for _, drawing in blocks(README, "mermaid"))
    assert generated == draw_mermaid(graph)
    for node in {*graph.nodes} - {"__start__", "__end__"}:
        assert re.search(rf"\b{node}\b", compact), node


def test_every_node_is_described() -> None:
    operations = (ROOT / "docs" / "operations.md").read_text()
    drawn = create_filesystem_agent(CommandModel()).get_graph().nodes
    for node in {*drawn, "execute", "tools", "respond", "review"} - {"__start__", "__end__"}:
        assert f"`{node}`" in operations, node


def test_files_named_in_the_architecture_exist() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    for path in re.findall(r"`((?:graph|nodes|state|tests)/[\w/.]*)`", text):
        assert (ROOT / path).exists(), path
