# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who else manages the injection labels of a namespace, and would put them back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from .names import INJECTION_LABELS, MANAGED_BY
from .revisions import annotations_of, labels_of

LAST_APPLIED_ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
"""What the last client-side apply wanted. It outlives a change of the label by somebody else, managedFields do not."""

_PRODUCTS = {
    "argocd": "Argo CD",
    "kustomize-controller": "Flux",
    "helm-controller": "Flux",
    "fleetagent": "Rancher Fleet",
    "configsync": "Config Sync",
}
"""How field managers of controllers begin that compare the cluster with Git all the time → the product."""

_DECLARING = ("kubectl-client-side-apply", "helm", "terraform", "pulumi")
"""How field managers of tools begin that bring back what is written down for them, when somebody runs them."""

_TRACKS = {
    "argocd.argoproj.io/tracking-id": "argocd",
    "argocd.argoproj.io/instance": "argocd",
    "kustomize.toolkit.fluxcd.io/name": "kustomize-controller",
    "helm.toolkit.fluxcd.io/name": "helm-controller",
}
"""Label or annotation by which a GitOps controller marks what it has applied → the controller.

Not app.kubernetes.io/instance, which Argo CD can use too: every Helm chart sets it.
"""


class Habit(Enum):
    """What a manager does about a label that somebody else has changed."""

    RECONCILES = "reconciles"
    DECLARES = "declares"
    WROTE = "wrote"


@dataclass(frozen=True)
class Manager:
    """Somebody else who has set an injection label of a namespace, or keeps the namespace in Git.

    Attributes:
        name: the field manager, as the API server records it: "argocd-controller", "kubectl-label".
        operation: "Apply" (server-side), "Update", "LastApplied" (client-side apply, of which only the annotation is left), or "Track"
            (only the mark of a GitOps controller is there).
        time: of the last write, RFC 3339, None when unknown.
        labels: the injection labels it has set, none for "Track": what Git says about them is unknown then.
        habit: what it does about a change.
    """

    name: str
    operation: str
    time: str | None
    labels: tuple[str, ...]
    habit: Habit

    @property
    def product(self) -> str:
        """Its name in sentences."""
        return product_of(self.name)

    @property
    def puts_back(self) -> bool:
        """Whether it undoes a change of the labels by itself, within minutes: change them in Git instead."""
        return self.habit is Habit.RECONCILES and bool(self.labels)

    def as_result(self) -> dict[str, Any]:
        """As modules return it."""
        return {
            "name": self.name,
            "operation": self.operation,
            "time": self.time,
            "labels": list(self.labels),
            "habit": self.habit.value,
            "puts_back": self.puts_back,
        }


def product_of(manager: str) -> str:
    """The name in sentences of a field manager."""
    return next((product for start, product in _PRODUCTS.items() if manager.startswith(start)), manager)


def managers_of(namespace: Mapping[str, Any]) -> list[Manager]:
    """Everybody but us who has set istio.io/rev or istio-injection of a namespace object, those that put them back first."""
    entries = namespace["metadata"].get("managedFields") or ()
    found = [_writer(entry) for entry in entries if owned_labels(entry) and entry.get("manager") != MANAGED_BY]
    known = {label for manager in found if manager.habit is not Habit.WROTE for label in manager.labels}
    applied = tuple(label for label in INJECTION_LABELS if label in _last_applied(namespace) and label not in known)
    tracker = tracker_of(namespace)
    if applied:
        name = tracker or "kubectl-client-side-apply"
        found.append(Manager(name, "LastApplied", None, applied, _habit(name, "Update")))
    if tracker and not any(manager.habit is Habit.RECONCILES for manager in found):
        found.append(Manager(tracker, "Track", None, (), Habit.RECONCILES))
    return sorted(found, key=lambda manager: (not manager.puts_back, manager.name, manager.operation))


def kept_by_product(managed: Iterable[tuple[str, Iterable[Manager]]]) -> dict[str, list[str]]:
    """Product → the namespaces whose injection labels it puts back, sorted; from namespaces and their managers."""
    kept: dict[str, set[str]] = {}
    for namespace, managers in managed:
        for manager in managers:
            if manager.puts_back:
                kept.setdefault(manager.product, set()).add(namespace)
    return {product: sorted(names) for product, names in kept.items()}


def tracker_of(thing: Mapping[str, Any]) -> str | None:
    """The GitOps controller that marks an object of any kind as its own, None without a mark."""
    marks = {**labels_of(thing), **annotations_of(thing)}
    return next((controller for mark, controller in _TRACKS.items() if mark in marks), None)


def owned_labels(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """The injection labels that an entry of metadata.managedFields is about."""
    labels = ((entry.get("fieldsV1") or {}).get("f:metadata") or {}).get("f:labels") or {}
    return tuple(label for label in INJECTION_LABELS if f"f:{label}" in labels)


def _writer(entry: Mapping[str, Any]) -> Manager:
    name, operation = str(entry.get("manager", "")), str(entry.get("operation", ""))
    return Manager(name, operation, entry.get("time"), owned_labels(entry), _habit(name, operation))


def _habit(name: str, operation: str) -> Habit:
    """A server-side apply is by somebody who has the object written down, whatever the tool."""
    if name.startswith(tuple(_PRODUCTS)):
        return Habit.RECONCILES
    return Habit.DECLARES if operation == "Apply" or name.lower().startswith(_DECLARING) else Habit.WROTE


def _last_applied(namespace: Mapping[str, Any]) -> Mapping[str, Any]:
    """The labels that the last client-side apply wanted."""
    try:
        applied = json.loads(annotations_of(namespace).get(LAST_APPLIED_ANNOTATION, "{}"))
        return dict(applied["metadata"]["labels"])
    except (ValueError, KeyError, TypeError):
        return {}  # nobody applied it, or without labels; a hand-written annotation may hold anything
