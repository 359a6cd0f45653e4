"""What a model is sent of media: recent ones, of the kinds that it takes."""

import base64
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.tools import tool
from pydantic import BaseModel, Field

from langgraph_filesystem import create_filesystem_agent
from tests.scripted import ScriptedModel, answers, call, says

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n\xff").decode()
PDF = base64.b64encode(b"%PDF-1.7\n\xff").decode()
FILES = {
    "/a.png": {"content": PNG, "encoding": "base64"},
    "/a.pdf": {"content": PDF, "encoding": "base64"},
}
IMAGE = {"type": "image", "base64": PNG, "mime_type": "image/png"}
NO_IMAGE = "[image/png: this model takes no such content. It is in /a.png.]"
NO_PDF = "[application/pdf: this model takes no such content. It is in /a.pdf.]"
OLD = "[image/png from /a.png, no longer shown: read the file again to see it.]"


def read(path: str) -> dict[str, Any]:
    return call("read_file", file_path=path)


def shown(messages: list[Any]) -> list[Any]:
    """Return the answers as a model was sent them: the text, or the type of the only block."""
    found: list[Any] = [m.content for m in messages if isinstance(m, ToolMessage)]
    return [c if isinstance(c, str) else c[0].get("text", c[0]["type"]) for c in found]


def asked(script: list[Any], *, profile: Any = None, **given: Any) -> tuple[ScriptedModel, Any]:
    model = ScriptedModel(script, profile=profile)
    given = {"messages": [HumanMessage("go")], "files": FILES, **given}
    return model, create_filesystem_agent(model).invoke(given)


@pytest.mark.parametrize(
    ("profile", "told"),
    [
        (None, ["image", "file"]),
        ({}, ["image", "file"]),
        ({"image_inputs": True, "pdf_inputs": True}, ["image", "file"]),
        ({"image_inputs": False, "pdf_inputs": True}, [NO_IMAGE, "file"]),
        ({"image_inputs": True, "pdf_inputs": False}, ["image", NO_PDF]),
        ({"image_inputs": True, "image_tool_message": False}, [NO_IMAGE, "file"]),
        ({"image_inputs": True, "pdf_tool_message": False}, ["image", NO_PDF]),
    ],
)
def test_a_model_gets_a_sentence_for_media_that_it_does_not_take(profile: Any, told: Any) -> None:
    model, state = asked([says(read("/a.png"), read("/a.pdf"))], profile=profile)
    assert shown(model.asked[-1]) == told
    assert shown(answers(state)) == ["image", "file"], "the state keeps them"


def test_an_upload_that_a_model_does_not_take_becomes_a_sentence() -> None:
    blocks: Any = ["what is this?", IMAGE, {"type": "input_audio", "input_audio": {"data": "x"}}]
    model, _ = asked(
        [], profile={"image_inputs": False, "audio_inputs": False}, messages=[HumanMessage(blocks)]
    )
    assert model.asked[-1][-1].content == [
        "what is this?",
        {"type": "text", "text": "[image/png: this model takes no such content.]"},
        {"type": "text", "text": "[audio: this model takes no such content.]"},
    ]


def test_media_are_sent_for_five_turns_and_then_named() -> None:
    looks = [says(call("ls", path="/")) for _ in range(6)]
    model, state = asked([says(read("/a.png")), *looks])
    assert [shown(messages)[:1] for messages in model.asked] == [
        [],
        *[["image"]] * 5,
        *[[OLD]] * 2,
    ]
    assert shown(answers(state))[0] == "image", "the state keeps it"


def test_media_that_can_not_be_read_again_are_sent_as_long_as_they_are_there() -> None:
    @tool
    def draw() -> list[dict[str, Any]]:
        """Draw."""
        return [IMAGE]

    model = ScriptedModel([says(call("draw")), *[says(call("ls", path="/"))] * 9])
    upload = HumanMessage([{"type": "text", "text": "go"}, IMAGE])
    create_filesystem_agent(model, [draw]).invoke({"messages": [upload]})
    assert shown(model.asked[-1])[0] == "image"
    assert IMAGE in next(m for m in model.asked[-1] if isinstance(m, HumanMessage)).content


class Verdict(BaseModel):
    """The last word."""

    good: bool


class Listening(ScriptedModel):
    """Remembers the conversation for which it was asked for a schema."""

    heard: list[Any] = Field(default_factory=list)

    def __init__(self, script: Sequence[AIMessage] = (), **fields: Any) -> None:
        super().__init__(script, **fields)

    def with_structured_output(self, schema: Any, **kwargs: Any) -> Runnable[Any, Any]:
        def respond(messages: Any) -> Any:
            self.heard.extend(messages)
            return schema(good=True)

        return RunnableLambda(respond)


def test_the_structured_response_is_asked_for_with_the_same_conversation() -> None:
    model = Listening([says(read("/a.png"))], profile={"image_inputs": False})
    given: Any = {"messages": [HumanMessage("go")], "files": FILES}
    create_filesystem_agent(model, response_format=Verdict).invoke(given)
    assert shown(model.heard) == [NO_IMAGE]
