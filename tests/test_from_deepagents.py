"""`docs/from-deepagents.md`: a row for everything that users of `deepagents` pass, and no other."""

import inspect
import re
from pathlib import Path
from typing import Any

import deepagents
import pytest
from deepagents import CompiledSubAgent, FilesystemMiddleware, SubAgent, create_deep_agent
from deepagents import backends as their_backends
from deepagents import middleware as their_middleware

import langgraph_filesystem
from langgraph_filesystem import CommandModel, add_filesystem, create_filesystem_agent

GUIDE = (Path(__file__).parent.parent / "docs" / "from-deepagents.md").read_text()


def parameters(function: Any) -> set[str]:
    """Return the names of the public parameters of a function."""
    names = set(inspect.signature(function).parameters)
    return {name for name in names if not name.startswith("_") and name != "self"}


def classes(module: Any, ending: str) -> set[str]:
    """Return the classes that a module exports whose names end so."""
    found = {name for name in module.__all__ if isinstance(getattr(module, name), type)}
    return {name for name in found if name.endswith(ending)}


TABLES: dict[str, set[str]] = {
    "Arguments of `create_deep_agent`": parameters(create_deep_agent),
    "Options of `FilesystemMiddleware`": parameters(FilesystemMiddleware.__init__),
    "Keys of a subagent": {*SubAgent.__annotations__, *CompiledSubAgent.__annotations__},
    "Middleware": classes(their_middleware, "Middleware"),
    "Backends": classes(their_backends, "Backend") | classes(their_backends, "Sandbox"),
}


def rows(title: str) -> dict[str, str]:
    """Return the rows of the table below a title: the name in the first cell, then the second."""
    section = GUIDE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", section, re.MULTILINE))


@pytest.mark.parametrize("title", TABLES)
def test_every_name_has_a_row_and_every_row_a_name(title: str) -> None:
    assert set(rows(title)) == TABLES[title], f"deepagents {deepagents.__version__}"


def test_the_keywords_in_the_rows_are_ours() -> None:
    ours = parameters(create_filesystem_agent) | parameters(add_filesystem)
    titles = list(TABLES)
    for name, here in {**rows(titles[0]), **rows(titles[1])}.items():
        keyword = re.match(r"`(\w+)`", here)
        if keyword:
            assert keyword[1] in ours, name
        else:
            assert here.startswith("nothing"), name
    for name, here in rows("Middleware").items():
        keyword = re.match(r"`(\w+)`:", here)
        assert keyword is None or keyword[1] in ours, name
    for name in [name for name, here in rows("Backends").items() if "same name" in here]:
        assert name in langgraph_filesystem.__all__


THEIRS = parameters(create_deep_agent) | parameters(FilesystemMiddleware.__init__)


@pytest.mark.parametrize("keyword", sorted(THEIRS - parameters(create_filesystem_agent)))
def test_a_keyword_that_we_lack_is_refused_with_what_replaces_it(keyword: str) -> None:
    options: Any = {keyword: None}
    with pytest.raises(TypeError, match=rf"has no `{keyword}`\. .+\."):
        create_filesystem_agent(CommandModel(), **options)
