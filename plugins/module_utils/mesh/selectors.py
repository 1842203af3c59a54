# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Label selectors, decided as the API server decides them (apimachinery: pkg/apis/meta/v1 LabelSelectorAsSelector)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Labels = Mapping[str, str]


@dataclass(frozen=True)
class Requirement:
    """One condition on one label."""

    key: str
    operator: str
    values: frozenset[str] = frozenset()

    def matches(self, labels: Labels) -> bool:
        """Whether the labels meet the condition.

        Raises:
            ValueError: the operator is none of the four that Kubernetes knows.
        """
        if self.operator == "In":
            return labels.get(self.key) in self.values
        if self.operator == "NotIn":
            return labels.get(self.key) not in self.values
        if self.operator == "Exists":
            return self.key in labels
        if self.operator == "DoesNotExist":
            return self.key not in labels
        raise ValueError(f'selector operator "{self.operator}" on label "{self.key}" is unknown')


@dataclass(frozen=True)
class Selector:
    """Conditions that must all be met; without any it matches everything."""

    requirements: tuple[Requirement, ...] = ()

    @classmethod
    def parse(cls, selector: Mapping[str, Any] | None) -> Selector:
        """From a LabelSelector as the API server writes it; an absent one matches everything."""
        selector = selector or {}
        equal = [Requirement(key, "In", frozenset([value])) for key, value in (selector.get("matchLabels") or {}).items()]
        expressions = [
            Requirement(part["key"], part["operator"], frozenset(part.get("values") or ()))
            for part in selector.get("matchExpressions") or ()
        ]
        return cls(tuple(equal + expressions))

    def matches(self, labels: Labels) -> bool:
        """Whether the labels meet every condition."""
        return all(requirement.matches(labels) for requirement in self.requirements)
