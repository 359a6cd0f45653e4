"""`execute`: offered where a mount runs commands, and what its answer holds."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from langgraph_filesystem import LocalShellBackend, create_filesystem_agent
from langgraph_filesystem.state.backends.protocol import ExecuteResponse
from tests.nodes.backends import Broken, PlainShell, Shelf, Shell
from tests.scripted import ScriptedModel, answer, answers, arun, call, run, says
from tests.state.backends.execution.running import BACKENDS, alive, marker


def execute(command: str = "make", **args: Any) -> dict[str, Any]:
    return call("execute", command=command, **args)


@pytest.mark.parametrize(
    ("output", "code", "truncated", "text"),
    [
        ("built\n", 0, False, "built\n[exit status 0]"),
        ("no newline", 0, False, "no newline\n[exit status 0]"),
        ("broke\n\n", 2, False, "broke\n\n[exit status 2]"),
        ("", 0, False, "[exit status 0, no output]"),
        ("", None, False, "[no exit status, no output]"),
        ("half", -9, True, "half\n[the output was cut]\n[exit status -9]"),
        ("", 139, False, "[exit status 139 (SIGSEGV), no output]"),
        ("", 255, False, "[exit status 255, no output]"),
    ],
)
@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_output_comes_first_and_the_status_last(
    output: str, code: int | None, truncated: bool, text: str, mode: str
) -> None:
    options: Any = {"mounts": {"/": Shell(output, code, truncated)}}
    state = await arun(execute(), **options) if mode == "async" else None
    reply = answers(state)[0] if state else answer(execute(), **options)
    assert (reply.status, reply.text) == ("success", text)
    assert reply.artifact == artifact(code, truncated=truncated)


def artifact(code: int | None, **other: Any) -> dict[str, Any]:
    return {"exit_code": code, "signal": None, "timed_out": False, "truncated": False, **other}


@pytest.mark.parametrize(
    ("response", "text"),
    [
        (ExecuteResponse("", None, signal="SIGSEGV"), "[killed by SIGSEGV, no output]"),
        (ExecuteResponse("core\n", None, signal="SIGSEGV"), "core\n[killed by SIGSEGV]"),
        (
            ExecuteResponse("half", None, signal="SIGKILL", timed_out=True, timeout=120),
            "half\n[timed out after 120 s]",
        ),
        (ExecuteResponse("", None, timed_out=True), "[timed out, no output]"),
    ],
)
def test_a_signal_and_the_end_of_its_time_are_told_from_a_status(
    response: ExecuteResponse, text: str
) -> None:
    shell = Shell()
    shell.response = response
    reply = answer(execute(), mounts={"/": shell})
    assert reply.text == text
    assert reply.artifact == artifact(None, signal=response.signal, timed_out=response.timed_out)


def test_a_backend_made_by_others_says_what_it_knows() -> None:
    class Response:
        output, exit_code, truncated = "hi", 3, False

    class Other(Shelf):
        def execute(self, command: str) -> Any:
            return Response

    reply = answer(execute(), mounts={"/": Other()})
    assert (reply.text, reply.artifact) == ("hi\n[exit status 3]", artifact(3))


def offered(mounts: Any) -> list[str]:
    model = ScriptedModel()
    agent = create_filesystem_agent(model, mounts=mounts)
    agent.invoke({"messages": [HumanMessage("go")]})
    assert ("execute" in agent.get_graph().nodes) is any(
        tool["function"]["name"] == "execute" for tool in model.bound
    )
    return [tool["function"]["name"] for tool in model.bound]


@pytest.mark.parametrize(
    ("mounts", "is_offered"),
    [
        (None, False),
        ({"/": Shelf()}, False),
        ({"/": Shell()}, True),
        ({"/box": Shell()}, True),
        ({"/": Shelf(), "/box": PlainShell()}, True),
    ],
)
def test_it_is_offered_only_where_a_mount_runs_commands(mounts: Any, is_offered: bool) -> None:
    assert ("execute" in offered(mounts)) is is_offered


def test_a_call_of_it_is_unknown_where_no_mount_runs_commands() -> None:
    reply = answer(execute())
    assert reply.text.startswith("Error: There is no tool 'execute'. There are: ls, read_file,")


def test_a_factory_decides_when_it_runs() -> None:
    assert answer(execute(), mounts={"/": lambda _: Shell("hi")}).text == "hi\n[exit status 0]"
    refused = answer(execute(), mounts={"/": lambda _: Shelf()})
    assert refused.text == "Error: No mount can run commands. Use the file operations."


def test_a_factory_without_commands_does_not_stand_before_a_mount_with_them() -> None:
    mounts = {"/": lambda _: Shelf(), "/box": Shell("hi")}
    assert answer(execute(), mounts=mounts).text == "hi\n[exit status 0]"


@pytest.mark.parametrize(("asked", "passed"), [({}, None), ({"timeout": 7}, 7)])
def test_a_timeout_is_passed_on(asked: dict[str, Any], passed: int | None) -> None:
    shell = Shell()
    answer(execute(**asked), mounts={"/": shell})
    assert shell.asked == [{"command": "make", "timeout": passed}]


def test_a_backend_that_takes_no_timeout_is_given_none() -> None:
    reply = answer(execute("ls", timeout=5), mounts={"/": PlainShell()})
    assert reply.text == "ran ls\n[exit status 0]"


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ({"timeout": 61}, "A timeout of 61 s is too long: use at most 60 s."),
        ({"timeout": 10**40}, "is too long: use at most 60 s."),
        ({"timeout": 0}, "`timeout`: Input should be greater than or equal to 1"),
        ({"command": ""}, "`command`: String should have at least 1 character"),
        ({"command": "a\0b"}, "The command has a NUL character."),
        ({"command": ["ls"]}, "`command`: Input should be a valid string"),
    ],
)
def test_what_can_not_run_says_why(args: dict[str, Any], problem: str) -> None:
    shell = Shell()
    given = {"command": "make", **args}
    reply = answer(call("execute", **given), mounts={"/": shell}, max_execute_timeout=60)
    assert reply.status == "error"
    assert problem in reply.text
    assert shell.asked == []


async def test_output_streams_as_it_comes() -> None:
    expected = [
        {"operation": "execute", "call": "x", "event": "output", "text": text}
        for text in ("one\n", "two\n")
    ]
    script = [says(execute(id="x"))]
    agent = create_filesystem_agent(ScriptedModel(script), mounts={"/": Shell("one\ntwo\n")})
    given: Any = {"messages": [HumanMessage("go")]}
    assert list(agent.stream(given, stream_mode="custom")) == expected
    assert [event async for event in agent.astream(given, stream_mode="custom")] == expected


def test_a_shell_that_raises_is_an_error_reply() -> None:
    reply = answer(execute("rm x"), mounts={"/": Broken(TimeoutError("no answer"))})
    assert (reply.status, reply.text) == (
        "error",
        "Error: /: TimeoutError: no answer",
    )


def test_output_of_megabytes_is_kept_whole_in_a_file() -> None:
    output = "".join(f"line {number}\n" for number in range(100_000))
    state = run(execute(id="big"), mounts={"/box": Shell(output)})
    [reply] = answers(state)
    assert len(reply.text) < 10_000
    kept = state["files"]["/large_tool_results/big"]["content"]
    assert kept == f"{output.rstrip()}\n[exit status 0]"
    assert reply.artifact == artifact(0)


def test_output_stays_within_bounds_where_nothing_is_evicted() -> None:
    reply = answer(execute(), mounts={"/": Shell("é\ud800" * 200_000)}, evict_over=None)
    assert len(reply.text) <= 100_000
    assert reply.text.endswith("\n[exit status 0]")
    reply.text.encode()


async def test_the_async_twin_is_awaited_where_there_is_one() -> None:
    class AsyncShell(PlainShell):
        async def aexecute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
            return ExecuteResponse(f"awaited {command} for {timeout}", 0)

    state = await arun(execute("ls", timeout=3), mounts={"/": AsyncShell()})
    assert answers(state)[0].text == "awaited ls for 3\n[exit status 0]"


async def test_commands_that_wait_do_not_use_up_a_pool_of_threads() -> None:
    runs = 60  # more than asyncio's own pool ever has
    meeting = threading.Barrier(runs, timeout=60)

    class Waiting(Shelf):
        def execute(self, command: str) -> ExecuteResponse:
            meeting.wait()
            return ExecuteResponse("met", 0)

    mounts: Any = {"/": Waiting()}
    states = await asyncio.gather(*(arun(execute(), mounts=mounts) for _ in range(runs)))
    assert all("met" in answers(state)[0].text for state in states)


@pytest.mark.parametrize("kind", BACKENDS)
async def test_a_run_that_is_cancelled_leaves_no_process(kind: Any, tmp_path: Path) -> None:
    mark = marker()
    command = f"setsid sleep {mark} & echo ready; sleep {mark}"
    model = ScriptedModel([says(execute(command))])
    agent = create_filesystem_agent(model, mounts={"/": kind(tmp_path)})
    given: Any = {"messages": [HumanMessage("go")]}
    ready = asyncio.Event()

    async def go() -> None:
        async for event in agent.astream(given, stream_mode="custom"):
            assert event["text"] == "ready\n"
            ready.set()

    running = asyncio.create_task(go())
    await asyncio.wait_for(ready.wait(), 30)
    assert len(alive(mark)) >= 2
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert alive(mark) == []


async def test_runs_that_wait_for_commands_hold_no_thread(tmp_path: Path) -> None:
    runs = 60
    mounts: Any = {"/": LocalShellBackend(tmp_path)}
    # All of them wait until all of them run.
    command = f"touch $$; until [ $(ls | wc -l) -ge {runs} ]; do sleep 0.1; done; echo met"
    agent = create_filesystem_agent(ScriptedModel([says(execute(command))]), mounts=mounts)
    given: Any = {"messages": [HumanMessage("go")]}
    together = asyncio.gather(*(agent.ainvoke(given) for _ in range(runs)))
    most = 0
    while not together.done():
        most = max(most, threading.active_count())
        await asyncio.sleep(0.05)
    assert all(answers(state)[0].text == "met\n[exit status 0]" for state in await together)
    assert most < runs
