# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The JSON patches that admission webhooks answer with (RFC 6902)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any


def patched(document: Any, operations: Iterable[Mapping[str, Any]]) -> Any:
    """A document after "add", "remove" and "replace", the three operations that istiod uses; the given one stays as it is.

    Raises:
        ValueError: another operation, or a path that does not exist.
    """
    document = deepcopy(document)
    for operation in operations:
        try:
            document = _apply(document, operation["op"], operation["path"], operation.get("value"))
        except (KeyError, IndexError, TypeError) as error:
            raise ValueError(f'the patch "{operation.get("op")} {operation.get("path")}" does not fit') from error
    return document


def _apply(document: Any, kind: str, path: str, value: Any) -> Any:
    if kind not in ("add", "remove", "replace"):
        raise ValueError(f'the patch operation "{kind}" is unknown')
    if not path:
        return value
    *way, last = (part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:])
    place = document
    for part in way:
        place = place[int(part)] if isinstance(place, list) else place[part]
    if isinstance(place, list):
        position = len(place) if last == "-" else int(last)
        if position > len(place) - (kind != "add"):
            raise IndexError(position)
        place[position : position + (kind != "add")] = [] if kind == "remove" else [value]
    elif kind == "remove":
        del place[last]
    else:
        place[last] = value
    return document
