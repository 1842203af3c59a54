# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the customisation of two revisions differs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import ndiff
from typing import Any

from .names import istiod_name

PARTS = ("mesh", "values", "istiod", "injection")
"""The parts of a customisation, in the order in which their differences matter."""

SHOWN_LINES = 5
"""Of a text that differs."""

OWN_PATHS = frozenset({"values.revision", "values.global.tag", "values.global.hub", "istiod.env.REVISION"})
"""What every revision has of its own; a difference there is the point of the upgrade."""

CHART_TEMPLATES = frozenset({"sidecar", "gateway", "grpc-simple", "grpc-agent", "waypoint", "kube-gateway", "agentgateway"})
"""The injection templates of the istiod chart, 1.24 to 1.32; their text changes with every version."""


def differences(ours: Any, theirs: Any, revision: str, other: str, *, same_version: bool = True) -> list[dict[str, Any]]:
    """Every leaf that differs, as ``{"path", "ours", "theirs"}``, mesh config first; an absent one is None, of a long text the lines.

    Args:
        ours: plain nested data of one revision, such as ``{"mesh": …, "values": …}``.
        theirs: the same of the other.
        revision: the name of our revision; where its istiod is named, the other's may stand.
        other: the name of the other revision.
        same_version: whether both are of one Istio version; of two, the chart's own injection templates differ by themselves.
    """
    left, right = dict(_leaves("", ours)), dict(_leaves("", theirs))
    return [
        {"path": path, **_shown(left.get(path), right.get(path))}
        for path in sorted(left.keys() | right.keys(), key=_rank)
        if path not in OWN_PATHS
        and (same_version or not _is_charts(path, left, right))
        and _neutral(left.get(path), revision) != _neutral(right.get(path), other)
    ]


def _rank(path: str) -> tuple[int, str]:
    """What proxies do comes before how istiod runs, and long templates come last."""
    part = path.partition(".")[0]
    return (PARTS.index(part) if part in PARTS else len(PARTS), path)


def _is_charts(path: str, left: Mapping[str, Any], right: Mapping[str, Any]) -> bool:
    """Whether a path is the text of a template of the chart that both have."""
    start, _dot, name = path.rpartition(".")
    return start == "injection.templates" and name in CHART_TEMPLATES and path in left and path in right


def _shown(ours: Any, theirs: Any) -> dict[str, Any]:
    """Both values; of two long texts only what each has and the other has not."""
    if not all(isinstance(value, str) and "\n" in value for value in (ours, theirs)):
        return {"ours": ours, "theirs": theirs}
    lines = [line for line in ndiff(theirs.splitlines(), ours.splitlines()) if line[0] in "+-"]
    return {side: _cut([line[2:].strip() for line in lines if line[0] == sign]) for side, sign in (("ours", "+"), ("theirs", "-"))}


def _cut(lines: Sequence[str]) -> str:
    more = f" (and {len(lines) - SHOWN_LINES} more lines)" if len(lines) > SHOWN_LINES else ""
    return "\n".join(lines[:SHOWN_LINES]) + more


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
