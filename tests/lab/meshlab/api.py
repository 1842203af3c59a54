# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The few questions the supervisor asks servers, with the standard library alone."""

from __future__ import annotations

import http.client
import json
import ssl
from typing import Any

from meshlab.paths import Paths

TIMEOUT = 5.0
"""Seconds for one question."""


class Api:
    """The API server and its neighbours on 127.0.0.1, seen as a client with all rights."""

    def __init__(self, paths: Paths) -> None:
        self._trusting = ssl.create_default_context(cafile=str(paths.pki / "ca.crt"))
        self._trusting.load_cert_chain(paths.pki / "kubelet-client.crt", paths.pki / "kubelet-client.key")
        # controller-manager and scheduler make their own serving certificates.
        self._blind = ssl.create_default_context()
        self._blind.check_hostname = False
        self._blind.verify_mode = ssl.CERT_NONE

    def get(self, path: str) -> Any:
        """The JSON the API server answers, or None when it answers something else or nothing."""
        status, body = self._ask("127.0.0.1", 6443, path, self._trusting)
        return json.loads(body) if status == 200 else None

    def is_ok(self, port: int, path: str) -> bool:
        """Whether the server on this port says `ok`, or at least 200."""
        status, _ = self._ask("127.0.0.1", port, path, self._trusting if port == 6443 else self._blind)
        return status == 200

    def _ask(self, host: str, port: int, path: str, context: ssl.SSLContext) -> tuple[int, bytes]:
        connection = http.client.HTTPSConnection(host, port, timeout=TIMEOUT, context=context)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            return 0, b""
        finally:
            connection.close()
