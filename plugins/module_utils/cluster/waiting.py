# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Looking again and again, with growing pauses, until something is so or the time is over."""

from __future__ import annotations

import time
from typing import Callable, TypeVar

T = TypeVar("T")


def poll(
    look: Callable[[], T],
    until: Callable[[T], bool],
    *,
    timeout: float,
    pause: float = 0.5,
    longest_pause: float = 5.0,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> T:
    """The first look that satisfies, or the last one when the time is over; looks at least once.

    Args:
        look: reads the present state.
        until: whether a state is the one waited for; the caller asks it again of what is returned.
        timeout: seconds; 0 looks once.
        pause: seconds before the second look; it grows by half each time, to longest_pause.
    """
    deadline = clock() + timeout
    while True:
        seen = look()
        left = deadline - clock()
        if until(seen) or left <= 0:
            return seen
        sleep(min(pause, left))
        pause = min(pause * 1.5, longest_pause)
