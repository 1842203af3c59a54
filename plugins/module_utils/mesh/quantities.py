# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Kubernetes quantities, as numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

_SUFFIXES = {
    "": Decimal(1),
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    **{suffix: Decimal(1000) ** power for power, suffix in enumerate(("k", "M", "G", "T", "P", "E"), 1)},
    **{suffix: Decimal(1024) ** power for power, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1)},
}
_QUANTITY = re.compile(r"([+-]?[\d.]+(?:[eE][+-]?\d+)?)([a-zA-Z]*)")


def amount(quantity: Any) -> Decimal:
    """The number behind "250m", "1Gi", "2" or 2; 0 for what is none."""
    found = _QUANTITY.fullmatch(str(quantity))
    if not found or found[2] not in _SUFFIXES:
        return Decimal(0)
    return Decimal(found[1]) * _SUFFIXES[found[2]]


def requests_of(spec: Mapping[str, Any]) -> dict[str, Decimal]:
    """What a pod asks of a node, by resource: its containers together, or its largest init container (native sidecars count for good)."""
    running: dict[str, Decimal] = {}
    largest: dict[str, Decimal] = {}
    for container in spec.get("containers") or ():
        _add(running, container)
    for container in spec.get("initContainers") or ():
        if container.get("restartPolicy") == "Always":
            _add(running, container)
        else:
            for name, value in _requests(container):
                largest[name] = max(largest.get(name, Decimal(0)), value)
    return {name: max(running.get(name, Decimal(0)), largest.get(name, Decimal(0))) for name in {*running, *largest}}


def _requests(container: Mapping[str, Any]) -> Iterable[tuple[str, Decimal]]:
    return [(name, amount(value)) for name, value in ((container.get("resources") or {}).get("requests") or {}).items()]


def _add(total: dict[str, Decimal], container: Mapping[str, Any]) -> None:
    for name, value in _requests(container):
        total[name] = total.get(name, Decimal(0)) + value
