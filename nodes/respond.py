"""The `respond` node: the last answer in the form of a schema, when one is asked for."""

from typing import Any

from langchain_core.messages import SystemMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from langgraph_filesystem.nodes.content import profile_of, sent
from langgraph_filesystem.nodes.model import Models
from langgraph_filesystem.nodes.node import Node, invoke
from langgraph_filesystem.nodes.settings import chosen

__all__ = ("respond_node", "response_type")


def response_type(response_format: Any) -> Any:
    """Return the type of what `respond` writes: declared, so that a checkpoint may load it."""
    schema = response_format[1] if isinstance(response_format, tuple) else response_format
    return schema if isinstance(schema, type) else dict[str, Any]


def respond_node(models: Models, response_format: Any) -> Node:
    """Return the node that writes `structured_response`.

    `response_format` is a schema (pydantic, TypedDict or JSON schema), or a pair of a prompt and a
    schema.
    """
    paired = isinstance(response_format, tuple)
    prompt, schema = response_format if paired else (None, response_format)
    default = models.default.with_structured_output(schema)

    async def act(state: Any, config: RunnableConfig, runtime: Runtime[Any]) -> dict[str, Any]:
        model = await models.get(chosen(runtime).model)
        structured = default
        if model is not models.default:
            structured = model.with_structured_output(schema)
        system = [SystemMessage(prompt)] if prompt else []
        conversation = sent(state["messages"], profile_of(model))
        answer = await invoke(structured, [*system, *conversation], config)
        return {"structured_response": answer}

    return Node("respond", act)
