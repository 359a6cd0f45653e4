"""The law of order: one message with many calls does what many messages with one call each do."""

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.scripted import answers, call, run

PATHS = st.sampled_from(["/a", "/b", "/d", "/d/x", "/d/y", "/d/e/z", "/", "/m/k", "/m", "/..", "d"])
TEXTS = st.sampled_from(["", "one", "two", "one two\n", "two\r\n", "one one"])

CALLS = st.one_of(
    st.builds(lambda p: call("ls", path=p), PATHS),
    st.builds(lambda p: call("read_file", file_path=p), PATHS),
    st.builds(
        lambda p, t, o: call("write_file", file_path=p, content=t, overwrite=o),
        PATHS,
        TEXTS,
        st.booleans(),
    ),
    st.builds(
        lambda p, o, n, r: call(
            "edit_file", file_path=p, old_string=o, new_string=n, replace_all=r
        ),
        PATHS,
        TEXTS,
        TEXTS,
        st.booleans(),
    ),
    st.builds(lambda p: call("delete", file_path=p), PATHS),
    st.builds(lambda p, q: call("move", source=p, destination=q), PATHS, PATHS),
    st.builds(lambda p: call("glob", pattern="**", path=p), PATHS),
    st.builds(lambda p: call("grep", pattern="o", path=p, output_mode="content"), PATHS),
    st.builds(lambda: call("unheard_of", x=1)),
)
FILES = {"/a": "one two\n", "/d/x": "two\n", "/d/e/z": "one", "/m/k": "one\ntwo"}


def outcome(state: dict[str, Any]) -> Any:
    contents = {path: file["content"] for path, file in state["files"].items()}
    told = {m.tool_call_id: (m.status, m.text) for m in answers(state)}
    assert len(told) == len(answers(state))
    return contents, told


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(calls=st.lists(CALLS, min_size=2, max_size=7), strict=st.booleans())
def test_calls_in_one_message_do_what_they_do_in_messages_of_their_own(
    calls: list[dict[str, Any]], strict: bool
) -> None:
    options: dict[str, Any] = {"files": FILES, "read_before_edit": strict}
    together = outcome(run(calls, **options))
    assert together == outcome(run(*calls, **options))
    assert set(together[1]) == {made["id"] for made in calls}
