# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines that say what the lab is doing and for how long: live on a terminal, sparse in a log."""

from __future__ import annotations

import sys
import time
from typing import TextIO

WIDTH = 38
LOG_FIRST = 5.0
LOG_EVERY = 60.0
"""Seconds until the first line, and between two lines, about an unfinished step where output is no terminal."""


def duration(seconds: float) -> str:
    """As people write it: 4.2 s, or 3 min 20 s."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


class Progress:
    """One step after the other; `tick` as often as you like."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._live = self._stream.isatty()
        self._name = ""
        self._started = 0.0
        self._doing = ""
        self._speak_at = 0.0

    def start(self, name: str, doing: str) -> None:
        """Begin a step: `name` is the component, `doing` the verb, as in "building"."""
        self._name, self._doing = name, doing
        self._started = time.monotonic()
        self._speak_at = self._started + (0 if self._live else LOG_FIRST)
        self.tick()

    def tick(self) -> None:
        """Say how long the step takes already."""
        now = time.monotonic()
        if now >= self._speak_at:
            self._speak_at = now + (0 if self._live else LOG_EVERY)
            self._show(f"{self._doing} ... {duration(now - self._started)}")

    def done(self, result: str) -> None:
        """End the step, with its time."""
        self.line(self._name, f"{result} in {duration(time.monotonic() - self._started)}")

    def line(self, name: str, text: str) -> None:
        """A finished line of its own."""
        self._write(f"{name:<{WIDTH}}{text}", end="\n")

    def say(self, text: str) -> None:
        """A sentence across the columns."""
        self._write(text, end="\n")

    def _show(self, text: str) -> None:
        self._write(f"{self._name:<{WIDTH}}{text}", end="" if self._live else "\n")

    def _write(self, text: str, end: str) -> None:
        before = "\r\x1b[K" if self._live else ""
        print(f"{before}{text}", end=end, file=self._stream, flush=True)
