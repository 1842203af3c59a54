# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a module and note its reads: path, query and accepted type of each list once, without its pages.

Arguments: run_module.py of the scenarios, the file to write, the module; the module's arguments on stdin.
"""

from __future__ import annotations

import json
import runpy
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from kubernetes.dynamic import DynamicClient

runner, file = sys.argv[1:3]
sys.argv = [runner, sys.argv[3]]
requests: list[Any] = []
send = DynamicClient.request


def request(self: Any, method: str, path: str, body: Any = None, **params: Any) -> Any:
    query = {name: str(value) for name, value in params["query_params"]}
    if "continue" not in query:
        requests.append([path, query, params["header_params"]["Accept"]])
    return send(self, method, path, body=body, **params)


DynamicClient.request = request
with suppress(SystemExit):
    runpy.run_path(runner, run_name="__main__")
Path(file).write_text(json.dumps(requests))
