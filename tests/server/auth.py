"""Authentication of the tests: whoever says a name is let in, and owns what they make."""

from typing import Any

from langgraph_sdk import Auth

__all__ = ("auth",)

auth = Auth()


@auth.authenticate
async def authenticate(authorization: str | None) -> dict[str, Any]:
    """Take the name behind `Bearer` for the user."""
    scheme, _, name = (authorization or "").partition(" ")
    if scheme.lower() != "bearer" or not name:
        raise Auth.exceptions.HTTPException(status_code=401, detail="Who are you?")
    return {"identity": name, "is_authenticated": True}


@auth.on.threads
async def own_threads(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> dict[str, str]:
    """Mark what is made with its owner, and show only that."""
    value.setdefault("metadata", {})["owner"] = ctx.user.identity
    return {"owner": ctx.user.identity}


@auth.on.store
async def no_store(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> bool:
    """Let nobody past the agent into the store."""
    return False
