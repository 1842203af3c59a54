# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reading what limits new pods."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..mesh.room import Room
from .client import Cluster, Object, Objects
from .errors import Forbidden
from .paths import DISRUPTION_BUDGETS, NODES, PODS, RESOURCE_QUOTAS, Resource
from .read import without_managed_fields


def read_room(cluster: Cluster, namespaces: Sequence[str]) -> Room:
    """Nodes and pods of the cluster, quotas and budgets of some namespaces; what the user may not read is unseen.

    Raises:
        ClusterError: something could not be read for another reason.
    """
    unseen: list[str] = []

    def seen(resource: Resource, trim: Callable[[Object], Object] = without_managed_fields) -> Objects:
        try:
            return cluster.list(resource(), trim=trim)
        except Forbidden as error:
            unseen.append(str(error))
            return []

    def in_scope(resource: Resource) -> Objects:
        return [thing for thing in seen(resource) if thing["metadata"]["namespace"] in namespaces]

    return Room(seen(NODES, _trim_node), seen(PODS, _trim_pod), in_scope(RESOURCE_QUOTAS), in_scope(DISRUPTION_BUDGETS), unseen)


def _trim_node(node: Object) -> Object:
    status = node.get("status") or {}
    return {
        "metadata": {"name": node["metadata"]["name"]},
        "spec": {"unschedulable": (node.get("spec") or {}).get("unschedulable")},
        "status": {"allocatable": status.get("allocatable"), "conditions": status.get("conditions")},
    }


def _trim_pod(pod: Object) -> Object:
    spec = pod["spec"]
    return {
        "metadata": {key: pod["metadata"][key] for key in ("namespace", "name")},
        "spec": {
            "nodeName": spec.get("nodeName"),
            "containers": [_trim_container(part) for part in spec.get("containers") or ()],
            "initContainers": [_trim_container(part) for part in spec.get("initContainers") or ()],
        },
        "status": {"phase": (pod.get("status") or {}).get("phase")},
    }


def _trim_container(container: Object) -> Object:
    return {"restartPolicy": container.get("restartPolicy"), "resources": {"requests": (container.get("resources") or {}).get("requests")}}
