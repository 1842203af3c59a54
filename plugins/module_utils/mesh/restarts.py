# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which workloads have to be restarted, and which restart has succeeded or failed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .refusal import Refusal
from .workloads import ROLLING_KINDS, Owner, Pod, Workload

SCOPES = ("all", "workloads", "gateways")


@dataclass(frozen=True)
class Restart:
    """What is to be done with one workload: restart it, or why not."""

    workload: Workload
    wanted: str | None
    outcome: str
    reason: str

    @property
    def due(self) -> bool:
        return self.outcome == "restart"

    @property
    def expected(self) -> dict[str, int]:
        """Pods by revision once it has moved."""
        if not (self.due and self.wanted):
            return self.workload.revisions
        return {self.wanted: sum(1 for pod in self.workload.pods if not pod.terminating)}

    def as_result(self, after: Mapping[str, int] | None = None, moved_at: str | None = None) -> dict[str, Any]:
        """As modules return it; with the pods by revision after the move it counts as restarted."""
        return {
            "kind": self.workload.owner.kind,
            "namespace": self.workload.owner.namespace,
            "name": self.workload.owner.name,
            "before": self.workload.revisions,
            "after": dict(after) if after is not None else self.workload.revisions,
            "outcome": "restarted" if after is not None else self.outcome,
            "reason": self.reason,
            "moved_at": moved_at,
        }


def plan_restarts(
    workloads: Iterable[Workload],
    controllers: Mapping[Owner, Mapping[str, Any]],
    wanted: Callable[[Pod], str | None],
    *,
    scope: str = "all",
    on_revision: str | None = None,
) -> list[Restart]:
    """One entry for every workload in scope, whether it is restarted or not.

    A workload is stale when one of its pods was injected by another revision than its successor would be; images and versions do not
    matter, because two revisions may share them. A pod that is terminating already has its successor.

    Args:
        workloads: with their pods.
        controllers: the objects of the kinds in ROLLING_KINDS, by owner.
        wanted: the revision that the successor of a pod shall get, None when nobody would inject it.
        scope: "all", only "gateways", or only "workloads" (everything else).
        on_revision: only workloads with a pod of this revision.
    """
    chosen = [
        workload
        for workload in workloads
        if (scope == "all" or workload.gateway == (scope == "gateways")) and (on_revision is None or on_revision in workload.revisions)
    ]
    return [_restart(workload, controllers.get(workload.owner), wanted) for workload in chosen]


def _restart(workload: Workload, controller: Mapping[str, Any] | None, wanted: Callable[[Pod], str | None]) -> Restart:
    targets = {pod.name: wanted(pod) for pod in workload.pods}
    first = next((target for target in targets.values() if target is not None), None)
    stale = [pod for pod in workload.pods if pod.revision != targets[pod.name] and not pod.terminating]
    if not stale:
        return Restart(workload, first, "current", "every pod has the wanted revision")
    if any(targets[pod.name] is None for pod in stale):
        return Restart(workload, first, "not_restartable", "nobody would inject its new pods: they would lose their sidecar or be rejected")
    obstacle = why_not_restartable(workload.owner.kind, controller)
    if obstacle:
        return Restart(workload, first, "not_restartable", obstacle)
    return Restart(workload, first, "restart", f"{len(stale)} of {len(workload.pods)} pods are stale")


def refuse_wrong_injector(restarts: Iterable[Restart], revision: str) -> None:
    """Stop before a restart that would not bring the revision the user names.

    Raises:
        Refusal: the new pods of some workload would be injected by another revision.
    """
    others = [restart for restart in restarts if restart.wanted != revision and not restart.workload.rendered]
    if others:
        first = others[0]
        raise Refusal(
            f'{len(others)} workloads would not get revision "{revision}", nothing was restarted: new pods of {first.workload.owner} are '
            f"injected by {first.wanted or 'nobody'}. Move the label or tag first (ns_revision_label, istio_tag)."
        )


def why_not_restartable(kind: str, controller: Mapping[str, Any] | None) -> str:
    """Why a restart of the pod template would not replace the pods, empty when it would."""
    if kind == "Pod":
        return "no controller would bring the pod back; replace it yourself"
    if kind not in ROLLING_KINDS:
        return f"a {kind} does not replace its pods when restarted; let it finish or replace them yourself"
    if controller is None:
        return f"its {kind} does not exist any more"
    if controller["spec"].get("paused"):
        return "its Deployment is paused; resume it first"
    strategy = controller["spec"].get("updateStrategy") or {}
    if strategy.get("type") == "OnDelete":
        return f"its {kind} replaces pods only when they are deleted (OnDelete); delete them yourself"
    partition = (strategy.get("rollingUpdate") or {}).get("partition")
    if partition:
        return f"its {kind} keeps old pods below ordinal {partition} (rollingUpdate.partition); set that to 0 first"
    return ""


def rollout_problem(kind: str, controller: Mapping[str, Any]) -> str:
    """What a rollout still waits for, empty when it is complete (kubectl: pkg/polymorphichelpers/rollout_status.go)."""
    status = controller.get("status") or {}
    if not _observed(controller):
        return "its controller has not seen the change yet"
    wanted = pods_wanted(kind, controller)
    if kind == "DaemonSet":
        updated, ready, total = status.get("updatedNumberScheduled", 0), status.get("numberAvailable", 0), wanted
    else:
        updated, ready, total = status.get("updatedReplicas", 0), status.get("availableReplicas", 0), status.get("replicas", 0)
    if updated < wanted:
        return f"{updated} of {wanted} pods are new"
    if total > updated:
        return f"{total - updated} old pods are left"
    if ready < wanted:
        return f"{ready} of {wanted} pods are available"
    return ""


def pods_wanted(kind: str, controller: Mapping[str, Any]) -> int:
    """How many pods a controller shall have."""
    if kind == "DaemonSet":
        return int((controller.get("status") or {}).get("desiredNumberScheduled", 0))
    return int(controller["spec"].get("replicas", 1))


def _observed(controller: Mapping[str, Any]) -> bool:
    """Whether the status tells of the present generation."""
    return (controller.get("status") or {}).get("observedGeneration", 0) >= controller["metadata"].get("generation", 0)


def rollout_failure(controller: Mapping[str, Any]) -> str:
    """Why a rollout will not complete by waiting, empty when nothing says so.

    Conditions of an older generation tell of the rollout before.
    """
    if not _observed(controller):
        return ""
    for condition in (controller.get("status") or {}).get("conditions") or ():
        if condition["type"] == "Progressing" and condition.get("reason") == "ProgressDeadlineExceeded":
            return f"its rollout makes no progress: {condition.get('message', '')}"
        if condition["type"] == "ReplicaFailure" and condition["status"] == "True":
            return f"its pods cannot be created: {condition.get('message', '')}"
    return ""
