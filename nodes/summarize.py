"""The `summarize` node: older turns become a summary before the conversation fills the window.

First the arguments of old `write_file` and `edit_file` calls are cut, which takes no model. If that
is not enough, the model writes a summary that takes the place of the older turns. Texts that are
too large even then are cut. Whatever leaves the conversation is in its history file before.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.runnables import RunnableConfig
from langgraph.constants import TAG_NOSTREAM
from langgraph.runtime import Runtime

from langgraph_filesystem.nodes.answers import valid
from langgraph_filesystem.nodes.calls import open_calls
from langgraph_filesystem.nodes.content import (
    SUMMARY,
    cut_message,
    cut_text,
    media_lines,
    media_type,
    profile_of,
    size_of,
    text_of,
)
from langgraph_filesystem.nodes.evict import ways_to_read
from langgraph_filesystem.nodes.history import History, rendered
from langgraph_filesystem.nodes.model import Request, Requests
from langgraph_filesystem.nodes.node import Node, invoke
from langgraph_filesystem.nodes.once import Once
from langgraph_filesystem.nodes.operation import open_workspace, read_files
from langgraph_filesystem.nodes.settings import CHARACTERS_PER_TOKEN, Settings
from langgraph_filesystem.state.errors import FilesystemError
from langgraph_filesystem.state.io import attempt
from langgraph_filesystem.state.langgraph_internals import read_channels

__all__ = ("Summarize", "Summarizer", "as_summarize", "summarize_node")

_PROMPT = """\
You write the notes of an agent that works with tools. You get the older part of its conversation, \
which it will no longer see. Write down what it needs to go on without that part:

- what the user asked for, with every requirement and preference;
- what was done and what was found out, with paths, names, numbers and commands as they are;
- what was decided and why, and what failed;
- what is left to do, and the next step.

