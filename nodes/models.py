"""Chat models by name: the default of a graph, and the models that its runs choose."""

from langchain_core.language_models import BaseChatModel

from langgraph_filesystem.state.errors import FilesystemError
from langgraph_filesystem.state.io import attempt, in_thread

__all__ = ("Models", "load_model")

_KEPT = 32
"""How many named models stay loaded. A client and its connections are worth keeping; a deployment
whose users may name any model must not fill its memory with them."""


def load_model(model: str | BaseChatModel) -> BaseChatModel:
    """Return the model, made by `init_chat_model` from a name such as `openai:gpt-5`."""
    if isinstance(model, type):
        raise ValueError(
            f"`model` is the class {model.__name__}: pass an instance of it, such as "
            f"`{model.__name__}(...)`."
        )
    if isinstance(model, BaseChatModel):
        return model
    if not isinstance(model, str):
        if hasattr(model, "bind_tools"):
            return model
        raise ValueError(f"`model` must be a chat model or its name, not {type(model).__name__}.")
    try:
        from langchain.chat_models import init_chat_model
    except ImportError:
        raise ImportError(
            f"To make the model {model!r} from its name, install the extra `models`: "
            "pip install 'langgraph-filesystem[models]'. Or pass a chat model."
        ) from None
    loaded: BaseChatModel = init_chat_model(model)
    return loaded


class Models:
    """The default model of a graph, and the models that its runs name, each made once."""

    def __init__(self, default: BaseChatModel) -> None:
        self.default = default
        self._named: dict[str, BaseChatModel] = {}

    async def get(self, name: str) -> BaseChatModel:
        """Return the model with a name, or the default; raise if it can't be made."""
        if not name:
            return self.default
        model = self._named.get(name)
        if model is None:
            # Making one imports its package and reads certificates: not in an event loop.
            made = await attempt(in_thread(load_model, name), "Loading it")
            if isinstance(made, FilesystemError):
                raise ValueError(f"The model {name!r} can't be used: {made}")
            model = made
            self._keep(name, model)
        return model

    def _keep(self, name: str, model: BaseChatModel) -> None:
        self._named[name] = model
        for oldest in list(self._named)[:-_KEPT]:
            self._named.pop(oldest, None)
