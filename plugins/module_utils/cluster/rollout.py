# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reading what an istiod Deployment is made of, to see why it is not ready."""

from __future__ import annotations

from ..mesh.names import ISTIOD_SELECTOR, REVISION_LABEL, istiod_name
from ..mesh.readiness import Diagnosis, diagnose
from .client import Cluster
from .errors import Forbidden
from .paths import DEPLOYMENTS, EVENTS, PODS, REPLICA_SETS


def why_not_ready(cluster: Cluster, namespace: str, revision: str) -> Diagnosis | None:
    """What keeps the istiod of a revision from being ready, None when nothing can be seen or the user may not look."""
    selector = f"{ISTIOD_SELECTOR},{REVISION_LABEL}={revision}"
    try:
        return diagnose(
            cluster.get(DEPLOYMENTS(namespace, istiod_name(revision))),
            cluster.list(REPLICA_SETS(namespace), label_selector=selector),
            cluster.list(PODS(namespace), label_selector=selector),
            cluster.list(EVENTS(namespace), field_selector="involvedObject.kind=Pod"),
        )
    except Forbidden:
        return None
