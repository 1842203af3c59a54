# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Asking the API server what the user may do, without doing it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..mesh.permissions import EVERYWHERE, ISTIO, Missing, Right
from .client import Cluster
from .parallel import in_parallel

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


def missing_rights(cluster: Cluster, rights: Iterable[Right], istio_namespace: str, namespaces: Sequence[str]) -> list[Missing]:
    """The rights that the user does not have, by SelfSubjectAccessReview, which everybody may create.

    A right for many namespaces is first asked for in all of them at once.

    Raises:
        ClusterError: the question could not be asked.
    """

    def ask(right: Right) -> Missing | None:
        if _may(cluster, right, ""):
            return None
        if right.place == EVERYWHERE:
            return Missing(right)
        places = [istio_namespace] if right.place == ISTIO else namespaces
        lacking = tuple(namespace for namespace in places if not _may(cluster, right, namespace))
        return Missing(right, lacking) if lacking else None

    return [found for found in in_parallel(ask, rights) if found]


def _may(cluster: Cluster, right: Right, namespace: str) -> bool:
    resource, _slash, sub = right.resource.partition("/")
    attributes = {"verb": right.verb, "group": right.group, "resource": resource, "subresource": sub, "namespace": namespace}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": attributes}}
    return bool(cluster.create(REVIEWS, review)["status"].get("allowed"))
