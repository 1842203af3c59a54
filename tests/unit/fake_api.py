# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""A server that answers as it is told, for everything the edge must get right without a cluster."""

from __future__ import annotations

import base64
import hashlib
import json
import struct
from collections import defaultdict
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any, Callable
from urllib.parse import parse_qs, urlsplit

TOKEN = "sesame-open-up"


@dataclass(frozen=True)
class Request:
    """What a client asked."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


@dataclass
class FakeApi:
    """Answers by method and path, in the order they were given; the last one stays. A callable gets the handler and does it itself."""

    url: str = ""
    requests: list[Request] = field(default_factory=list)
    answers: dict[tuple[str, str], list[Any]] = field(default_factory=lambda: defaultdict(list))

    def on(self, method: str, path: str, status: int = 200, body: Any = None, **headers: str) -> FakeApi:
        self.answers[method, path].append((status, body if body is not None else {}, headers))
        return self

    def refuse(self, method: str, path: str, status: int, reason: str, message: str, **headers: str) -> FakeApi:
        return self.on(method, path, status, {"kind": "Status", "status": "Failure", "reason": reason, "message": message}, **headers)

    def do(self, method: str, path: str, action: Callable[[Any], None]) -> FakeApi:
        self.answers[method, path].append(action)
        return self

    def queries(self, name: str) -> list[str | None]:
        return [request.query.get(name) for request in self.requests]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: Any

    def log_message(self, *_args: Any) -> None:
        """Say nothing."""

    def _serve(self) -> None:
        api: FakeApi = self.server.api
        url = urlsplit(self.path)
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        api.requests.append(Request(self.command, url.path, query, dict(self.headers), json.loads(content or "null")))
        told = api.answers[self.command, url.path]
        answer = told.pop(0) if len(told) > 1 else told[0] if told else (404, {"kind": "Status", "reason": "NotFound"}, {})
        if callable(answer):
            answer(self)
            return
        self.answer(*answer)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve  # noqa: N815

    def answer(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        for name, value in (headers or {}).items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)


def hang_up(handler: Any) -> None:
    """Close the connection instead of an answer."""
    handler.close_connection = True


def port_forward(respond: Callable[[bytes], bytes], *, close: bool = False, error: str = "") -> Callable[[Any], None]:
    """A kubelet at the other end of a websocket port-forward that gives respond what the client sends.

    Args:
        close: whether the peer closes after the answer; many do not.
        error: text for the error channel instead of an answer.
    """

    def serve(handler: Any) -> None:
        accept = base64.b64encode(
            hashlib.sha1((handler.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
        )
        handler.send_response(101)
        handler.send_header("Upgrade", "websocket")
        handler.send_header("Connection", "Upgrade")
        handler.send_header("Sec-WebSocket-Accept", accept.decode())
        handler.send_header("Sec-WebSocket-Protocol", "v4.channel.k8s.io")
        handler.end_headers()
        port = struct.pack("<H", int(parse_qs(urlsplit(handler.path).query)["ports"][0]))
        handler.wfile.write(_frame(b"\x00" + port) + _frame(b"\x01" + port))
        handler.wfile.flush()
        handler.close_connection = True
        if error:
            handler.wfile.write(_frame(b"\x01" + error.encode()))
            handler.wfile.flush()
        while (received := _read_frame(handler.rfile)) is not None:
            answer = respond(received[1:])
            for start in range(0, len(answer), 30000):
                handler.wfile.write(_frame(b"\x00" + answer[start : start + 30000]))
            handler.wfile.flush()
            if close:
                return

    return serve


def _frame(payload: bytes) -> bytes:
    size = bytes([len(payload)]) if len(payload) < 126 else b"\x7e" + struct.pack(">H", len(payload))
    return b"\x82" + size + payload


def _read_frame(stream: Any) -> bytes | None:
    """The payload of the next binary frame of a client, None at the end."""
    head = stream.read(2)
    if len(head) < 2 or head[0] & 0x0F == 0x08:
        return None
    length = head[1] & 0x7F
    if length == 126:
        (length,) = struct.unpack(">H", stream.read(2))
    mask = stream.read(4)
    return bytes(byte ^ mask[index % 4] for index, byte in enumerate(stream.read(length)))


class Clock:
    """Time that passes only by sleeping."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
