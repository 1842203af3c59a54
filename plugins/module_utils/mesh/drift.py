# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the customisation of two revisions differs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .names import istiod_name

OWN_PATHS = frozenset({"values.revision", "values.global.tag", "values.global.hub"})
"""What every revision has of its own; a difference there is the point of the upgrade."""


def differences(ours: Any, theirs: Any, revision: str, other: str) -> list[dict[str, Any]]:
    """Every leaf that differs, as ``{"path", "ours", "theirs"}``, by path; an absent one is None.

    Args:
        ours: plain nested data of one revision, such as ``{"mesh": …, "values": …}``.
        theirs: the same of the other.
        revision: the name of our revision; where its istiod is named, the other's may stand.
        other: the name of the other revision.
    """
    left, right = dict(_leaves("", ours)), dict(_leaves("", theirs))
    return [
        {"path": path, "ours": left.get(path), "theirs": right.get(path)}
        for path in sorted(left.keys() | right.keys())
        if path not in OWN_PATHS and _neutral(left.get(path), revision) != _neutral(right.get(path), other)
    ]


def _leaves(path: str, data: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(data, Mapping) and data:
        for key, value in data.items():
            yield from _leaves(f"{path}.{key}" if path else str(key), value)
    elif isinstance(data, list) and data:
        for index, value in enumerate(data):
            yield from _leaves(f"{path}[{index}]", value)
    else:
        yield path, data


def _neutral(value: Any, revision: str) -> Any:
    return value.replace(f"{istiod_name(revision)}.", "istiod.") if isinstance(value, str) else value
