# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Asking the API server what a pod born now would become, without making one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .client import Cluster, Object
from .errors import ClusterError, Forbidden
from .paths import PODS

REFUSALS = frozenset({400, 403, 422, 500})
"""Admission says no with these: a webhook's denial (any 4xx, mostly 400 and 403), Pod Security and quota (403), an invalid result of a
webhook (422), a webhook that cannot be called (500)."""


@dataclass(frozen=True)
class Birth:
    """The API server's answer: the pod as it would be stored, or why it would not be. Exactly one of the two is there."""

    pod: Object | None = None
    refusal: str = ""


def dry_run_pod(
    cluster: Cluster,
    namespace: str,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    *,
    host_network: bool = False,
) -> Birth:
    """What a small pod with these labels would become in a namespace; nothing is stored, and no webhook with side effects is called.

    Raises:
        ClusterError: the question could not be asked: no permission to create pods there, no such namespace, no answer.
    """
    try:
        return Birth(pod=cluster.create(PODS(namespace), _pod(labels or {}, annotations or {}, host_network), dry_run=True))
    except Forbidden:
        raise
    except ClusterError as error:
        if error.status not in REFUSALS:
            raise
        return Birth(refusal=error.detail or str(error))


def dry_run_pod_if_allowed(cluster: Cluster, namespace: str, labels: Mapping[str, str] | None = None) -> Birth | None:
    """The same, None when the user may not create pods there: nothing is proved then, and nothing is wrong.

    Raises:
        ClusterError: the question could not be asked for another reason.
    """
    try:
        return dry_run_pod(cluster, namespace, labels)
    except Forbidden:
        return None


def _pod(labels: Mapping[str, str], annotations: Mapping[str, str], host_network: bool) -> dict[str, Any]:
    """A pod that Pod Security "restricted", quotas on resources and most policies let pass."""
    resources = {"cpu": "10m", "memory": "16Mi"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": "meshops-dry-run-", "labels": dict(labels), "annotations": dict(annotations)},
        "spec": {
            "automountServiceAccountToken": False,
            "hostNetwork": host_network,
            "securityContext": {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [
                {
                    "name": "dry-run",
                    "image": "registry.k8s.io/pause:3.10",
                    "resources": {"requests": resources, "limits": resources},
                    "securityContext": {
                        "allowPrivilegeEscalation": False,
                        "capabilities": {"drop": ["ALL"]},
                        "readOnlyRootFilesystem": True,
                    },
                }
            ],
        },
    }
