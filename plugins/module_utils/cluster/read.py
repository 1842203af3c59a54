# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""One look at everything the core computes on, as lists of the API server's own JSON by noun."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from ..mesh.injectors import is_injecting_entry
from ..mesh.managers import LAST_APPLIED_ANNOTATION, owned_labels
from ..mesh.names import ISTIO_DOMAIN, ISTIOD_SELECTOR, PROXY_CONTAINER
from ..mesh.validators import is_validating_entry
from .client import Cluster, Object, Objects
from .paths import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    ENDPOINT_SLICES,
    MUTATING_WEBHOOKS,
    NAMESPACES,
    PODS,
    REPLICA_SETS,
    SERVICES,
    VALIDATING_WEBHOOKS,
    WORKLOADS,
)

CONTAINERS = ("containers", "initContainers")
LOOKS = 4096
"""How many different labels, containers and so on are remembered, to be one object for all pods that have them."""

Raw = dict[str, Objects]
"""Noun → objects, the input of mesh.snapshot.Mesh."""


def read_control_plane(cluster: Cluster, istio_namespace: str) -> Raw:
    """Webhook configurations, namespaces, and what lives where istiods live: the istio namespace and those that webhooks point into.

    Nouns: mutating, validating, namespaces, services, endpoint_slices, config_maps, istiod_deployments.
    """
    mutating = cluster.list(MUTATING_WEBHOOKS(), trim=without_managed_fields)
    validating = cluster.list(VALIDATING_WEBHOOKS(), trim=without_managed_fields)
    homes = sorted(
        {istio_namespace} | _called_namespaces(mutating, is_injecting_entry) | _called_namespaces(validating, is_validating_entry)
    )
    return {
        "mutating": mutating,
        "validating": validating,
        "namespaces": cluster.list(NAMESPACES(), trim=trim_namespace),
        "services": _each(cluster, homes, SERVICES),
        "endpoint_slices": _each(cluster, homes, ENDPOINT_SLICES),
        "config_maps": _each(cluster, homes, CONFIG_MAPS),
        "istiod_deployments": _each(cluster, homes, DEPLOYMENTS, label_selector=ISTIOD_SELECTOR),
    }


def read_mesh(cluster: Cluster, istio_namespace: str) -> Raw:
    """The control planes, and everything they inject.

    Nouns: those of read_control_plane, and pods (trimmed to what is judged), replica_sets (metadata), workloads (metadata, and of spec
    and status what says how a rollout stands).
    """
    return {
        **read_control_plane(cluster, istio_namespace),
        "pods": cluster.list(PODS(), trim=trim_pod),
        "replica_sets": cluster.list(REPLICA_SETS(), metadata_only=True, trim=trim_replica_set),
        "workloads": [workload for kind in WORKLOADS for workload in cluster.list(kind(), trim=trim_workload)],
    }


def read_templates(cluster: Cluster, namespaces: Iterable[str] | None) -> Objects:
    """Every Deployment, StatefulSet and DaemonSet of some namespaces, or of all (None), with its whole pod template."""
    places = [""] if namespaces is None else sorted(set(namespaces))
    return [found for namespace in places for kind in WORKLOADS for found in cluster.list(kind(namespace), trim=_trim_template)]


def _trim_template(workload: Object) -> Object:
    return {**_head(workload), "spec": _some(workload["spec"], "selector", "template")}


def read_proxies(cluster: Cluster, namespace: str) -> Objects:
    """The pods of a namespace, with everything about their proxies and nothing about other containers."""
    return cluster.list(PODS(namespace), trim=_trim_to_proxy)


def _trim_to_proxy(pod: Object) -> Object:
    kept = {
        place: [container for container in pod["spec"].get(place) or () if container.get("name") == PROXY_CONTAINER] for place in CONTAINERS
    }
    return {**_head(pod), "spec": kept}


def _called_namespaces(configurations: Iterable[Object], is_istio: Callable[[Object], bool]) -> set[str]:
    """Where the Services of Istio's webhooks are; webhooks of others do not matter."""
    return {
        webhook["clientConfig"]["service"]["namespace"]
        for configuration in configurations
        for webhook in configuration.get("webhooks") or ()
        if is_istio(webhook) and webhook.get("clientConfig", {}).get("service")
    }


def _each(cluster: Cluster, namespaces: Iterable[str], resource: Any, label_selector: str = "") -> Objects:
    return [
        found
        for namespace in namespaces
        for found in cluster.list(resource(namespace), label_selector=label_selector, trim=without_managed_fields)
    ]


