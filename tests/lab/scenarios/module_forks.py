# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Modules in forks of one process that has read their code: hundreds of runs in the time of tens, and each can be killed.

As a program, the process that forks: a line of JSON in for each run, its process id and what it printed out.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

MODULES = "ansible_collections.meshops.istio.plugins.modules"
HASTE = 10
"""How many times faster the time between repetitions passes."""

ANSWER_SECONDS = 0.5
"""How long a request waits for its answer."""


class ModuleForks:
    """Runs modules, one at a time."""

    def __enter__(self) -> ModuleForks:
        environment = {**os.environ, "PYTHONPATH": os.environ["ANSIBLE_COLLECTIONS_PATH"]}
        self._server = subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve())], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.communicate()

    def run(
        self, name: str, params: Mapping[str, Any], *, patient: bool = True, born: Callable[[int], None] | None = None
    ) -> dict[str, Any]:
        """What a module returned, empty when it was killed.

        Args:
            name: of the module.
            params: its options.
            patient: whether it repeats requests as ever; else none is repeated.
            born: gets the id of its process, which it may kill.
        """
        assert self._server.stdin
        assert self._server.stdout
        self._server.stdin.write(json.dumps({"name": name, "params": params, "patient": patient}) + "\n")
        self._server.stdin.flush()
        pid = json.loads(self._server.stdout.readline())
        if born:
            born(pid)
        printed = json.loads(self._server.stdout.readline())
        return dict(json.loads(printed)) if printed else {}


def main() -> None:
    """Fork for every line."""
    from ansible.module_utils import basic

    client = importlib.import_module("ansible_collections.meshops.istio.plugins.module_utils.cluster.client")
    hasty = {"clock": lambda: time.monotonic() * HASTE, "sleep": lambda seconds: time.sleep(seconds / HASTE)}
    client.Cluster.__init__.__kwdefaults__.update(hasty, timeout=(1.0, ANSWER_SECONDS))
    for line in sys.stdin:
        order = json.loads(line)
        module = importlib.import_module(f"{MODULES}.{order['name']}")
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.dup2(writing, 1)
            basic._ANSIBLE_ARGS = json.dumps({"ANSIBLE_MODULE_ARGS": order["params"]}).encode()
            basic._ANSIBLE_PROFILE = "legacy"
            if not order["patient"]:
                client.Cluster.__init__.__kwdefaults__["retry_seconds"] = 0.0
            module.main()
        print(json.dumps(pid), flush=True)
        os.close(writing)
        with os.fdopen(reading) as output:
            printed = output.read()
        os.waitpid(pid, 0)
        print(json.dumps(printed), flush=True)


if __name__ == "__main__":
    main()
