"""Many runs at once on one server."""

import asyncio
from typing import Any

from langgraph_sdk.client import LangGraphClient

from tests.server.driving import new_thread, typed
from tests.server.serving import Server

THREADS, RUNS = 20, 5
LINES = 200


async def test_a_hundred_runs_at_once_all_finish_and_every_file_is_right(
    client: LangGraphClient, server: Server
) -> None:
    async def one(thread: str, number: int, run: int) -> dict[str, Any]:
        words = (
            f"read_file /log.txt limit=1000\nread_file /own{run}.txt limit=1000\n\n"
            f'edit_file /log.txt "end\\n" "run {run} of {number}\\nend\\n"\n'
            f'edit_file /own{run}.txt "line 7 " "LINE 7 of {number} "\n'
            f'write_file /new{run}.txt "made in {number}"\n'
            f"write_file /memories/{number}-{run}.txt {run}\n\n"
            f"grep LINE\nls /"
        )
        state: Any = await client.runs.wait(
            thread, "agent", input=typed(words), multitask_strategy="enqueue"
        )
        return dict(state)

    async def thread_of(number: int) -> None:
        thread = await new_thread(client)
        own = "".join(f"line {n} of the file\n" for n in range(LINES))
        files = {f"/own{run}.txt": own for run in range(RUNS)}
        await client.runs.wait(
            thread, "agent", input={**typed("ls /"), "files": {**files, "/log.txt": "end\n"}}
        )
        await asyncio.gather(*(one(thread, number, run) for run in range(RUNS)))
        values: Any = (await client.threads.get_state(thread))["values"]
        contents = {path: file["content"] for path, file in values["files"].items()}
        changed = own.replace("line 7 ", f"LINE 7 of {number} ")
        log = contents.pop("/log.txt")
        assert sorted(log.splitlines()) == sorted(
            ["end", *(f"run {run} of {number}" for run in range(RUNS))]
        )
        assert contents == {
            **{f"/own{run}.txt": changed for run in range(RUNS)},
            **{f"/new{run}.txt": f"made in {number}" for run in range(RUNS)},
        }
        runs = await client.runs.list(thread, limit=100)
        assert [run["status"] for run in runs] == ["success"] * (RUNS + 1)
        assert not [m for m in values["messages"] if m.get("status") == "error"]

    await asyncio.gather(*map(thread_of, range(THREADS)))
    assert "synchronous blocking call" not in server.log()


async def test_runs_without_a_thread_all_finish_and_leave_other_threads_alone(
    client: LangGraphClient,
) -> None:
    thread = await new_thread(client)
    await client.runs.wait(thread, "agent", input=typed("write_file /a.txt kept"))
    answers: list[Any] = await asyncio.gather(
        *(
            client.runs.wait(None, "agent", input=typed(f"write_file /{number}.txt {number}"))
            for number in range(60)
        )
    )
    for number, state in enumerate(answers):
        assert [*state["files"]] == [f"/{number}.txt"]
    values: Any = (await client.threads.get_state(thread))["values"]
    assert values["files"]["/a.txt"]["content"] == "kept"
