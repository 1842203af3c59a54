# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a first process owes its namespace: knowing who runs, collecting who ended, ending who must."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Iterator
from pathlib import Path

PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Have the kernel kill this process when the one that made the sandbox dies."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def ended() -> Iterator[tuple[int, str]]:
    """Every process that ended since the last call: id, and how, as a phrase."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        yield pid, _how(status)


def _how(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return f"exited with {code}"
    return f"killed by {signal.Signals(-code).name}"


def own() -> set[int]:
    """Everything that descends from this first process; not what users run in the sandbox through `lab exec`."""
    parents = dict(_parents())
    me = os.getpid()

    def is_own(pid: int) -> bool:
        while pid not in (0, me):
            pid = parents.get(pid, 0)
        return pid == me

    return {pid for pid in parents if pid != me and is_own(pid)}


def _parents() -> Iterator[tuple[int, int]]:
    """(process, its parent); a parent outside the namespace is 0."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            status = (entry / "stat").read_text()
        except OSError:
            continue  # it ended while we looked
        # The name in parentheses may itself hold spaces and parentheses.
        yield int(entry.name), int(status.rpartition(")")[2].split()[1])
