# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The requests that a module sent, sent again by the least that can: http.client and json.loads, one connection, everything kept."""

from __future__ import annotations

import http.client
import json
import ssl
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit


def main() -> None:
    """Arguments: the directory with ca, cert and key, the URL of the API server, the file of requests."""
    directory, host, requests = Path(sys.argv[1]), urlsplit(sys.argv[2]), json.loads(Path(sys.argv[3]).read_text())
    context = ssl.create_default_context(cafile=str(directory / "ca"))
    context.load_cert_chain(directory / "cert", directory / "key")
    connection = http.client.HTTPSConnection(host.hostname or "", host.port, context=context)
    kept = []
    for path, query, accept in requests:
        token = ""
        while True:
            answer = _get(connection, path, {**query, **({"continue": token} if token else {})}, accept)
            kept.append(answer)
            token = (answer.get("metadata") or {}).get("continue") or ""
            if not token:
                break
    print(sum(len(answer.get("items") or ()) for answer in kept))


def _get(connection: http.client.HTTPSConnection, path: str, query: dict[str, str], accept: str) -> Any:
    connection.request("GET", f"{path}?{urlencode(query)}", headers={"Accept": accept})
    answer = connection.getresponse()
    body = answer.read()
    if answer.status == 404:  # not every kind is served in every version of its group, and a module asks
        return {}
    if answer.status != 200:
        sys.exit(f"{path}: {answer.status} {answer.reason}")
    return json.loads(body)


if __name__ == "__main__":
    main()
