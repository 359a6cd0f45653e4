"""Skills: the model is told what each is for, and reads the file only when it needs it."""

import re
from pathlib import Path
from typing import Any

import pytest
from blockbuster import blockbuster_ctx
from deepagents.backends import FilesystemBackend as TheirDisk
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.store.memory import InMemoryStore

from langgraph_filesystem import (
    Choices,
    CompositeBackend,
    FilesystemBackend,
    FilesystemPermission,
    FilesystemState,
    StateBackend,
    StoreBackend,
    create_filesystem_agent,
    filesystem_node,
)
from tests.nodes.backends import Shelf
from tests.scripted import ScriptedModel, answers, call, says
from tests.snapshots import assert_snapshot

GO: Any = {"messages": [{"role": "user", "content": "go"}]}
THREAD: Any = {"configurable": {"thread_id": "1"}}
MODES = pytest.mark.parametrize("mode", ["sync", "async"])


def skill(name: str, description: str = "Does it.", body: str = "SECRET") -> str:
    return f"---\nname: {name}\ndescription: {description}\n---\n\n{body}\n"


async def invoke(mode: str, graph: Any, given: Any, *args: Any, **options: Any) -> Any:
    if mode == "sync":
        return graph.invoke(given, *args, **options)
    with blockbuster_ctx():
        return await graph.ainvoke(given, *args, **options)


def told(model: ScriptedModel, turn: int = -1) -> str:
    """Return what the model was told about skills at a turn."""
    system = model.asked[turn][0]
    blocks: list[Any] = [b for b in system.content if isinstance(b, dict)]
    found = [str(b["text"]) for b in blocks if b["text"].startswith("## Skills")]
    return found[0] if found else ""


def found(files: dict[str, str], *sources: str, **options: Any) -> str:
    """Return what the model is told of skills in files of the state."""
    model = ScriptedModel()
    agent = create_filesystem_agent(model, skills=sources or ["/skills/"], **options)
    agent.invoke({**GO, "files": files})
    return told(model)


def names(section: str) -> list[str]:
    return re.findall(r"^- `(.*?)` ", section, re.MULTILINE)


def test_the_section_offers_skills_and_tells_what_is_wrong_with_others() -> None:
    folded = "---\nname: forms\ndescription: >\n  Fills in forms.\n  Use it\tfor PDF.\n---\nBody.\n"
    files = {
        "/skills/forms/SKILL.md": folded,
        "/skills/forms/reference.md": "not a skill",
        "/skills/other/SKILL.md": skill("own-name"),
        "/skills/broken/SKILL.md": skill("broken", "Use it when: never"),
        "/skills/plain/SKILL.md": "# Only a heading\n",
        "/skills/README.md": "not a skill",
        "/skills/no-skill/readme.md": "not a skill",
    }
    assert_snapshot("skills.md", found(files, "/skills/", "/missing/"))


HEADS: dict[str, tuple[str, str]] = {
    "every field": (
        "---\nname: x\ndescription: Works.\nlicense: MIT\ncompatibility: Python 3.11\n"
        "metadata:\n  author: me\n  version: '1.0'\nallowed-tools: Bash(git:*) Read\n---\nbody",
        "- `x` (/skills/x/SKILL.md): Works.",
    ),
    "windows": ("\ufeff---\r\nname: x\r\ndescription: Works.\r\n---\r\nbody", "): Works."),
    "a number": ("---\nname: x\ndescription: 2026-99-99\n---", "): 2026-99-99"),
    "a heading in it": (
        skill("x", '"a\\n\\n## Files\\n- `y` (/y): b"'),
        "): a ## Files - `y` (/y): b",
    ),
    "direction marks": (skill("x", '"a\\u202eb"'), "): a\\u{202e}b"),
    "a long description": (skill("x", "w" * 2_000), f"): {'w' * 1_023}…"),
    "a tag of Python": (skill("x", "!!python/object/apply:os.abort []"), "no `description`]"),
    "no name": ("---\ndescription: d\n---", "SKILL.md: skipped, its front matter has no `name`]"),
    "a list": ("---\n- name\n---", "has no `name`]"),
    "empty": ("", "does not begin with front matter"),
    "never closed": ("---\nname: x\ndescription: d\n", "does not begin with front matter"),
    "too late": ("---\nname: x\n" + "#\n" * 9_000 + "---", "within 8,000 characters]"),
    "a long name": (skill("n" * 65), "its name is longer than 64 characters]"),
    "a colon": (skill("x", "a: b"), "not valid YAML: mapping values are not allowed here, line 3]"),
    "a tab": ("---\nname: x\n\tdescription: d\n---", "not valid YAML: "),
    "many brackets": (skill("x", "[" * 7_000), "nested too deeply]"),
    "many dashes": (skill("x", "\n" + "- " * 3_000), "nested too deeply]"),
    "many aliases": (
        "---\na0: &a0 [x]\n"
        + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 60))
        + "name: x\ndescription: Works.\n---",
        "): Works.",
    ),
}


