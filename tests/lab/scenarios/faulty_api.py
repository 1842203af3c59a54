# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A proxy on loopback before the real API server, which counts requests and lets one of them go wrong, or all from one on."""

from __future__ import annotations

import base64
import http.client
import json
import socket
import ssl
import struct
import tempfile
import threading
import time
from collections.abc import Callable
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from kubectl import kubectl

PATIENCE = 30.0
"""Seconds for the real API server to answer."""

HOP = {"connection", "keep-alive", "transfer-encoding", "host", "content-length", "accept-encoding"}
"""Headers of one connection only."""


class Fault(Enum):
    """How a request goes wrong: what its sender sees, and whether the API server has seen it."""

    CONFLICT = "409, not carried out"
    OVERLOADED = "429, not carried out"
    SERVER_ERROR = "500, not carried out"
    RESET = "connection reset, not carried out"
    LOST_ANSWER = "connection closed without an answer, carried out"
    LATE_ANSWER = "an answer after the sender has given up, carried out"

    @property
    def is_carried_out(self) -> bool:
        return self in (Fault.LOST_ANSWER, Fault.LATE_ANSWER)


REFUSALS = {
    Fault.CONFLICT: (409, "Conflict", "the object has been modified; please apply your changes to the latest version and try again"),
    Fault.OVERLOADED: (429, "TooManyRequests", "too many requests, please try again later"),
    Fault.SERVER_ERROR: (500, "InternalError", "etcdserver: request timed out"),
}


class FaultyApi:
    """The proxy. It answers requests with the rights of the kubeconfig it was given, so its own address is all that is needed to use it.

    Attributes:
        requests: "METHOD path" of every request since the last ``tell``.
        late: seconds that a late answer takes.
    """

    def __init__(self, late: float = 1.5) -> None:
        self.requests: list[str] = []
        self.late = late
        self._server, self._tls = _upstream()
        self._lock = threading.Lock()
        self._per_client = threading.local()
        self.tell(None)
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._http.daemon_threads = True
        self._http.faulty_api = self  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def __enter__(self) -> FaultyApi:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._http.shutdown()
        self._http.server_close()

    @property
    def url(self) -> str:
        """What to give as the host of a cluster."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def tell(self, fault: Fault | None, number: int = 0, *, lasting: bool = False, then: Callable[[], None] | None = None) -> None:
        """Count from anew, and let the request of this number (from 1) go wrong.

        Args:
            fault: how; None lets everything pass.
            number: which request.
            lasting: whether all requests after it go wrong too, as when the API server is gone.
            then: called when the fault has happened, before its sender sees anything of it: to kill the sender, for example.
        """
        with self._lock:
            self.requests = []
            self._fault, self._number, self._lasting, self._then = fault, number, lasting, then

    def arrives(self, request: str) -> tuple[Fault | None, Callable[[], None] | None]:
        """What shall go wrong with a request that has just come."""
        with self._lock:
            self.requests.append(request)
            now = len(self.requests)
            hit = now == self._number or (self._lasting and now > self._number)
            return (self._fault, self._then) if self._fault and hit else (None, None)

    def forward(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        """The real API server's answer, over one connection for all that a client sends over one of its own."""
        if not hasattr(self._per_client, "connection"):
            server = self._server
            self._per_client.connection = http.client.HTTPSConnection(server.hostname, server.port, timeout=PATIENCE, context=self._tls)
        connection = self._per_client.connection
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer.status, {name: value for name, value in answer.getheaders() if name.lower() not in HOP}, answer.read()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: Any

    def log_message(self, *_args: Any) -> None:
        """Say nothing."""

    def _serve(self) -> None:
        api: FaultyApi = self.server.faulty_api
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault, then = api.arrives(f"{self.command} {urlsplit(self.path).path}")
        headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP}
        answer = None
        if fault is None or fault.is_carried_out:
            answer = api.forward(self.command, self.path, headers, body)
        if then:
            then()
        if fault is Fault.RESET:
            self._reset()
        elif fault is Fault.LOST_ANSWER:
            self.close_connection = True
        elif fault in REFUSALS:
            self._refuse(*REFUSALS[fault])
        elif answer:
            time.sleep(api.late if fault is Fault.LATE_ANSWER else 0)
            self._answer(*answer)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve  # noqa: N815

    def _refuse(self, code: int, reason: str, message: str) -> None:
        status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message, "code": code}
        headers = {"Content-Type": "application/json", **({"Retry-After": "1"} if code == 429 else {})}
        self._answer(code, headers, json.dumps(status).encode())

    def _answer(self, code: int, headers: dict[str, str], content: bytes) -> None:
        try:
            self.send_response(code)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
            self.wfile.flush()
        except OSError:
            self.close_connection = True  # the sender has given up, or is dead

    def _reset(self) -> None:
        """Close so that the other side gets a reset, not an end."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()


def _upstream() -> tuple[Any, ssl.SSLContext]:
    """Where the API server is, and how it knows us: from the lab's kubeconfig."""
    config = json.loads(kubectl("config", "view", "--raw", "--flatten", "--minify", "--output=json"))
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    context = ssl.create_default_context(cadata=_decoded(cluster["certificate-authority-data"]))
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as pair:
        pair.write(_decoded(user["client-certificate-data"]) + _decoded(user["client-key-data"]))
        pair.flush()
        context.load_cert_chain(pair.name)
    return urlsplit(cluster["server"]), context


def _decoded(data: str) -> str:
    return base64.b64decode(data).decode()
