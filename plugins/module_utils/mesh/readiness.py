# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Why an istiod is not ready: the object at fault, found by walking from its Deployment down to pods and events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .workloads import trouble_of

Object = Mapping[str, Any]


@dataclass(frozen=True)
class Diagnosis:
    """What is wrong, and whether waiting cannot help: only where a pod itself says so, because controllers go on trying for long."""

    reason: str
    hopeless: bool


def diagnose(
    deployment: Object | None, replica_sets: Iterable[Object], pods: Sequence[Object], events: Iterable[Object]
) -> Diagnosis | None:
    """The deepest cause that can be seen, None when nothing is.

    Args:
        deployment: of the istiod, None when there is none.
        replica_sets: those of it.
        pods: those of it.
        events: of the same namespace.
    """
    if deployment is None:
        return None
    warnings = [event for event in events if event.get("type") == "Warning"]
    found = [*_pods(pods, warnings), *_replica_sets(replica_sets), *_deployment(deployment)]
    return next((diagnosis for diagnosis in found if diagnosis.hopeless), found[0] if found else None)


def _pods(pods: Sequence[Object], warnings: Sequence[Object]) -> Iterator[Diagnosis]:
    for pod in pods:
        name = f"pod {pod['metadata']['name']}"
        trouble = trouble_of(pod)
        if trouble:
            yield Diagnosis(f"{name}: {trouble}{_detail(pod)}", hopeless=True)
            continue
        conditions = {part["type"]: part for part in (pod.get("status") or {}).get("conditions") or ()}
        scheduled = conditions.get("PodScheduled", {})
        if scheduled.get("status") == "False":
            yield Diagnosis(f"{name} finds no node: {scheduled.get('message', 'no reason is given')}", hopeless=False)
        elif conditions.get("Ready", {}).get("status") != "True":
            told = [event["message"] for event in warnings if (event.get("involvedObject") or {}).get("name") == pod["metadata"]["name"]]
            yield Diagnosis(f"{name} is not ready{': ' + told[-1] if told else ''}", hopeless=False)


def _detail(pod: Object) -> str:
    """What a container says about its end, or about what it waits for."""
    status = pod.get("status") or {}
    for part in [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]:
        ended = (part.get("lastState") or {}).get("terminated") or {}
        waiting = (part.get("state") or {}).get("waiting") or {}
        if ended:
            return f", it ended with {ended.get('exitCode')} {ended.get('message') or ended.get('reason') or ''}".rstrip()
        if waiting.get("message"):
            return f" ({waiting['message']})"
    return ""


def _replica_sets(replica_sets: Iterable[Object]) -> Iterator[Diagnosis]:
    for replica_set in replica_sets:
        for part in (replica_set.get("status") or {}).get("conditions") or ():
            if part["type"] == "ReplicaFailure" and part["status"] == "True":
                yield Diagnosis(f"ReplicaSet {replica_set['metadata']['name']} cannot create pods: {part.get('message')}", hopeless=False)


def _deployment(deployment: Object) -> Iterator[Diagnosis]:
    for part in (deployment.get("status") or {}).get("conditions") or ():
        if part["type"] == "Progressing" and part["status"] == "False":
            yield Diagnosis(f"Deployment {deployment['metadata']['name']}: {part.get('message', 'it does not progress')}", hopeless=False)
