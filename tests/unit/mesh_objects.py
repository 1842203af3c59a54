# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""A small mesh of raw Kubernetes objects, told in a few lines. Written from the istiod chart, not from the code under test."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from ansible_collections.meshops.istio.plugins.module_utils.mesh.snapshot import Mesh

Object = dict[str, Any]

REV, INJECTION, INJECT, TAG = "istio.io/rev", "istio-injection", "sidecar.istio.io/inject", "istio.io/tag"
OPERATOR_LABELS = {
    "operator.istio.io/component": "Pilot",
    "install.operator.istio.io/owning-resource": "unknown",
    "install.operator.istio.io/owning-resource-namespace": "istio-system",
}
NOUNS = ("mutating", "validating", "namespaces", "services", "endpoint_slices", "config_maps", "istiod_deployments")
NOUNS_OF_APPS = ("pods", "replica_sets", "workloads")


def suffixed(name: str, revision: str) -> str:
    return name if revision == "default" else f"{name}-{revision}"


def thing(api_version: str, kind: str, name: str, namespace: str = "", labels: Mapping[str, str] | None = None, **rest: Any) -> Object:
    metadata: Object = {"name": name, "labels": dict(labels or {}), "resourceVersion": "1", "uid": f"uid-{kind}-{namespace}-{name}"}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **rest}


def selector(*conditions: str) -> Object:
    """A LabelSelector from words: "key in value", "key notin value", "key" (exists), "!key"."""
    expressions = []
    for condition in conditions:
        key, _blank, rest = condition.partition(" ")
        operator, _blank, value = rest.partition(" ")
        if operator:
            expressions.append({"key": key, "operator": {"in": "In", "notin": "NotIn"}[operator], "values": [value]})
        else:
            expressions.append({"key": key.lstrip("!"), "operator": "DoesNotExist" if key.startswith("!") else "Exists"})
    return {"matchExpressions": expressions}


def entries(
    name: str, revision: str, *, auto: bool = False, ca_bundle: str = "Q0E=", istio_namespace: str = "istio-system"
) -> list[Object]:
    """The webhook entries that act on the name of a revision or tag; "default" serves istio-injection too."""
    rows = [
        ("rev.namespace", [f"{REV} in {name}", f"!{INJECTION}"], [f"{INJECT} notin false"]),
        ("rev.object", [f"!{REV}", f"!{INJECTION}"], [f"{INJECT} notin false", f"{REV} in {name}"]),
    ]
    if name == "default":
        rows += [
            ("namespace", [f"{INJECTION} in enabled"], [f"{INJECT} notin false"]),
            ("object", [f"!{INJECTION}", f"!{REV}"], [f"{INJECT} in true", f"!{REV}"]),
        ]
        if auto:
            rows.append(("auto", [f"!{INJECTION}", f"!{REV}"], [f"!{INJECT}", f"!{REV}"]))
    service = {"namespace": istio_namespace, "name": suffixed("istiod", revision), "path": "/inject", "port": 443}
    return [
        {
            "name": f"{prefix}.sidecar-injector.istio.io",
            "clientConfig": {"service": service, **({"caBundle": ca_bundle} if ca_bundle else {})},
            "namespaceSelector": selector(*namespaces),
            "objectSelector": selector(*objects),
            "failurePolicy": "Fail",
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"], "scope": "*"}],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        for prefix, namespaces, objects in rows
    ]


def webhook(name: str, revision: str, served: str, *, tag: str | None = None, **options: Any) -> Object:
    """A MutatingWebhookConfiguration that acts on "served"."""
    labels = {"app": "sidecar-injector", REV: revision, **OPERATOR_LABELS, **({TAG: tag} if tag else {})}
    return thing(
        "admissionregistration.k8s.io/v1",
        "MutatingWebhookConfiguration",
        name,
        labels=labels,
        webhooks=entries(served, revision, **options),
    )


def deactivated(configuration: Object) -> Object:
    """As istioctl switches an injector off."""
    configuration = deepcopy(configuration)
    for entry in configuration["webhooks"]:
        for part in ("namespaceSelector", "objectSelector"):
            entry[part] = {"matchLabels": {"istio.io/deactivated": "never-match"}}
    return configuration


def validator(name: str, revision: str, entry: str = "rev.validation.istio.io", **labels: str) -> Object:
    client = {"service": {"namespace": "istio-system", "name": suffixed("istiod", revision), "path": "/validate"}, "caBundle": "Q0E="}
    objects = selector(f"{REV} in {revision}" if entry.startswith("rev.") else f"!{REV}")
    webhooks = [{"name": entry, "clientConfig": client, "failurePolicy": "Fail", "objectSelector": objects}]
    return thing(
        "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", name, labels={REV: revision, **labels}, webhooks=webhooks
    )


def pod(
    namespace: str,
    name: str,
    revision: str | None,
    *,
    owner: tuple[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    terminating: bool = False,
    waiting: str = "",
    restarts: int = 9,
    router: bool = False,
) -> Object:
    """A pod; with a revision it has a proxy."""
    found = thing("v1", "Pod", name, namespace, labels)
    stamps = {REV: revision, "sidecar.istio.io/status": f'{{"revision": "{revision}"}}'} if revision else {}
    found["metadata"]["annotations"] = {**stamps, **(annotations or {})}
    if owner:
        found["metadata"]["ownerReferences"] = [{"kind": owner[0], "name": owner[1], "controller": True}]
    if terminating:
        found["metadata"]["deletionTimestamp"] = "2026-11-30T20:00:00Z"
    proxy = {"name": "istio-proxy", **({"args": ["proxy", "router"]} if router else {})}
    found["spec"] = {"containers": [{"name": "app"}, *([proxy] if revision else [])], "initContainers": []}
    state = {"waiting": {"reason": waiting}} if waiting else {"running": {}}
    found["status"] = {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "False" if waiting or terminating else "True"}],
        "containerStatuses": [{"name": "app", "restartCount": restarts if waiting else 0, "state": state}],
    }
    return found


