# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How commands talk to the supervisor: one JSON object per line over a socket in the run directory."""

from __future__ import annotations

import json
import os
import socket
import struct
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from meshlab.errors import LabError


@contextmanager
def _short_name(path: Path) -> Iterator[str]:
    """A name for the socket that fits the kernel's 108 bytes wherever the directory is."""
    directory = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{directory}/{path.name}"
    finally:
        os.close(directory)


def listen(path: Path) -> socket.socket:
    """The supervisor's end."""
    path.unlink(missing_ok=True)
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with _short_name(path) as name:
        server.bind(name)
    server.listen(8)
    return server


def connect(path: Path) -> socket.socket | None:
    """A command's end, or None when nobody listens."""
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with _short_name(path) as name:
            client.connect(name)
    except OSError:
        client.close()
        return None
    return client


def listener(path: Path) -> int:
    """The process id of the supervisor as this process sees it, 0 when there is none.

    The kernel says it, so neither a stale file nor a reused id can lie.
    """
    client = connect(path)
    if client is None:
        return 0
    with closing(client):
        credentials = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    pid, _, _ = struct.unpack("3i", credentials)
    return int(pid)


def ask(path: Path, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Send a request and yield the answers until the supervisor is done. An empty dict means: nothing new for a second.

    Raises LabError with the supervisor's sentence when it refuses or dies.
    """
    client = connect(path)
    if client is None:
        raise LabError("the lab is not up. Start it with: tests/lab/lab up")
    with closing(client):
        client.sendall(json.dumps(request).encode() + b"\n")
        client.settimeout(1)
        buffer = b""
        while True:
            try:
                more = client.recv(65536)
            except TimeoutError:
                yield {}
                continue
            except ConnectionResetError:
                more = b""
            if not more:
                raise LabError("the lab's supervisor ended while it worked on the request; see tests/lab/lab logs supervisor")
            buffer += more
            *lines, buffer = buffer.split(b"\n")
            for line in lines:
                answer = json.loads(line)
                if answer.get("done"):
                    return
                if "error" in answer:
                    raise LabError(answer["error"])
                yield answer
