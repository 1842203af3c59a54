# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether workloads can be restarted: room for one pod more, budgets, and workloads that do not move or do not move gently."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from .finding import WARNING, Finding
from .quantities import amount, requests_of
from .restarts import why_not_restartable
from .snapshot import Mesh
from .words import counted, some
from .workloads import is_over

Object = Mapping[str, Any]


@dataclass(frozen=True)
class Room:
    """What limits new pods: nodes of the cluster, pods of all namespaces, quotas and budgets of the namespaces in scope.

    Attributes:
        unseen: sentences why something of it could not be looked at.
    """

    nodes: Sequence[Object] = ()
    pods: Sequence[Object] = ()
    quotas: Sequence[Object] = ()
    budgets: Sequence[Object] = ()
    unseen: Sequence[str] = ()


def room_findings(mesh: Mesh, room: Room, scope: Sequence[str], at_once: int = 1) -> Iterator[Finding]:
    """What stands in the way of a rolling restart in the namespaces of a scope, of so many workloads at a time."""
    living = [pod for pod in room.pods if not is_over(pod)]
    yield from _quotas(room.quotas, living)
    workloads = sum(workload.owner.namespace in scope for workload in mesh.workloads)
    yield from _nodes(room.nodes, living, scope, min(at_once, workloads))
    yield from _budgets(room.budgets)
    yield from _not_moving(mesh, scope)
    yield from _interrupted(mesh, scope)


def _quotas(quotas: Iterable[Object], pods: Sequence[Object]) -> Iterator[Finding]:
    """Exact: the API server refuses what is over."""
    for quota in quotas:
        namespace = quota["metadata"]["namespace"]
        largest = _largest([pod for pod in pods if pod["metadata"]["namespace"] == namespace])
        need = {"pods": Decimal(1), "count/pods": Decimal(1)}
        for resource in ("cpu", "memory"):
            need[f"requests.{resource}"] = need[resource] = largest.get(resource, Decimal(0))
        status = quota.get("status") or {}
        used = status.get("used") or {}
        full = [
            f"{name} {used.get(name, 0)} of {hard}"
            for name, hard in sorted((status.get("hard") or {}).items())
            if name in need and amount(used.get(name, 0)) + need[name] > amount(hard)
        ]
        if full:
            yield Finding(
                "quota-without-room",
                WARNING,
                f"ResourceQuota {namespace}/{quota['metadata']['name']}",
                f"the quota has no room for one more pod of the largest kind in the namespace ({', '.join(full)}): a rolling restart that "
                "starts new pods first stands still.",
                "Raise the quota for the time of the upgrade, or let the workloads there stop a pod first (maxSurge 0).",
            )


def _largest(pods: Iterable[Object]) -> dict[str, Decimal]:
    found: dict[str, Decimal] = {}
    for pod in pods:
        for name, value in requests_of(pod["spec"]).items():
            found[name] = max(found.get(name, Decimal(0)), value)
    return found


def _nodes(nodes: Sequence[Object], pods: Sequence[Object], scope: Sequence[str], at_once: int) -> Iterator[Finding]:
    """Whether a new pod of each workload that restarts at the same time finds a node, the largest pods first.

    Approximate: affinity, taints and priorities are not looked at, and a workload may start more than one new pod.
    """
    used: dict[str, dict[str, Decimal]] = {}
    for pod in pods:
        _take(used.setdefault(str(pod["spec"].get("nodeName")), {}), _need_of(pod))
    open_nodes = [node for node in nodes if not (node.get("spec") or {}).get("unschedulable") and _is_ready(node)]
    moving = [_need_of(pod) for pod in pods if pod["metadata"]["namespace"] in scope]
    moving.sort(key=lambda need: (need.get("memory", Decimal(0)), need.get("cpu", Decimal(0))), reverse=True)
    waiting = 0
    for need in moving[:at_once] if nodes else ():
        node = next((node for node in open_nodes if _fits(node, used.get(node["metadata"]["name"], {}), need)), None)
        if node is None:
            waiting += 1
        else:
            _take(used.setdefault(node["metadata"]["name"], {}), need)
    if waiting:
        yield Finding(
            "no-room-to-surge",
            WARNING,
            "Cluster",
            f"when {counted(len(moving[:at_once]), 'workload')} start a new pod at the same time, {waiting} of these find no node with "
            f"room ({counted(len(open_nodes), 'node')} that take pods): they wait until one comes, by an autoscaler or by hand.",
            "Restart fewer at a time (mesh_max_unavailable), or see that the cluster's autoscaler can add a node.",
        )