def workload(kind: str, namespace: str, name: str, pods: int = 1, **spec: Any) -> Object:
    """A Deployment, StatefulSet or DaemonSet whose rollout is complete."""
    found = thing("apps/v1", kind, name, namespace)
    found["metadata"]["generation"] = 1
    found["spec"] = {"replicas": pods, "template": {"metadata": {"labels": {"app": name}}}, **spec}
    if kind == "DaemonSet":
        counts = {"desiredNumberScheduled": pods, "updatedNumberScheduled": pods, "numberAvailable": pods}
    else:
        counts = {"replicas": pods, "updatedReplicas": pods, "readyReplicas": pods, "availableReplicas": pods}
    found["status"] = {"observedGeneration": 1, **counts}
    return found


class World:
    """The raw lists that a cluster would give. Everything in them may be changed by a test before it asks for the mesh."""

    def __init__(self, *revisions: str) -> None:
        self.raw: dict[str, list[Object]] = {noun: [] for noun in NOUNS + NOUNS_OF_APPS}
        self.namespace("istio-system")
        for name in revisions:
            self.revision(name)

    def mesh(self) -> Mesh:
        return Mesh(deepcopy(self.raw))

    def find(self, noun: str, name: str) -> Object:
        return next(found for found in self.raw[noun] if found["metadata"]["name"] == name)

    def revision(self, name: str, *, alive: bool = True, version: str = "1.30.3") -> World:
        """A control plane of an istioctl install: Deployment, Service, endpoints, injector and validator."""
        istiod = suffixed("istiod", name)
        labels = {"app": "istiod", REV: name, **OPERATOR_LABELS}
        found = thing("apps/v1", "Deployment", istiod, "istio-system", labels)
        found["metadata"]["generation"] = 3
        found["spec"] = {"template": {"spec": {"containers": [{"name": "discovery", "image": f"docker.io/istio/pilot:{version}"}]}}}
        available = {"type": "Available", "status": "True" if alive else "False", "message": "Deployment has minimum availability."}
        found["status"] = {"observedGeneration": 3, "conditions": [available]}
        self.raw["istiod_deployments"].append(found)
        ports = [{"name": "https-webhook", "port": 443, "targetPort": 15017, "nodePort": 30443}]
        spec = {"ports": ports, "selector": {"app": "istiod", REV: name}, "clusterIP": "10.0.0.1"}
        self.raw["services"].append(thing("v1", "Service", istiod, "istio-system", {"istio": "pilot", **labels}, spec=spec))
        self.endpoints(istiod, ready=alive)
        self.injection_config(name)
        self.raw["mutating"].append(webhook(suffixed("istio-sidecar-injector", name), name, name))
        self.raw["validating"].append(validator(f"{suffixed('istio-validator', name)}-istio-system", name))
        return self

    def injection_config(self, revision: str, **settings: Any) -> World:
        """What the istiod of a revision decides by itself, in place of what was set before; JSON is YAML too."""
        name = suffixed("istio-sidecar-injector", revision)
        config = {"policy": "enabled", "templates": {"sidecar": "", "gateway": ""}, "aliases": {}, **settings}
        self.raw["config_maps"] = [found for found in self.raw["config_maps"] if found["metadata"]["name"] != name]
        data = {"config": json.dumps(config), "values": "{}"}
        self.raw["config_maps"].append(thing("v1", "ConfigMap", name, "istio-system", {REV: revision, **OPERATOR_LABELS}, data=data))
        return self

    def endpoints(self, service: str, *, ready: bool) -> World:
        found = thing("discovery.k8s.io/v1", "EndpointSlice", f"{service}-abc", "istio-system", {"kubernetes.io/service-name": service})
        found["endpoints"] = [{"addresses": ["10.1.0.1"], "conditions": {"ready": ready}}]
        self.raw["endpoint_slices"].append(found)
        return self

    def kill(self, revision: str) -> World:
        """Its istiod has no ready pod any more."""
        self.find("endpoint_slices", f"{suffixed('istiod', revision)}-abc")["endpoints"][0]["conditions"]["ready"] = False
        self.find("istiod_deployments", suffixed("istiod", revision))["status"]["conditions"][0]["status"] = "False"
        return self

    def tag(self, name: str, revision: str, *, service: str | None = "") -> World:
        """A tag of the chart (with operator labels); its Service may name another revision, or be absent (None)."""
        self.raw["mutating"].append(webhook(f"istio-revision-tag-{name}", revision, name, tag=name))
        if service is not None:
            named = service or revision
            labels = {"app": "istiod", "istio": "pilot", REV: named, TAG: name, **OPERATOR_LABELS}
            spec = {"ports": [{"port": 443}], "selector": {"app": "istiod", REV: named}, "clusterIP": "10.0.0.2"}
            self.raw["services"].append(thing("v1", "Service", f"istiod-revision-tag-{name}", "istio-system", labels, spec=spec))
        return self

    def default_validator(self, revision: str, **labels: str) -> World:
        self.raw["validating"].append(validator("istiod-default-validator", revision, "validation.istio.io", **labels))
        return self

    def namespace(self, name: str, labels: Mapping[str, str] | None = None) -> World:
        labels = {"kubernetes.io/metadata.name": name, **(labels or {})}
        self.raw["namespaces"].append(thing("v1", "Namespace", name, labels=labels))
        return self

    def app(self, namespace: str, name: str, *revisions: str, kind: str = "Deployment", labels: Mapping[str, str] | None = None) -> World:
        """A workload with one pod for each revision given."""
        self.raw["workloads"].append(workload(kind, namespace, name, len(revisions)))
        owner = (kind, name)
        if kind == "Deployment":
            owner = ("ReplicaSet", f"{name}-7d9c")
            replica_set = thing("apps/v1", "ReplicaSet", owner[1], namespace)
            replica_set["metadata"]["ownerReferences"] = [{"kind": "Deployment", "name": name, "controller": True}]
            self.raw["replica_sets"].append(replica_set)
        for number, revision in enumerate(revisions):
            self.raw["pods"].append(pod(namespace, f"{name}-{number}", revision, owner=owner, labels={"app": name, **(labels or {})}))
        return self


def healthy_world() -> World:
    """Two revisions, a tag and a default tag at the first, three namespaces that use them, all pods current."""
    world = World("stable", "canary").tag("prod", "stable").tag("default", "stable").default_validator("stable", **{TAG: "default"})
    world.namespace("shop", {REV: "prod"}).app("shop", "web", "stable", "stable").app("shop", "db", "stable", kind="StatefulSet")
    world.namespace("pay", {INJECTION: "enabled"}).app("pay", "api", "stable").app("pay", "agent", "stable", kind="DaemonSet")
    world.namespace("lab", {REV: "canary"}).app("lab", "try", "canary")
    return world
