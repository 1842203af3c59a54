# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Words for sentences."""

from __future__ import annotations

from collections.abc import Sequence

SHOWN = 3
"""Names in a sentence: enough to know what is meant, few enough to read."""


def some(names: Sequence[str], size: int = SHOWN) -> str:
    """The first names and how many more there are: "a, b, c and 9 more"."""
    more = f" and {len(names) - size} more" if len(names) > size else ""
    return ", ".join(names[:size]) + more


def counted(number: int, what: str) -> str:
    """A number and its noun, in the plural when it needs one: "1 pod", "3 pods"."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