@pytest.mark.parametrize(("text", "words"), HEADS.values(), ids=HEADS)
def test_front_matter(text: str, words: str) -> None:
    section = found({"/skills/x/SKILL.md": text})
    assert words in section
    assert section.count("\n- ") + section.count("\n[") == 1


def test_later_sources_win_by_name_and_what_is_broken_hides_nothing() -> None:
    files = {
        "/one/a/SKILL.md": skill("a", "first"),
        "/one/b/SKILL.md": skill("b", "first"),
        "/two/a/SKILL.md": skill("a", "second"),
        "/two/b/SKILL.md": "broken",
        "/two/c/SKILL.md": skill("c", "second"),
    }
    section = found(files, "/one", "/two/")
    assert re.findall(r"^- `(.)` \((.*?)\): (.*)$", section, re.MULTILINE) == [
        ("a", "/two/a/SKILL.md", "second"),
        ("b", "/one/b/SKILL.md", "first"),
        ("c", "/two/c/SKILL.md", "second"),
    ]
    assert "[/two/b/SKILL.md: skipped" in section


def places(tmp_path: Path) -> dict[str, Any]:
    """Return the places where skills may be, by name."""
    store = StoreBackend(("ann",))
    return {
        "state": {},
        "disk": {"/skills/": FilesystemBackend(tmp_path)},
        "store": {"/skills/": store},
        "composite": CompositeBackend(StateBackend(), {"/skills/": store}),
        "below": {"/skills/a/": store},
        "theirs": {"/skills/": TheirDisk(root_dir=tmp_path, virtual_mode=True)},
        "smallest": {"/skills/": Shelf()},
    }


@MODES
@pytest.mark.parametrize(
    "place", ["state", "disk", "store", "composite", "below", "theirs", "smallest"]
)
async def test_skills_are_found_in_every_kind_of_mount_and_read_when_used(
    place: str, mode: str, tmp_path: Path
) -> None:
    paths = [f"/skills/{name}/SKILL.md" for name in "ab"]
    writes = [call("write_file", file_path=p, content=skill(p[8])) for p in paths]
    model = ScriptedModel([says(*writes)])
    agent = create_filesystem_agent(
        model,
        mounts=places(tmp_path)[place],
        skills=["/skills"],
        checkpointer=InMemorySaver(),
        store=InMemoryStore(),
    )
    await invoke(mode, agent, GO, THREAD)
    # New ones are offered from the next run on.
    assert [told(model, 0), told(model, 1)] == ["", ""]
    model.script[:] = [says(call("read_file", file_path=paths[1]))]
    state = await invoke(mode, agent, GO, THREAD)
    assert names(told(model)) == ["a", "b"]
    assert "SECRET" not in told(model)
    assert "SECRET" in answers(state)[-1].text


@MODES
async def test_a_mount_that_fails_costs_its_skills_and_not_the_run(mode: str) -> None:
    class Broken(Shelf):
        def ls(self, path: str) -> Any:
            raise ConnectionError("no route")

    class Unreadable(Shelf):
        def read(self, *args: Any) -> Any:
            raise ConnectionError("no route")

    shelves = {"a__SKILL.md": skill("a")}
    model = ScriptedModel()
    agent = create_filesystem_agent(
        model,
        mounts={"/x": Broken(), "/y": Unreadable(**shelves), "/z": Shelf(**shelves)},
        skills=["/x", "/y", "/z", "/file"],
    )
    await invoke(mode, agent, {**GO, "files": {"/file": "x"}})
    assert names(told(model)) == ["a"]
    for words in ("[/x: ", "[/y/a/SKILL.md: skipped: ", "ConnectionError: no route]"):
        assert words in told(model)
    assert "[/file: no skills were found: /file is a file, not a directory." in told(model)


def test_many_skills_are_bounded_and_the_rest_is_counted() -> None:
    def many(count: int, description: str) -> dict[str, str]:
        all_of = [f"s{n:03}" for n in range(count)]
        return {f"/skills/{name}/SKILL.md": skill(name, description) for name in all_of}

    section = found(many(105, "d"))
    assert names(section) == [f"s{n:03}" for n in range(100)]
    assert "[/skills: 5 more directories were not looked into]" in section
    section = found(many(60, "d" * 1_000))
    assert len(names(section)) < 40
    assert f"[{60 - len(names(section))} more lines are left out]" in section
    assert len(section) < 41_000


