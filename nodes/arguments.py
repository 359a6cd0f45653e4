"""What the schemas of the operations share."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict

from langgraph_filesystem.state.paths import normalize_path

__all__ = ("Arguments", "VirtualPath")

VirtualPath = Annotated[str, AfterValidator(normalize_path)]
"""A path, made normal or refused when the arguments are checked."""


class Arguments(BaseModel):
    """Arguments of a call. One that is not known is an error: it was meant to do something."""

    model_config = ConfigDict(extra="forbid")