If the part begins with an earlier summary, carry over what still matters. Answer with the notes \
and nothing else."""
_REQUEST = "request"
"""Key of a summary with the last request of the user, word for word."""
_LEAST_ROOM = 500
"""Tokens that a conversation gets, even if the system message takes all of them."""
_MOST_SUMMARY = 8_000
"""Tokens of a summary."""
_LEAST_TEXT = 200
"""Characters that are always kept of a text."""
_LONG_ARGUMENT = 400
_WRITES = frozenset({"write_file", "edit_file"})


@dataclass(frozen=True)
class Summarize:
    """When older turns are replaced by a summary, and how much of the conversation is kept.

    A whole number counts tokens; a number between 0 and 1 is a share of the model's window, which
    its profile must tell.
    """

    over: int | float = 0.8
    """Tokens over which the conversation is summarized, with the system message and the tools."""
    keep: int | float | None = None
    """Tokens of the newest messages that stay as they are; by default a quarter of `over`."""
    prompt: str | None = None
    """Instructions of your own for the model that writes the summary."""

    def __post_init__(self) -> None:
        _check("over", self.over)
        if self.keep is not None:
            _check("keep", self.keep)
            if isinstance(self.keep, int) is isinstance(self.over, int) and self.keep >= self.over:
                raise ValueError(
                    f"`summarize` must keep less than {self.over!r}, not {self.keep!r}."
                )
        if self.prompt is not None and not isinstance(self.prompt, str):
            raise ValueError(f"The prompt of `summarize` must be text, not {self.prompt!r}.")


def as_summarize(given: Summarize | int | float | bool | None) -> Summarize | None:
    """Return what the keyword `summarize` means."""
    if given is None or isinstance(given, Summarize):
        return given
    if isinstance(given, bool):
        return Summarize() if given else None
    return Summarize(over=given)


def _check(name: str, value: object) -> None:
    is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    if not is_count and not (isinstance(value, float) and 0 < value <= 1):
        raise ValueError(
            f"`{name}` of `summarize` must be a number of tokens, or a share of the window "
            f"between 0 and 1, not {value!r}."
        )


class Limits(NamedTuple):
    """How many tokens the messages of a conversation may take."""

    room: int
    """Over so many they are summarized."""
    keep: int
    """So many of the newest stay as they are."""
    window: int | None
    """So many the model can surely take, if it tells."""

    def within(self, room: int) -> "Limits":
        """Return limits that are not larger than this."""
        smaller = max(1, min(self.room, room))
        return Limits(smaller, min(self.keep, smaller // 2), self.window)


def summarize_node(summarizer: "Summarizer", requests: Requests) -> Node:
    """Return the node that makes a conversation shorter when it is too long."""

    async def act(state: Any, config: RunnableConfig, runtime: Runtime[Any]) -> dict[str, Any]:
        request = await requests.get(config, runtime)
        return await summarizer.compact(state["messages"], request, config, runtime)

    return Node("summarize", act)


class Summarizer:
    """Makes conversations shorter, as `Summarize` says."""

    def __init__(
        self,
        chosen: Summarize,
        requests: Requests,
        operations: Collection[str],
        settings: Settings,
    ) -> None:
        self._chosen = chosen
        self._default = requests.default
        self._operations = operations
        # What the agent knows of the history file doesn't matter for adding to it.
        self._settings = replace(settings, read_before_edit=False)
        self._check()

    async def compact(
        self,
        messages: list[AnyMessage],
        request: Request,
        config: RunnableConfig,
        runtime: Runtime[Any],
        *,
        is_refused: bool = False,
    ) -> dict[str, Any]:
        """Return the updates of the state that make a conversation fit; none if it does."""
        limits = self._limits(request)
        sizes = [self._tokens([message]) for message in request.sent(messages)]
        total = sum(sizes)
        if is_refused:
            limits = limits.within(total // 2)
        if total <= limits.room:
            return {}
        cut = _cut_place(messages, sizes, limits.keep)
        old, tail = messages[:cut], messages[cut:]
        history = self._history(messages, config, runtime)
        short = [cut_message(message, _LONG_ARGUMENT, "", _WRITES) for message in old]
        saved = self._tokens(old) - self._tokens(short)
        if not is_refused and total - saved <= (limits.room + limits.keep) // 2:
            return await _cut_in(history, old, _LONG_ARGUMENT, _WRITES)
        most = self._most_characters(tail, request, limits.room * 3 // 4)
        if not old:
            return await _cut_in(history, tail, most)
        left = limits.room - self._tokens(request.sent(_all_cut(tail, most)))
        size = min(left // 2, _MOST_SUMMARY)
        summary = await self._written(short, request, limits.room, size, config)
        if isinstance(summary, FilesystemError):
            if not is_refused and limits.window is not None and total <= limits.window:
                return {}  # the next turn tries again
            summary = f"[There is no summary. {summary}]\n\n{_transcript(short, 10**9)}"
        long = _cuttable(tail, most)
        path = await history.add([m for m in old if SUMMARY not in m.additional_kwargs], long)
        how = ways_to_read(self._operations, runtime)
        message = self._summary(summary, old, tail, [*history.former, path], how, size)
        removed = [RemoveMessage(id=m.id or "") for m in old[:-1]]
        fewer = [cut_message(m, most, _where(path)) for m in long]
        return {"messages": [*removed, message, *fewer], **history.updates()}

    async def _written(
        self,
        old: Sequence[AnyMessage],
        request: Request,
        room: int,
        size: int,
        config: RunnableConfig,
    ) -> str | FilesystemError:
        """Let the model write the summary of messages, in about `size` tokens."""
        prompt = f"{self._chosen.prompt or _PROMPT}\n\nWrite at most {size // 2} words."
        most = room * CHARACTERS_PER_TOKEN
        while True:
            task = HumanMessage(f"{_transcript(old, most)}\n\n[End. Write the notes now.]")
            asked: list[AnyMessage] = [SystemMessage(prompt), task]
            if self._tokens(asked) <= room or most <= _LEAST_TEXT:
                break
            most = most * 3 // 4
        # The summary is not an answer: its tokens are not streamed to the user.
        silent: RunnableConfig = {**config, "tags": [*(config.get("tags") or ()), TAG_NOSTREAM]}
        said = await attempt(_said(request, asked, silent), "Asking the model")
        return said or FilesystemError("The model wrote nothing.")

    def _summary(
        self,
        text: str,
        old: Sequence[AnyMessage],
        tail: Sequence[AnyMessage],
        paths: Sequence[str],
        how: str,
        size: int,
    ) -> HumanMessage:
        """Return the message that takes the place of older turns.

        It has the id of the last of them, so that it stands there, and so that summaries of
        parallel branches, which may stand for different turns, don't replace each other.
        """
        request, media = _last_request(old, tail)
        if self._tokens([HumanMessage(media)]) > size:
            media = []
        places = list(dict.fromkeys(paths))
        head = (
            "[Older turns of this conversation were replaced by this summary. Their full text is "
            f"in {', '.join(places)}{': ' + how if how else ''}.]"
        )
        most = size * CHARACTERS_PER_TOKEN
        while True:
            parts = [head, cut_text(text, most * 2 // 3, "")]
            if request:
                parts += ["[The user's last request:]", cut_text(request, most // 3, "")]
            content = "\n\n".join(parts)
            if self._tokens([HumanMessage(content)]) <= size or most <= _LEAST_TEXT:
                break
            most = most * 3 // 4
        return HumanMessage(
            [{"type": "text", "text": content}, *media] if media else content,
            id=old[-1].id,
            additional_kwargs={SUMMARY: places, _REQUEST: request},
        )

    # Limits

    def _check(self) -> None:
        """Raise if the graph can't work with these limits."""
        shares = [v for v in (self._chosen.over, self._chosen.keep) if isinstance(v, float)]
        if shares and self._window(self._default) is None:
            raise ValueError(
                f"`summarize` has {shares[0]} of the model's window, but the model does not tell "
                "how large that is: its profile has no `max_input_tokens`. Give a number of "
                "tokens, such as `summarize=100_000`."
            )
        over, keep, taken = *self._numbers(self._default), self._taken(self._default)
        if over - taken < _LEAST_ROOM:
            raise ValueError(
                f"`summarize` over {over:,} tokens leaves no room for a conversation: the system "
                f"message and the tools take {taken:,}."
            )
        if keep >= over:
            raise ValueError(f"`summarize` must keep less than {over:,} tokens, not {keep:,}.")

    def _limits(self, request: Request) -> Limits:
        window, taken = self._window(request), self._taken(request)
        over, keep = self._numbers(request)
        # Tokens are estimated.
        limits = Limits(over, keep, None if window is None else window * 9 // 10 - taken)
        return limits.within(max(over - taken, _LEAST_ROOM))

    def _numbers(self, request: Request) -> tuple[int, int]:
        """Return `over` and `keep` in tokens."""
        window = self._window(request)
        over = _tokens_of(self._chosen.over, window)
        keep = over // 4 if self._chosen.keep is None else _tokens_of(self._chosen.keep, window)
        return over if window is None else min(over, window), keep

    def _window(self, request: Request) -> int | None:
        """Return the window of a model; one that doesn't tell has that of the default model."""
        for model in (request.model, self._default.model):
            if window := profile_of(model).get("max_input_tokens"):
                return int(window)
        return None

    def _taken(self, request: Request) -> int:
        """Return how many tokens the system message and the tools take."""
        return self._tokens(request.system) + request.bound.schemas_size // CHARACTERS_PER_TOKEN

    def _tokens(self, messages: Sequence[AnyMessage]) -> int:
        counter = self._settings.token_counter
        if counter is not None:
            return counter(messages)
        return sum(map(size_of, messages)) // CHARACTERS_PER_TOKEN

    def _most_characters(self, tail: list[AnyMessage], request: Request, limit: int) -> int:
        """Return to how many characters the texts of messages must be cut to fit."""
        most = max(map(size_of, tail), default=0)
        while most > _LEAST_TEXT and self._tokens(request.sent(_all_cut(tail, most))) > limit:
            most //= 2
        return most

    def _history(
        self, messages: Sequence[AnyMessage], config: RunnableConfig, runtime: Runtime[Any]
    ) -> History:
        seen = read_channels(config, "seen").get("seen")
        once, files = Once(config), read_files(config, self._settings.mounts)
        workspace = open_workspace(self._settings, runtime, files, seen, once)
        former = [path for m in messages for path in m.additional_kwargs.get(SUMMARY, ())]
        return History(workspace, once, config, former)


async def _said(request: Request, asked: list[AnyMessage], config: RunnableConfig) -> str:
    return valid((await invoke(request.model, asked, config)).text.strip())


def _tokens_of(value: int | float, window: int | None) -> int:
    return value if isinstance(value, int) else int(value * (window or 0))


def _cut_place(messages: Sequence[AnyMessage], sizes: Sequence[int], keep: int) -> int:
    """Return the place before which messages leave the conversation; 0 if none can.

    What is behind it takes at most `keep` tokens, or is as little as possible.
    """
    first = next((n for n, m in enumerate(messages) if SUMMARY not in m.additional_kwargs), 0)
    places = [place for place in _cut_places(messages) if place > first]
    fitting = (place for place in places if sum(sizes[place:]) <= keep)
    return next(fitting, places[-1] if places else 0)


def _cut_places(messages: Sequence[AnyMessage]) -> list[int]:
    """Return the places before which no answer is parted from its call, in their order."""
    places: list[int] = []
    answers: list[ToolMessage] = []
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if isinstance(message, ToolMessage):
            answers.insert(0, message)
            continue
        if isinstance(message, AIMessage):
            if open_calls(message, answers):
                places.clear()  # it stays, with everything behind it
            answers = []
        if not answers:
            places.append(place)
    return places[::-1]


def _last_request(old: Sequence[AnyMessage], tail: Sequence[AnyMessage]) -> tuple[str, list[Any]]:
    """Return the text and the media of the last request, unless it stays in the conversation."""
    last = next((m for m in reversed(old) if isinstance(m, HumanMessage)), None)
    if last is None or any(isinstance(m, HumanMessage) for m in tail):
        return "", []
    blocks = [] if isinstance(last.content, str) else last.content
    request = "\n".join([text_of(last), *media_lines(last)])
    return last.additional_kwargs.get(_REQUEST, request), [
        block for block in blocks if media_type(block)
    ]


def _transcript(messages: Sequence[AnyMessage], most: int) -> str:
    """Return messages as text of about `most` characters, with the longest of them cut."""
    texts = list(map(rendered, messages))
    longest = max(map(len, texts))
    while sum(min(len(text), longest) for text in texts) > most and longest > _LEAST_TEXT:
        longest = longest * 3 // 4
    return cut_text("\n".join(cut_text(text, longest, "") for text in texts), most, "")


async def _cut_in(
    history: History,
    messages: Sequence[AnyMessage],
    most: int,
    operations: Collection[str] | None = None,
) -> dict[str, Any]:
    """Return the updates that cut long texts, or long arguments of these operations only."""
    long = _cuttable(messages, most, operations)
    if not long:
        return {}
    where = _where(await history.add([], long))
    fewer = [cut_message(message, most, where, operations) for message in long]
    return {"messages": fewer, **history.updates()}


def _cuttable(
    messages: Sequence[AnyMessage], most: int, operations: Collection[str] | None = None
) -> list[AnyMessage]:
    return [m for m in messages if cut_message(m, most, "", operations) is not m]


def _all_cut(messages: Sequence[AnyMessage], most: int) -> list[AnyMessage]:
    """Return messages about as large as they will be when they are cut."""
    return [cut_message(message, most, _where("/" * 100)) for message in messages]


def _where(path: str) -> str:
    return f"; all of it is in {path}"
