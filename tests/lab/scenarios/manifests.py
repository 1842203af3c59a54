# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The objects that scenarios create."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Manifest = dict[str, Any]

PORT = 8080


def namespace(name: str, labels: Mapping[str, str]) -> Manifest:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": dict(labels)}}


def workload(name: str, space: str, labels: Mapping[str, str]) -> list[Manifest]:
    """A Deployment of the lab's small HTTP application and its Service; the labels go to the pods."""
    own = {"app": name, **labels}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": space},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "strategy": {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}},
            "template": {"metadata": {"labels": own}, "spec": pod_spec()},
        },
    }
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": space},
        "spec": {"selector": {"app": name}, "ports": [{"name": "http", "port": 80, "targetPort": PORT}]},
    }
    return [deployment, service]


def pod(name: str, space: str, labels: Mapping[str, str]) -> Manifest:
    metadata = {"name": name, "namespace": space, "labels": {"app": name, **labels}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod_spec()}


def pod_spec() -> Manifest:
    container = {
        "name": "app",
        "image": "meshlab/app",
        "ports": [{"containerPort": PORT}],
        "readinessProbe": {"httpGet": {"path": "/", "port": PORT}, "periodSeconds": 1},
        "resources": {"requests": {"cpu": "10m", "memory": "20Mi"}},
    }
    return {"containers": [container], "terminationGracePeriodSeconds": 10}


def strict_mtls(istio_namespace: str) -> Manifest:
    """Only proxies are answered, in the whole mesh."""
    metadata = {"name": "default", "namespace": istio_namespace}
    return {"apiVersion": "security.istio.io/v1", "kind": "PeerAuthentication", "metadata": metadata, "spec": {"mtls": {"mode": "STRICT"}}}


def virtual_service(name: str, space: str) -> Manifest:
    """Istio configuration that says what would happen without it."""
    route = {"route": [{"destination": {"host": f"{name}.{space}.svc.cluster.local"}}]}
    spec = {"hosts": [f"{name}.{space}.svc.cluster.local"], "http": [route]}
    metadata = {"name": name, "namespace": space}
    return {"apiVersion": "networking.istio.io/v1", "kind": "VirtualService", "metadata": metadata, "spec": spec}
