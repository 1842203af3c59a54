# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiting for the mesh."""

from __future__ import annotations

import time
from collections.abc import Callable


def eventually(holds: Callable[[], bool], *, seconds: float = 60, pause: float = 0.5) -> bool:
    """Whether it holds within the time."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
    return True
