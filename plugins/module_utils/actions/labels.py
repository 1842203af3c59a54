# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Writing the injection labels of namespaces, each for itself: what goes wrong with one does not stop the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..cluster.client import Cluster, Object
from ..cluster.errors import ClusterError, Conflict
from ..cluster.parallel import in_parallel
from ..cluster.paths import NAMESPACES
from ..cluster.read import read_control_plane
from ..mesh.injection import Outcome
from ..mesh.labelling import Relabelling
from ..mesh.revisions import labels_of
from ..mesh.snapshot import Mesh, injection_labels
from ..mesh.words import counted, some

TRIES = 3
"""How often a namespace is tried that somebody else writes at the same time."""

CHANGED, UNCHANGED, REFUSED, CONFLICT, FAILED = "changed", "unchanged", "refused", "conflict", "failed"


@dataclass(frozen=True)
class Labelled:
    """What came of one namespace: changed, unchanged, refused (left as it is), conflict (somebody set other labels), or failed."""

    change: Relabelling
    outcome: str
    message: str = ""

    @property
    def wrong(self) -> bool:
        return self.outcome in (REFUSED, CONFLICT, FAILED)

    def as_result(self) -> dict[str, Any]:
        """As modules return it."""
        return {
            **self.change.as_result(),
            "changed": self.outcome == CHANGED,
            "outcome": self.outcome,
            "message": self.message,
        }


def foretell(changes: Sequence[Relabelling]) -> list[Labelled]:
    """What would come of every namespace."""
    return [_untouched(change) or Labelled(change, CHANGED) for change in changes]


def write_labels(changes: Sequence[Relabelling], mesh: Mesh, cluster: Cluster) -> list[Labelled]:
    """One merge patch for each namespace that changes, only while its injection labels are those that were planned from."""
    return in_parallel(lambda change: _untouched(change) or _write(change, mesh, cluster), changes)


def _untouched(change: Relabelling) -> Labelled | None:
    if change.refusal:
        return Labelled(change, REFUSED, change.refusal)
    return None if change.changed else Labelled(change, UNCHANGED)


def _write(change: Relabelling, mesh: Mesh, cluster: Cluster) -> Labelled:
    current: Object | None = dict(mesh.namespace_objects[change.namespace])
    for _attempt in range(TRIES):
        try:
            metadata = {"labels": dict(change.after), "resourceVersion": (current or {})["metadata"]["resourceVersion"]}
            cluster.merge_patch(NAMESPACES(name=change.namespace), {"metadata": metadata})
            return Labelled(change, CHANGED)
        except Conflict:
            pass  # somebody wrote it meanwhile, or our own write has arrived and its answer has not
        except ClusterError as error:
            return _after_failure(change, cluster, error)
        try:
            current = cluster.get(NAMESPACES(name=change.namespace))
        except ClusterError as error:
            return Labelled(change, FAILED, str(error))
        now = injection_labels(labels_of(current)) if current else None
        if now == change.after:
            return Labelled(change, CHANGED)
        if now != change.before:
            return Labelled(
                change, CONFLICT, f"somebody changed its injection labels meanwhile, to {_said(now)}. Look who, then run again."
            )
    return Labelled(change, CONFLICT, "somebody else writes it all the time. Run again.")


def _after_failure(change: Relabelling, cluster: Cluster, error: ClusterError) -> Labelled:
    """A write that failed may have been carried out all the same."""
    try:
        current = cluster.get(NAMESPACES(name=change.namespace))
    except ClusterError:
        return Labelled(change, FAILED, f"{error} Whether it was changed cannot be seen.")
    if current is not None and injection_labels(labels_of(current)) == change.after:
        return Labelled(change, CHANGED)
    return Labelled(change, FAILED, str(error))


def _said(labels: Any) -> str:
    given = [f"{label}={value}" for label, value in (labels or {}).items() if value is not None]
    return " and ".join(given) or "none"


def trouble(labelled: Sequence[Labelled], cluster: Cluster, istio_namespace: str) -> str:
    """What the user has to hear, as sentences: namespaces that were not labelled, or that nobody injects now; empty when all is well.

    The control plane is looked at once more, because its injector may have gone since the plan was made. An error is a sentence too:
    raised, it would take along what the run returns for a rollback.
    """
    wrong = [each for each in labelled if each.wrong]
    said = [f"namespace {each.change.namespace} was not labelled ({each.outcome}): {each.message}" for each in wrong[:5]]
    if len(wrong) > len(said):
        said.append(f"and {len(wrong) - len(said)} more, see namespaces in the result")
    changed = [each.change for each in labelled if each.outcome == CHANGED and each.change.verdict_after.outcome is Outcome.INJECTED]
    if changed:
        said += _lost(changed, cluster, istio_namespace)
    return "; ".join(said)


def _lost(changed: Sequence[Relabelling], cluster: Cluster, istio_namespace: str) -> list[str]:
    """Who of the namespaces that were labelled has no injector now, as a sentence; none when all have one."""
    try:
        mesh = Mesh(read_control_plane(cluster, istio_namespace), istio_namespace)
    except ClusterError as error:
        return [f"the labels are written, but whether the injector is still there could not be seen: {error} Run again"]
    lost = [change.namespace for change in changed if mesh.verdict(change.namespace).outcome is not Outcome.INJECTED]
    if not lost:
        return []
    return [
        (
            f"the injector has gone while {counted(len(lost), 'namespace')} ({some(lost)}) got the label: {mesh.verdict(lost[0]).reason}. "
            "Give back their labels with restore, or repair the control plane before any pod is born"
        )
    ]
