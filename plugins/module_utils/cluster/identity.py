# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which cluster this is."""

from __future__ import annotations

from typing import Any

from ..mesh.refusal import Refusal
from .client import Cluster
from .paths import NAMESPACES, VERSION

CLUSTER_ID_NAMESPACE = "kube-system"
"""The namespace whose UID tells clusters apart: it is made with the cluster, and cannot be deleted."""


def identity_of(cluster: Cluster) -> dict[str, Any]:
    """Which cluster it is: the UID of the namespace kube-system, None when it may not be read, and its version."""
    home = cluster.get(NAMESPACES(name=CLUSTER_ID_NAMESPACE)) or {"metadata": {}}
    version = cluster.get(VERSION) or {}
    return {"uid": home["metadata"].get("uid"), "kubernetes_version": version.get("gitVersion")}


def refuse_another_cluster(identity: dict[str, Any], expected_uid: str) -> None:
    """Stop before anything is done to the wrong cluster.

    Raises:
        Refusal: it is another one than expected.
    """
    if identity["uid"] != expected_uid:
        raise Refusal(
            f"this is another cluster than the expected one: the namespace {CLUSTER_ID_NAMESPACE} has the UID {identity['uid']}, not "
            f"{expected_uid}. Nothing was done. Look at kubeconfig and context, or correct the expected UID."
        )
