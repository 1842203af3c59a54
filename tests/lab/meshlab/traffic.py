# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Clients in the mesh that send a steady stream of requests and count every failure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from meshlab import sandbox
from meshlab.errors import LabError
from meshlab.paths import Paths

LABEL = "meshlab/traffic"
READY_WITHIN = 180
"""Seconds a client may take to become ready."""


@dataclass(frozen=True)
class Clients:
    """A Deployment of clients. `rate` is in requests per second and client."""

    namespace: str
    name: str
    targets: tuple[str, ...]
    rate: float
    count: int


def start(paths: Paths, clients: Clients) -> None:
    """Deploy the clients and wait until all of them are ready. Says so when they are not meshed."""
    for target in clients.targets:
        if not target.startswith("http://"):
            raise LabError(f'traffic target "{target}" is not a URL like http://SERVICE.NAMESPACE:PORT/')
    _kubectl(paths, "apply", "--filename=-", text=json.dumps(_deployment(clients)))
    _kubectl(paths, "--namespace", clients.namespace, "rollout", "status", f"deployment/{clients.name}", f"--timeout={READY_WITHIN}s")
    pods = json.loads(_kubectl(paths, "--namespace", clients.namespace, "get", "pods", f"--selector=app={clients.name}", "--output=json"))
    bare = [pod["metadata"]["name"] for pod in pods["items"] if "sidecar.istio.io/status" not in pod["metadata"].get("annotations", {})]
    if bare:
        print(f"Note: {', '.join(bare)} has no sidecar, as the labels of namespace {clients.namespace} want it.")
    print(f"{clients.count} x {clients.rate:g} requests/s from {clients.namespace}/{clients.name} to {', '.join(clients.targets)}")


def stop(paths: Paths, namespace: str | None = None) -> None:
    """Remove the clients, of one namespace or of all, and wait until they have finished their last requests."""
    where = ["--namespace", namespace] if namespace else ["--all-namespaces"]
    _kubectl(paths, "delete", "deployments", *where, f"--selector={LABEL}", "--cascade=foreground", "--wait", f"--timeout={READY_WITHIN}s")


def report(paths: Paths) -> dict[str, Any]:
    """{"sent", "failed", "errors": {reason: n}, "clients"}: the sum over every client since the lab was reset."""
    files = sorted(paths.traffic.glob("*.json"))
    sums: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    for file in files:
        counted = json.loads(file.read_text())
        sums.update({key: counted.get(key, 0) for key in ("sent", "failed")})
        errors.update(counted.get("errors") or {})
    return {"sent": sums["sent"], "failed": sums["failed"], "errors": dict(errors.most_common()), "clients": len(files)}


def as_text(counted: dict[str, Any]) -> str:
    """For people."""
    lines = [f"{counted['sent']} requests sent by {counted['clients']} clients, {counted['failed']} failed"]
    lines += [f"  {number} x {reason}" for reason, number in counted["errors"].items()]
    return "\n".join(lines)


def _deployment(clients: Clients) -> dict[str, Any]:
    container = {
        "name": "traffic",
        "image": "meshlab/traffic",
        "env": [
            {"name": "TARGETS", "value": ",".join(clients.targets)},
            {"name": "RATE", "value": f"{clients.rate:g}"},
        ],
        "ports": [{"containerPort": 8080}],
        "readinessProbe": {"httpGet": {"path": "/", "port": 8080}, "periodSeconds": 1},
        "resources": {"requests": {"cpu": "10m", "memory": "20Mi"}},
    }
    labels = {"app": clients.name, LABEL: clients.name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": clients.name, "namespace": clients.namespace, "labels": labels},
        "spec": {
            "replicas": clients.count,
            "selector": {"matchLabels": {"app": clients.name}},
            "strategy": {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def _kubectl(paths: Paths, *arguments: str, text: str = "") -> str:
    answer = sandbox.run_inside(paths, ["kubectl", *arguments], text)
    if answer.returncode != 0:
        raise LabError(f"kubectl {_verb(arguments)} failed: {answer.stderr.strip()}")
    return answer.stdout


def _verb(arguments: Sequence[str]) -> str:
    return " ".join(word for word in arguments if not word.startswith("--"))
