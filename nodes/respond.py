"""The `respond` node: the last answer in the form of a schema, when one is asked for."""

from dataclasses import dataclass, field, is_dataclass
from typing import Any

from langchain_core.exceptions import OutputParserException
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.runtime import Runtime
from pydantic import BaseModel, TypeAdapter, ValidationError
from typing_extensions import is_typeddict

from langgraph_filesystem.nodes.answers import bounded
from langgraph_filesystem.nodes.content import profile_of, sent
from langgraph_filesystem.nodes.model import Models
from langgraph_filesystem.nodes.node import Node, invoke
from langgraph_filesystem.nodes.settings import chosen

__all__ = ("respond_node", "response_type")

_STRATEGIES: dict[str, dict[str, Any]] = {
    "AutoStrategy": {},
    "ToolStrategy": {"method": "function_calling"},
    "ProviderStrategy": {"method": "json_schema"},
}
"""Classes of `langchain.agents.structured_output`, and what they mean for a chat model."""
_TRIES = 3
_REQUEST = "Give the result of this conversation in the form that is asked for."
"""Providers reject a conversation that ends with what the model itself said."""


@dataclass(frozen=True)
class _Format:
    """What `response_format` asks for."""

    schema: Any
    prompt: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    """For `with_structured_output`."""
    tries: int = _TRIES

    def ask(self, model: BaseChatModel) -> Runnable[Any, Any]:
        """Return the model, made to answer in this form."""
        schema = self.schema
        if self._is_dataclass:
            schema = TypeAdapter(schema).json_schema()
        if isinstance(schema, dict):
            schema = {"title": "response", "description": _REQUEST, **schema}
        return model.with_structured_output(schema, **self.options)

    def read(self, answer: Any) -> Any:
        """Return the answer as the type that was asked for."""
        if answer is None:
            raise OutputParserException("The model gave no result in the form that was asked for.")
        return TypeAdapter(self.schema).validate_python(answer) if self._is_dataclass else answer

    @property
    def _is_dataclass(self) -> bool:
        return is_dataclass(self.schema)


def response_type(response_format: Any) -> Any:
    """Return the type of what `respond` writes: declared, so that a checkpoint may load it."""
    schema = _format_of(response_format).schema
    return schema if isinstance(schema, type) else dict[str, Any]


def respond_node(models: Models, response_format: Any) -> Node:
    """Return the node that writes `structured_response`.

    `response_format` is a schema (a pydantic model, a dataclass, a TypedDict or a JSON schema), a
    strategy of `langchain` with one, or a pair of a prompt and one of these.
    """
    form = _format_of(response_format)
    default = form.ask(models.default)

    async def act(state: Any, config: RunnableConfig, runtime: Runtime[Any]) -> dict[str, Any]:
        model = await models.get(chosen(runtime).model)
        structured = default if model is models.default else form.ask(model)
        conversation = sent(state["messages"], profile_of(model))
        system = [SystemMessage(form.prompt)] if form.prompt else []
        request = _REQUEST
        for left in reversed(range(form.tries)):
            messages = [*system, *conversation, HumanMessage(request)]
            try:
                answer = form.read(await invoke(structured, messages, config))
            except (OutputParserException, ValidationError) as error:
                if not left:
                    raise
                request = f"{_REQUEST} The last try was wrong: {bounded(str(error), 2_000)}"
            else:
                break
        return {"structured_response": answer}

    return Node("respond", act)


def _format_of(given: Any) -> _Format:
    if isinstance(given, tuple):
        prompt, given = given
        inner = _format_of(given)
        return _Format(inner.schema, prompt, inner.options, inner.tries)
    options = _STRATEGIES.get(type(given).__name__)
    if options is None:
        _check(given)
        return _Format(given)
    _check(given.schema)
    if getattr(getattr(given, "schema_spec", None), "strict", None):
        options = {**options, "strict": True}
    is_final = getattr(given, "handle_errors", True) is False
    return _Format(given.schema, options=options, tries=1 if is_final else _TRIES)


def _check(schema: Any) -> None:
    is_model = isinstance(schema, type) and issubclass(schema, BaseModel)
    if is_model or is_typeddict(schema) or (isinstance(schema, type) and is_dataclass(schema)):
        return
    if not isinstance(schema, dict) or "oneOf" in schema:
        raise ValueError(
            "`response_format` must be one schema: a pydantic model, a dataclass, a TypedDict or a "
            f"JSON schema, not {schema!r}. For one of several forms, use a model with a field that "
            "is a union of them."
        )
