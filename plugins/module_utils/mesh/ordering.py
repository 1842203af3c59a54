# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""An order in which a part of something grows without changing its members."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256

from .refusal import Refusal


def stable_order(names: Iterable[str]) -> list[str]:
    """The names in an order that looks random, and is the same in every run and on every machine."""
    return sorted(names, key=lambda name: sha256(name.encode()).hexdigest())


def limited(names: Iterable[str], limit: str | None) -> list[str]:
    """The first names in the stable order: a larger limit has all of a smaller one; all in their own order without a limit.

    Args:
        names: each once.
        limit: a number, "12", or a share rounded up, "25%".

    Raises:
        Refusal: the limit is something else.
    """
    chosen = list(names)
    if limit is None:
        return chosen
    found = re.fullmatch(r"(\d+)(%?)", limit.strip())
    if not found or (found[2] and int(found[1]) > 100):
        raise Refusal(f'limit is a number of namespaces, such as 12, or a share of at most 100%, such as 25%; got "{limit}".')
    number = -(-len(chosen) * int(found[1]) // 100) if found[2] else int(found[1])
    return stable_order(chosen)[:number]