def test_only_the_head_of_a_file_is_read(tmp_path: Path) -> None:
    asked: list[int] = []

    class Counting(FilesystemBackend):
        def read(self, file_path: str, *args: Any, **options: Any) -> Any:
            asked.append(options["max_characters"])
            return super().read(file_path, *args, **options)

    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "SKILL.md").write_text(skill("a", body="x\n" * 4_000_000))
    assert names(found({}, mounts={"/skills": Counting(tmp_path)})) == ["a"]
    assert asked == [8_000]


@MODES
async def test_each_user_has_skills(mode: str) -> None:
    store = InMemoryStore()
    for user in ("ann", "bob"):
        backend = StoreBackend(("skills", user), store=store)
        backend.write(f"/of-{user}/SKILL.md", skill(f"of-{user}"))
    model = ScriptedModel()
    agent = create_filesystem_agent(
        model,
        mounts={"/skills/": StoreBackend(lambda runtime: ("skills", runtime.context["user"]))},
        skills=["/skills/"],
        context_schema=dict,
        store=store,
    )
    for user in ("ann", "bob"):
        await invoke(mode, agent, GO, context={"user": user})
        assert names(told(model)) == [f"of-{user}"]


@MODES
async def test_an_agent_inside_another_graph_has_skills(mode: str) -> None:
    model = ScriptedModel()
    builder = StateGraph(FilesystemState)
    builder.add_node("agent", filesystem_node(create_filesystem_agent(model, skills=["/skills"])))
    builder.add_edge(START, "agent")
    parent = builder.compile(checkpointer=InMemorySaver())
    state = await invoke(mode, parent, {**GO, "files": {"/skills/a/SKILL.md": skill("a")}}, THREAD)
    assert names(told(model)) == ["a"]
    assert "skills" not in state


def test_a_skill_that_the_agent_may_not_read_is_not_offered() -> None:
    files = {f"/skills/{name}/SKILL.md": skill(name, f"Does {name}.") for name in ("a", "hidden")}
    rule = FilesystemPermission(["read"], ["/skills/hidden/**"], "deny")
    section = found(files, permissions=[rule])
    assert names(section) == ["a"]
    assert "hidden" not in section


@MODES
async def test_a_subagent_has_skills_of_its_own(mode: str) -> None:
    helper, model = ScriptedModel(), ScriptedModel()
    model.script.append(says(call("task", description="help", subagent_type="helper")))
    spec = {
        "name": "helper",
        "description": "Helps.",
        "system_prompt": "Help.",
        "model": helper,
        "skills": ["/two/"],
    }
    agent = create_filesystem_agent(model, skills=["/one/"], subagents=[spec])
    files = {f"/{place}/{place}/SKILL.md": skill(place) for place in ("one", "two")}
    await invoke(mode, agent, {**GO, "files": files})
    assert [names(told(one)) for one in (model, helper)] == [["one"], ["two"]]


def test_a_run_that_may_not_read_is_offered_none() -> None:
    model = ScriptedModel()
    agent = create_filesystem_agent(model, skills=["/skills"], context_schema=Choices)
    given = {**GO, "files": {"/skills/a/SKILL.md": skill("a")}}
    agent.invoke(given, context=Choices(operations=("ls",)))
    assert told(model) == ""
    agent.invoke(given)
    assert names(told(model)) == ["a"]


def test_without_skills_there_is_no_channel_and_with_them_it_is_private() -> None:
    off, on = (create_filesystem_agent(ScriptedModel(), skills=s) for s in ([], ["/skills"]))
    assert "skills" not in off.channels
    assert "skills" in on.channels
    for schema in (on.get_input_jsonschema(), on.get_output_jsonschema()):
        assert "skills" not in schema["properties"]
    assert off.get_graph().to_json() == on.get_graph().to_json()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"skills": "/skills"}, "`skills` must be a list of paths, not '/skills'"),
        (
            {"skills": ["skills"]},
            "A path in `skills` must be text and begin with '/', not 'skills'",
        ),
        ({"skills": [("/skills", "Mine")]}, "must be text and begin with '/'"),
        ({"skills": ["/skills"], "operations": ["ls"]}, "add `read_file` to `operations`"),
    ],
)
def test_wrong_skills_are_refused_when_the_graph_is_built(
    options: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        create_filesystem_agent(ScriptedModel(), **options)
