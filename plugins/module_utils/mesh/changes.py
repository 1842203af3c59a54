# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""A change to one Kubernetes object, with what it was before, so that it can be undone."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

Object = Mapping[str, Any]


@dataclass(frozen=True)
class Ref:
    """Which object: kind, namespace (None for cluster-wide kinds) and name."""

    kind: str
    namespace: str | None
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


@dataclass(frozen=True)
class Change:
    """One object as it is (None: absent) and as it shall be (None: deleted)."""

    ref: Ref
    before: Object | None
    after: Object | None

    @property
    def needed(self) -> bool:
        return self.before != self.after


WRITTEN_BY_SERVER = frozenset({"creationTimestamp", "generation", "managedFields", "resourceVersion", "uid"})
WRITTEN_BY_ISTIOD = frozenset({"caBundle", "failurePolicy"})
"""In webhook configurations: shortly after an install, istiod fills them in at any moment."""


def content(thing: Object) -> dict[str, Any]:
    """An object without what the API server and its controllers write by themselves."""
    metadata = {key: value for key, value in thing["metadata"].items() if key not in WRITTEN_BY_SERVER}
    return {**{key: value for key, value in thing.items() if key != "status"}, "metadata": metadata}


def without_annotation(thing: Object, name: str) -> dict[str, Any]:
    """A copy of an object without an annotation; like the API server, it keeps no empty map."""
    copy = deepcopy(dict(thing))
    annotations = copy["metadata"].get("annotations") or {}
    annotations.pop(name, None)
    if not annotations:
        copy["metadata"].pop("annotations", None)
    return copy


def same_but_for_istiod(one: Object, other: Object) -> bool:
    """Whether two versions of an object differ at most in what the API server and istiod write by themselves."""
    return bool(lasting(one) == lasting(other))


def lasting(thing: Object) -> Any:
    """The content of an object without what istiod writes into it by itself."""
    return _without_istiods(content(thing))


def _without_istiods(thing: Any) -> Any:
    if isinstance(thing, Mapping):
        return {key: _without_istiods(value) for key, value in thing.items() if key not in WRITTEN_BY_ISTIOD}
    return [_without_istiods(part) for part in thing] if isinstance(thing, list) else thing