def without_managed_fields(thing: Object) -> Object:
    """The object without the record of who set which field, often half of its size."""
    thing["metadata"].pop("managedFields", None)
    return thing


def trim_namespace(namespace: Object) -> Object:
    """The namespace with the record of who set its injection labels, and of no other field."""
    metadata = namespace["metadata"]
    metadata["managedFields"] = [
        {
            **_some(entry, "manager", "operation", "time"),
            "fieldsV1": {"f:metadata": {"f:labels": {f"f:{label}": {} for label in owned_labels(entry)}}},
        }
        for entry in metadata.get("managedFields") or ()
        if owned_labels(entry)
    ]
    return namespace


def trim_pod(pod: Object) -> Object:
    """Of a pod, what says who owns it, who injected it and how it is; not to be written to.

    A mesh has thousands of pods: what is left takes a tenth of the room, and parts that look the same are one object for all of them.
    """
    metadata, spec, status = pod["metadata"], pod["spec"], pod.get("status") or {}
    annotations = {key: value for key, value in (metadata.get("annotations") or {}).items() if ISTIO_DOMAIN in key}
    return {
        **_some(pod, "apiVersion", "kind"),
        "metadata": {
            **_some(metadata, "name", "namespace", "deletionTimestamp"),
            "labels": _shared(metadata.get("labels") or {}),
            "annotations": _shared(annotations),
            "ownerReferences": [_shared(_some(owner, "kind", "name", "controller")) for owner in metadata.get("ownerReferences") or ()],
        },
        "spec": {"hostNetwork": bool(spec.get("hostNetwork")), **{place: _proxies_of(spec, place) for place in CONTAINERS}},
        "status": {
            **_some(status, "phase"),
            "conditions": [_shared(_some(part, "type", "status")) for part in status.get("conditions") or () if part["type"] == "Ready"],
            **{place: [_trim_status(part) for part in status.get(place) or ()] for place in ("containerStatuses", "initContainerStatuses")},
        },
    }


def _proxies_of(spec: Object, place: str) -> Objects:
    return [
        _proxy(part["name"], part.get("image"), tuple(part.get("args") or ()))
        for part in spec.get(place) or ()
        if part.get("name") == PROXY_CONTAINER
    ]


def _trim_status(part: Object) -> Object:
    """How a container is: that it runs, or why it does not."""
    state = part.get("state") or {}
    how = next(iter(state), "")
    return _status(part["name"], part.get("restartCount", 0), how, (state.get(how) or {}).get("reason"))


def _shared(flat: Object) -> Object:
    return _dict(tuple(flat.items()))


@lru_cache(LOOKS)
def _dict(items: tuple[tuple[str, Any], ...]) -> Object:
    return dict(items)


@lru_cache(LOOKS)
def _proxy(name: str, image: str | None, args: tuple[str, ...]) -> Object:
    return {"name": name, "image": image, "args": list(args)}


@lru_cache(LOOKS)
def _status(name: str, restarts: int, how: str, reason: str | None) -> Object:
    return {"name": name, "restartCount": restarts, "state": {how: {"reason": reason}} if how else {}}


def trim_replica_set(replica_set: Object) -> Object:
    """Of a ReplicaSet, whose it is, and for which revision its pods are labelled."""
    metadata = replica_set["metadata"]
    return {**_some(replica_set, "apiVersion", "kind"), "metadata": _some(metadata, "name", "namespace", "labels", "ownerReferences")}


def trim_workload(workload: Object) -> Object:
    """Of a Deployment, StatefulSet or DaemonSet, what says how a rollout stands and what its pods are labelled with."""
    spec = workload["spec"]
    (workload["metadata"].get("annotations") or {}).pop(LAST_APPLIED_ANNOTATION, None)
    return {
        **_head(workload),
        "spec": {
            **_some(spec, "replicas", "strategy", "updateStrategy", "podManagementPolicy", "paused", "minReadySeconds", "selector"),
            "template": {"metadata": _some(spec["template"].get("metadata") or {}, "labels", "annotations")},
        },
        "status": workload.get("status") or {},
    }


def _head(thing: Object) -> Object:
    return {"apiVersion": thing.get("apiVersion"), "kind": thing.get("kind"), "metadata": without_managed_fields(thing)["metadata"]}


def _some(thing: Object, *names: str) -> Object:
    return {name: thing[name] for name in names if name in thing}
