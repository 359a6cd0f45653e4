"""Loopback servers that speak the protocols of model providers, with scripted replies."""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Request = dict[str, Any]


@dataclass
class Reply:
    """What a model says: words, calls of tools, or an error with its status."""

    text: str = ""
    calls: Sequence[tuple[str, str, dict[str, Any]]] = ()
    """Id, name and arguments of each."""
    blocks: Sequence[dict[str, Any]] = ()
    """Content blocks before the text, which only Anthropic has."""
    status: int = 200


@dataclass
class Provider:
    """A running server, and what it was asked."""

    url: str
    requests: list[Request] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    """Paths that were asked for and are not there."""


@contextmanager
def providing(answer: Callable[[Request], Reply] | Sequence[Reply]) -> Iterator[Provider]:
    """Serve replies: what a function of the request says, or one after the other."""
    script = None if callable(answer) else iter(answer)

    def reply(request: Request) -> Reply:
        return answer(request) if callable(answer) else next(script or iter(()))

    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    provider = Provider(f"http://127.0.0.1:{server.server_address[1]}")
    server.provider, server.reply = provider, reply  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length", 0))
        request: Request = json.loads(self.rfile.read(length) or b"{}")
        server: Any = self.server
        speak = _PROTOCOLS.get(self.path.partition("?")[0])
        if speak is None:
            server.provider.unknown.append(self.path)
            self._send(404, {"error": {"message": f"no {self.path}"}})
            return
        server.provider.requests.append(request)
        reply = server.reply(request)
        if reply.status != 200:
            kind = {429: "rate_limit_error", 400: "invalid_request_error"}.get(reply.status)
            error = {"message": reply.text, "type": kind or "api_error", "code": None}
            self._send(reply.status, {"type": "error", "error": error})
            return
        whole, events = speak(reply, request)
        if request.get("stream"):
            self._stream(events)
        else:
            self._send(200, whole)

    def _send(self, status: int, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        # Clients try again after this many seconds.
        self.send_header("retry-after-ms", "1")
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, events: Iterator[str]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for event in events:
            self.wfile.write(event.encode())
            self.wfile.flush()
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def _openai(reply: Reply, request: Request) -> tuple[Any, Iterator[str]]:
    calls = [
        {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
        for id, name, args in reply.calls
    ]
    message = {"role": "assistant", "content": reply.text or None}
    if calls:
        message["tool_calls"] = calls  # type: ignore[assignment]
    end = "tool_calls" if calls else "stop"
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    about = {"id": "chatcmpl-1", "created": 1, "model": request["model"]}
    whole = {
        **about,
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": end}],
        "usage": usage,
    }

    def events() -> Iterator[str]:
        deltas: list[Any] = [{"role": "assistant", "content": ""}]
        deltas += [{"content": word} for word in _pieces(reply.text)]
        for index, call in enumerate(calls):
            function: Any = call["function"]
            named = {**call, "index": index, "function": {**function, "arguments": ""}}
            deltas.append({"tool_calls": [named]})
            for piece in _pieces(function["arguments"]):
                deltas.append({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        chunk = {**about, "object": "chat.completion.chunk"}
        for delta in deltas:
            yield _data({**chunk, "choices": [{"index": 0, "delta": delta}]})
        yield _data({**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": end}]})
        if (request.get("stream_options") or {}).get("include_usage"):
            yield _data({**chunk, "choices": [], "usage": usage})
        yield "data: [DONE]\n\n"

    return whole, events()


def _anthropic(reply: Reply, request: Request) -> tuple[Any, Iterator[str]]:
    blocks: list[Any] = [*reply.blocks]
    blocks += [{"type": "text", "text": reply.text}] if reply.text else []
    blocks += [
        {"type": "tool_use", "id": id, "name": name, "input": args}
        for id, name, args in reply.calls
    ]
    end = "tool_use" if reply.calls else "end_turn"
    usage = {"input_tokens": 10, "output_tokens": 5}
    about = {"id": "msg_1", "type": "message", "role": "assistant", "model": request["model"]}
    whole = {**about, "content": blocks, "stop_reason": end, "stop_sequence": None, "usage": usage}

    def events() -> Iterator[str]:
        empty = {**whole, "content": [], "stop_reason": None}
        yield _named({"type": "message_start", "message": empty})
        for index, block in enumerate(blocks):
            is_text, has_input = block["type"] == "text", "input" in block
            start = {**block, "text": ""} if is_text else block
            start = {**start, "input": {}} if has_input else start
            yield _named({"type": "content_block_start", "index": index, "content_block": start})
            body = block["text"] if is_text else json.dumps(block["input"]) if has_input else ""
            for piece in _pieces(body):
                delta = (
                    {"type": "text_delta", "text": piece}
                    if is_text
                    else {"type": "input_json_delta", "partial_json": piece}
                )
                yield _named({"type": "content_block_delta", "index": index, "delta": delta})
            yield _named({"type": "content_block_stop", "index": index})
        final = {"stop_reason": end, "stop_sequence": None}
        yield _named({"type": "message_delta", "delta": final, "usage": {"output_tokens": 5}})
        yield _named({"type": "message_stop"})

    return whole, events()


_PROTOCOLS: dict[str, Callable[[Reply, Request], tuple[Any, Iterator[str]]]] = {
    "/v1/chat/completions": _openai,
    "/v1/messages": _anthropic,
}


def _pieces(text: str, size: int = 7) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def _data(event: Any) -> str:
    return f"data: {json.dumps(event)}\n\n"


def _named(event: Any) -> str:
    return f"event: {event['type']}\n{_data(event)}"
