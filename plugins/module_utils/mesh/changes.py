# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""A change to one Kubernetes object, with what it was before, so that it can be undone."""

from __future__ import annotations

from collections.abc import Mapping
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
