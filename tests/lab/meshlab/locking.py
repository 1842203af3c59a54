# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands that change the lab take turns."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from meshlab.progress import Progress


@contextmanager
def locked(lock: Path, progress: Progress) -> Iterator[None]:
    """Wait for the other command, if there is one, and say so. The kernel lets go when a command is killed."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _wait(file.fileno(), progress)
        yield


def _wait(descriptor: int, progress: Progress) -> None:
    progress.start("another lab command", "waiting for")
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.tick()
            time.sleep(0.2)
        else:
            progress.done("ended")
            return
