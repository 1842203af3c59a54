# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Several requests at the same time."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Callable, TypeVar

AT_ONCE = 8
"""Requests under way at the same time."""

Thing = TypeVar("Thing")
Result = TypeVar("Result")


def in_parallel(ask: Callable[[Thing], Result], things: Iterable[Thing]) -> list[Result]:
    """What a function returns for each of some things, in their order; the first error that it raises ends it."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(ask, things))
