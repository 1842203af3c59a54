# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from fake_api import FakeApi

from ansible_collections.meshops.istio.plugins.module_utils.cluster.client import Cluster
from ansible_collections.meshops.istio.plugins.module_utils.cluster.dry_run import dry_run_pod
from ansible_collections.meshops.istio.plugins.module_utils.cluster.errors import ClusterError, Forbidden
from ansible_collections.meshops.istio.plugins.module_utils.cluster.paths import PODS


def test_the_answer_is_the_pod_as_it_would_be(api: FakeApi, cluster: Cluster) -> None:
    api.on("POST", PODS("shop"), 201, {"kind": "Pod", "metadata": {"annotations": {"istio.io/rev": "canary"}}})
    birth = dry_run_pod(cluster, "shop", {"app": "web"}, host_network=True)

    assert birth.pod == {"kind": "Pod", "metadata": {"annotations": {"istio.io/rev": "canary"}}}
    assert birth.refusal == ""
    assert api.queries("dryRun") == ["All"]
    assert api.requests[0].body["metadata"]["labels"] == {"app": "web"}
    assert api.requests[0].body["spec"]["hostNetwork"] is True


@pytest.mark.parametrize(
    ("status", "reason", "message"),
    [
        (500, "InternalError", 'Internal error occurred: failed calling webhook "x": service "istiod" not found'),
        (403, "Forbidden", 'pods "x" is forbidden: violates PodSecurity "restricted:latest"'),
        (400, "BadRequest", 'admission webhook "policy.example" denied the request: no'),
    ],
)
def test_what_admission_says_is_an_answer(api: FakeApi, cluster: Cluster, status: int, reason: str, message: str) -> None:
    api.refuse("POST", PODS("shop"), status, reason, message)
    birth = dry_run_pod(cluster, "shop")

    assert birth.pod is None
    assert birth.refusal == message
    assert len(api.requests) == 1


def test_not_being_allowed_to_ask_is_no_answer(api: FakeApi, cluster: Cluster) -> None:
    message = 'pods is forbidden: User "ci" cannot create resource "pods" in API group "" in the namespace "shop"'
    api.refuse("POST", PODS("shop"), 403, "Forbidden", message)

    with pytest.raises(Forbidden, match='may not create pods in namespace "shop"'):
        dry_run_pod(cluster, "shop")


def test_a_namespace_that_does_not_exist_is_no_answer(api: FakeApi, cluster: Cluster) -> None:
    api.refuse("POST", PODS("shop"), 404, "NotFound", 'namespaces "shop" not found')

    with pytest.raises(ClusterError, match='namespaces "shop" not found'):
        dry_run_pod(cluster, "shop")
