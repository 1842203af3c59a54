# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which label says who injects a namespace, and what a change of it means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .injection import Outcome, Verdict, verdict
from .names import INJECTION_LABEL, INJECTION_LABELS, REVISION_LABEL
from .refusal import Refusal
from .selectors import Labels
from .snapshot import Mesh, injection_labels

Wanted = Mapping[str, "str | None"]
"""The two injection labels of a namespace, None for an absent one."""


@dataclass(frozen=True)
class Relabelling:
    """The injection labels of one namespace, before and after, and who injects its pods then."""

    namespace: str
    before: Wanted
    after: Wanted
    verdict_before: Verdict
    verdict_after: Verdict

    @property
    def changed(self) -> bool:
        return self.before != self.after

    def as_result(self) -> dict[str, Any]:
        """As modules return it."""
        return {
            "name": self.namespace,
            "before": dict(self.before),
            "after": dict(self.after),
            "injector_before": self.verdict_before.revision,
            "injector_after": self.verdict_after.revision,
            "restart_needed": self.verdict_before.revision != self.verdict_after.revision,
            "changed": self.changed,
        }


def plan_labels(mesh: Mesh, namespaces: Iterable[str], to: str) -> list[Relabelling]:
    """Label namespaces for a revision or tag; the older label goes, because it would win.

    Raises:
        Refusal: nobody serves the name, or a namespace does not exist.
    """
    mesh.resolve(to)
    names = mesh.require_namespaces(list(namespaces))
    planned = [_relabelling(mesh, name, {REVISION_LABEL: to, INJECTION_LABEL: None}) for name in names]
    lost = [change.namespace for change in planned if change.verdict_after.outcome is Outcome.NONE]
    if lost:
        raise Refusal(
            f'"{to}" exists, but its injector is missing or switched off: pods in namespace {", ".join(lost[:5])} would start without a '
            "sidecar. Point a tag at a living revision with istio_tag and use that, or repair the install."
        )
    return planned


def plan_restore(mesh: Mesh, wanted: Mapping[str, Wanted]) -> list[Relabelling]:
    """Give namespaces back the labels they had.

    Raises:
        Refusal: a label would change to a name that nobody serves, or a namespace does not exist.
    """
    names = mesh.require_namespaces(sorted(wanted))
    planned = [_relabelling(mesh, name, {label: wanted[name].get(label) for label in INJECTION_LABELS}) for name in names]
    for change in planned:
        revision = change.after[REVISION_LABEL]
        if change.changed and revision is not None and change.after[INJECTION_LABEL] is None:
            mesh.resolve(revision)
    return planned


def _relabelling(mesh: Mesh, namespace: str, after: Wanted) -> Relabelling:
    labels = mesh.namespaces[namespace]
    return Relabelling(
        namespace, injection_labels(labels), after, mesh.verdict(namespace), verdict(mesh.injectors, with_labels(labels, after))
    )


def with_labels(labels: Labels, wanted: Wanted) -> dict[str, str]:
    """The labels of a namespace once its injection labels are as wanted."""
    others = {key: value for key, value in labels.items() if key not in INJECTION_LABELS}
    return {**others, **{key: value for key, value in wanted.items() if value is not None}}