def _need_of(pod: Object) -> dict[str, Decimal]:
    return {**requests_of(pod["spec"]), "pods": Decimal(1)}


def _take(used: dict[str, Decimal], need: Mapping[str, Decimal]) -> None:
    for name, value in need.items():
        used[name] = used.get(name, Decimal(0)) + value


def _is_ready(node: Object) -> bool:
    conditions = (node.get("status") or {}).get("conditions") or ()
    return any(part["type"] == "Ready" and part["status"] == "True" for part in conditions)


def _fits(node: Object, used: Mapping[str, Decimal], need: Mapping[str, Decimal]) -> bool:
    allocatable = (node.get("status") or {}).get("allocatable") or {}
    return all(amount(allocatable.get(name, 0)) - used.get(name, Decimal(0)) >= value for name, value in need.items())


def _budgets(budgets: Iterable[Object]) -> Iterator[Finding]:
    for budget in budgets:
        status = budget.get("status") or {}
        if status.get("expectedPods") and not status.get("disruptionsAllowed"):
            yield Finding(
                "budget-without-room",
                WARNING,
                f"PodDisruptionBudget {budget['metadata']['namespace']}/{budget['metadata']['name']}",
                f"the budget allows no disruption now ({status.get('currentHealthy', 0)} of {status['expectedPods']} pods are healthy, "
                f"{status.get('desiredHealthy', 0)} must be). A rolling restart does not ask budgets: it goes on all the same.",
                "See that the pods are well, and that the strategy of the workload (maxUnavailable) keeps enough of them.",
            )


def _not_moving(mesh: Mesh, scope: Sequence[str]) -> Iterator[Finding]:
    """By reason, because a mesh has many pods of one kind."""
    staying: dict[str, list[str]] = {}
    for workload in mesh.workloads:
        reason = why_not_restartable(workload.owner.kind, mesh.controllers.get(workload.owner))
        if workload.owner.namespace in scope and reason:
            staying.setdefault(reason, []).append(str(workload.owner))
    for reason, names in staying.items():
        yield Finding(
            "workload-will-not-move",
            WARNING,
            names[0],
            f"{counted(len(names), 'workload')} will stay on the old revision, which cleanup then keeps: {some(sorted(names))}: {reason}.",
            "Plan who replaces these pods, and when.",
        )


def _interrupted(mesh: Mesh, scope: Sequence[str]) -> Iterator[Finding]:
    """Workloads of which for a moment no pod is left."""
    names = [
        str(workload.owner)
        for workload in mesh.workloads
        if workload.owner.namespace in scope and _stops_first(workload.owner.kind, mesh.controllers.get(workload.owner))
    ]
    if names:
        yield Finding(
            "restart-interrupts",
            WARNING,
            names[0],
            f"{counted(len(names), 'workload')} with one pod, or with the strategy Recreate, stop before they start again: "
            f"{some(sorted(names))}.",
            "Give them a second replica or a surge for the time of the upgrade, or choose its time.",
        )


def _stops_first(kind: str, controller: Object | None) -> bool:
    spec = (controller or {}).get("spec") or {}
    if kind == "StatefulSet":
        return bool(spec.get("replicas", 1) == 1)
    strategy = spec.get("strategy") or {}
    surge = str((strategy.get("rollingUpdate") or {}).get("maxSurge", "25%"))
    return kind == "Deployment" and (strategy.get("type") == "Recreate" or (spec.get("replicas", 1) == 1 and surge in ("0", "0%")))
