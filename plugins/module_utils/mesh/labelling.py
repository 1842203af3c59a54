# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which label says who injects a namespace, and what a change of it means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .injection import Outcome, Verdict, verdict
from .managers import Manager, managers_of
from .names import DEFAULT, INJECTION_LABEL, INJECTION_LABELS, REVISION_LABEL
from .policy import IGNORED_NAMESPACES
from .refusal import Refusal
from .selectors import Labels
from .snapshot import Mesh, injection_labels
from .words import counted, some

Wanted = Mapping[str, "str | None"]
"""The two injection labels of a namespace, None for an absent one."""


@dataclass(frozen=True)
class Relabelling:
    """The injection labels of one namespace, before and after, and who injects its pods then.

    Attributes:
        managers: who else sets these labels.
        refusal: why this namespace alone is left as it is, empty when it is not.
    """

    namespace: str
    before: Wanted
    after: Wanted
    verdict_before: Verdict
    verdict_after: Verdict
    managers: tuple[Manager, ...] = ()
    refusal: str = ""

    @property
    def changed(self) -> bool:
        return self.before != self.after and not self.refusal

    @property
    def restart_needed(self) -> bool:
        """Whether the pods that live were injected by another revision than their successors will be."""
        return self.changed and self.verdict_before.revision != self.verdict_after.revision

    def as_result(self) -> dict[str, Any]:
        """As modules return it."""
        return {
            "name": self.namespace,
            "before": dict(self.before),
            "after": dict(self.after),
            "injector_before": self.verdict_before.revision,
            "injector_after": self.verdict_after.revision,
            "restart_needed": self.restart_needed,
            "managers": [manager.as_result() for manager in self.managers],
        }


def following(mesh: Mesh, name: str) -> list[str]:
    """The namespaces whose labels name a revision or tag; for "default" also those with istio-injection=enabled."""
    return [namespace for namespace, labels in sorted(mesh.namespaces.items()) if _followed_by(labels) == name]


def _followed_by(labels: Labels) -> str | None:
    """What a namespace asks for by name, None when nothing; istio-injection decides where it stands, whatever its value."""
    if INJECTION_LABEL in labels:
        return DEFAULT if labels[INJECTION_LABEL] == "enabled" else None
    return labels.get(REVISION_LABEL)


def plan_labels(mesh: Mesh, namespaces: Iterable[str], to: str, *, include_disabled: bool = False) -> list[Relabelling]:
    """Label namespaces for a revision or tag; the older label goes, because it would win.

    Raises:
        Refusal: nobody serves the name, a namespace does not exist, says that it wants no sidecars and may not be included, or would get
            none all the same.
    """
    mesh.resolve(to)
    names = mesh.require_namespaces(list(namespaces))
    refused = [name for name in names if mesh.namespaces[name].get(INJECTION_LABEL, "enabled") != "enabled"]
    if refused and not include_disabled:
        value = mesh.namespaces[refused[0]][INJECTION_LABEL]
        raise Refusal(
            f"{counted(len(refused), 'namespace')} ({some(refused)}) said no to injection by {INJECTION_LABEL}={value}. Leave them out, or "
            "set include_disabled to bring them into the mesh."
        )
    planned = [_relabelling(mesh, name, {REVISION_LABEL: to, INJECTION_LABEL: None}) for name in names]
    outside = [change.namespace for change in planned if change.namespace in IGNORED_NAMESPACES]
    if outside:
        raise Refusal(f"istiod never injects in namespace {some(outside)}, whatever its labels. Leave it out.")
    lost = [change.namespace for change in planned if change.verdict_after.outcome is Outcome.NONE]
    if lost:
        raise Refusal(
            f'"{to}" exists, but its injector is missing or switched off: pods in namespace {some(lost)} would start without a '
            "sidecar. Point a tag at a living revision with istio_tag and use that, or repair the install."
        )
    return planned


def plan_restore(mesh: Mesh, wanted: Mapping[str, Wanted]) -> list[Relabelling]:
    """Give namespaces back the labels they had, exactly; a namespace whose old label nobody serves any more is left as it is.

    Raises:
        Refusal: a namespace does not exist.
    """
    names = mesh.require_namespaces(sorted(wanted))
    return [_restored(mesh, name, {label: wanted[name].get(label) for label in INJECTION_LABELS}) for name in names]


def _restored(mesh: Mesh, name: str, after: Wanted) -> Relabelling:
    planned = _relabelling(mesh, name, after)
    revision = after[REVISION_LABEL]
    if not planned.changed or revision is None or after[INJECTION_LABEL] is not None:
        return planned
    try:
        mesh.resolve(revision)
    except Refusal as refusal:
        return replace(planned, refusal=str(refusal))
    return planned


def _relabelling(mesh: Mesh, namespace: str, after: Wanted) -> Relabelling:
    labels = mesh.namespaces[namespace]
    return Relabelling(
        namespace,
        injection_labels(labels),
        after,
        mesh.verdict(namespace),
        verdict(mesh.injectors, with_labels(labels, after)),
        tuple(managers_of(mesh.namespace_objects[namespace])),
    )


def with_labels(labels: Labels, wanted: Wanted) -> dict[str, str]:
    """The labels of a namespace once its injection labels are as wanted."""
    others = {key: value for key, value in labels.items() if key not in INJECTION_LABELS}
    return {**others, **{key: value for key, value in wanted.items() if value is not None}}


def label_sentence(changed: Sequence[Relabelling]) -> str:
    """What a run has changed and what it means for the pods that live, in one sentence."""
    if not changed:
        return "Every namespace has its labels already."
    restart = [change.namespace for change in changed if change.restart_needed]
    if not restart:
        return f"{counted(len(changed), 'namespace')} relabelled; no restart is needed, because the same revision injects them as before."
    return f"{counted(len(changed), 'namespace')} relabelled; the workloads of {counted(len(restart), 'namespace')} need a restart."
