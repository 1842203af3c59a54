# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab as its tests see it: called as a user calls it, and looked at from outside."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from meshlab.paths import LAB, Paths


class Lab:
    """The tool as a user calls it, on a state directory of its own."""

    def __init__(self, home: Path) -> None:
        self.paths = Paths(home)
        self.environment = {**os.environ, "MESHLAB_HOME": str(home), "PYTHON": sys.executable}

    def __call__(self, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*words), env={**self.environment, **options.pop("env", {})}, capture_output=True, text=True, check=False, **options
        )

    def command(self, *words: str) -> list[str]:
        return [str(LAB / "lab"), *words]

    def must(self, *words: str) -> str:
        done = self(*words)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def inside(self, *words: str) -> str:
        return self.must("exec", "--", *words)

    def state(self) -> Any:
        return json.loads(self.must("status", "--json"))


class World:
    """What a lab may not leave behind: processes in its network, mounts, network interfaces."""

    def __init__(self, first: int) -> None:
        self._network = os.readlink(f"/proc/{first}/ns/net")

    def processes(self) -> list[str]:
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    if os.readlink(entry / "ns" / "net") == self._network:
                        found.append((entry / "cmdline").read_text().replace("\0", " "))
                except OSError:
                    continue
        return found

    def becomes_empty(self, seconds: float = 10) -> bool:
        return eventually(lambda: not self.processes(), seconds)


def eventually(holds: Callable[[], bool], seconds: float = 10) -> bool:
    """Whether it holds within the time."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def interfaces() -> Sequence[str]:
    return sorted(entry.name for entry in Path("/sys/class/net").iterdir())
