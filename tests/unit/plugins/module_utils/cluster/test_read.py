# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
from typing import Any

from fake_api import FakeApi

from ansible_collections.meshops.istio.plugins.module_utils.cluster.client import Cluster
from ansible_collections.meshops.istio.plugins.module_utils.cluster.paths import (
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
    describe,
    path_of,
)
from ansible_collections.meshops.istio.plugins.module_utils.cluster.read import (
    read_control_plane,
    read_mesh,
    trim_namespace,
    trim_pod,
    trim_workload,
)


def listed(name: str, **more: Any) -> dict[str, Any]:
    return {"items": [{"metadata": {"name": name, "managedFields": [{}]}, **more}]}


def control_plane(api: FakeApi) -> None:
    elsewhere = {"service": {"name": "istiod", "namespace": "mesh-two"}}
    webhooks = [
        {"name": "rev.namespace.sidecar-injector.istio.io", "clientConfig": elsewhere},
        {"name": "outside.sidecar-injector.istio.io", "clientConfig": {"url": "https://istiod.example"}},
        {"name": "policy.example", "clientConfig": {"service": {"name": "policy", "namespace": "policy"}}},
    ]
    api.on("GET", MUTATING_WEBHOOKS(), body=listed("injector", webhooks=webhooks))
    api.on("GET", VALIDATING_WEBHOOKS(), body=listed("validator"))
    api.on("GET", NAMESPACES(), body=listed("shop"))
    for namespace in ("istio-system", "mesh-two"):
        for resource in (SERVICES, ENDPOINT_SLICES, CONFIG_MAPS, DEPLOYMENTS):
            api.on("GET", resource(namespace), body=listed(f"{resource.plural} of {namespace}"))


def test_a_control_plane_is_read_where_its_webhooks_point(api: FakeApi, cluster: Cluster) -> None:
    control_plane(api)
    raw = read_control_plane(cluster, "istio-system")

    assert {noun: [thing["metadata"]["name"] for thing in things] for noun, things in raw.items()} == {
        "mutating": ["injector"],
        "validating": ["validator"],
        "namespaces": ["shop"],
        "services": ["services of istio-system", "services of mesh-two"],
        "endpoint_slices": ["endpointslices of istio-system", "endpointslices of mesh-two"],
        "config_maps": ["configmaps of istio-system", "configmaps of mesh-two"],
        "istiod_deployments": ["deployments of istio-system", "deployments of mesh-two"],
    }
    assert raw["namespaces"][0]["metadata"].pop("managedFields") == []
    assert "managedFields" not in str(raw)


def test_a_mesh_is_also_its_pods_and_workloads(api: FakeApi, cluster: Cluster) -> None:
    control_plane(api)
    api.on("GET", PODS(), body=listed("web-1", spec={"containers": []}))
    api.on("GET", REPLICA_SETS(), body=listed("web-7f"))
    for resource in WORKLOADS:
        api.on("GET", resource(), body=listed("web", spec={"template": {}}))
    raw = read_mesh(cluster, "istio-system")

    assert [thing["kind"] for thing in raw["workloads"]] == ["Deployment", "StatefulSet", "DaemonSet"]
    assert raw["replica_sets"] == [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web-7f"}}]
    assert raw["pods"][0]["metadata"]["name"] == "web-1"


def test_of_a_pod_what_is_judged_stays() -> None:
    container = {
        "name": "istio-proxy",
        "image": "proxyv2:1.31",
        "restartPolicy": "Always",
        "args": ["proxy", "router"],
        "env": [{"name": "X"}],
    }
    waiting = {"name": "web", "restartCount": 4, "state": {"waiting": {"reason": "ImagePullBackOff", "message": "x" * 99}}, "image": "x"}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "web-1",
            "namespace": "shop",
            "uid": "1",
            "labels": {"app": "web"},
            "annotations": {"istio.io/rev": "stable", "cni.projectcalico.org/podIP": "10.1.2.3/32"},
            "ownerReferences": [{"kind": "ReplicaSet", "name": "web-7f", "controller": True, "uid": "2"}],
            "managedFields": [{}],
        },
        "spec": {
            "nodeName": "n1",
            "hostNetwork": True,
            "containers": [{"name": "web", "args": ["x"]}, container],
            "initContainers": [container],
            "volumes": [{}],
        },
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-30T20:00:00Z"}],
            "containerStatuses": [waiting],
            "hostIP": "10.0.0.1",
        },
    }
    kept = {"name": "istio-proxy", "image": "proxyv2:1.31", "args": ["proxy", "router"]}

    assert trim_pod(pod) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "web-1",
            "namespace": "shop",
            "labels": {"app": "web"},
            "annotations": {"istio.io/rev": "stable"},
            "ownerReferences": [{"kind": "ReplicaSet", "name": "web-7f", "controller": True}],
        },
        "spec": {"hostNetwork": True, "containers": [kept], "initContainers": [kept]},
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": [{"name": "web", "restartCount": 4, "state": {"waiting": {"reason": "ImagePullBackOff"}}}],
            "initContainerStatuses": [],
        },
    }


def test_pods_in_memory_share_what_is_the_same_for_all() -> None:
    """A thousand replicas of one workload, each parsed from a page of JSON of its own."""
    told = {"metadata": {"name": "web", "labels": {"app": "a-name-of-many-pods"}}, "spec": {"containers": [{"name": "istio-proxy"}]}}
    one, two = (trim_pod(json.loads(json.dumps(told))) for _number in range(2))

    assert one["metadata"]["labels"] is two["metadata"]["labels"]
    assert one["spec"]["containers"][0] is two["spec"]["containers"][0]


def test_of_a_workload_what_says_how_a_rollout_stands_stays() -> None:
    spec = {"replicas": 3, "paused": True, "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{}]}}}
    written = {"name": "web", "annotations": {"note": "kept", "kubectl.kubernetes.io/last-applied-configuration": "{}"}}
    workload = trim_workload({"kind": "Deployment", "metadata": written, "spec": spec, "status": {"replicas": 3}})

    assert workload["metadata"] == {"name": "web", "annotations": {"note": "kept"}}
    assert workload["spec"] == {"replicas": 3, "paused": True, "template": {"metadata": {"labels": {"app": "web"}}}}
    assert workload["status"] == {"replicas": 3}


def test_paths_are_told_in_words() -> None:
    assert describe(PODS()) == "pods"
    assert describe(PODS("shop")) == 'pods in namespace "shop"'
    assert describe(PODS("shop", "web", "eviction")) == 'eviction of Pod "web" in namespace "shop"'
    assert describe(NAMESPACES(name="shop")) == 'Namespace "shop"'
    assert describe(MUTATING_WEBHOOKS(name="istio")) == 'MutatingWebhookConfiguration "istio"'
    assert describe("/apis/argoproj.io/v1alpha1/namespaces/shop/rollouts/web") == 'rollouts "web" in namespace "shop"'
    assert describe("/version") == "/version"


def test_an_object_knows_its_path() -> None:
    assert path_of({"kind": "Deployment", "metadata": {"name": "istiod"}}, "istio-system") == DEPLOYMENTS("istio-system", "istiod")
    assert path_of({"kind": "Namespace", "metadata": {"name": "shop"}}, "istio-system") == "/api/v1/namespaces/shop"


def test_of_who_wrote_a_namespace_the_record_of_injection_labels_is_kept() -> None:
    labels = {"f:metadata": {"f:labels": {"f:istio.io/rev": {}, "f:team": {}}, "f:annotations": {"f:note": {}}}}
    mine = {"manager": "argocd-controller", "operation": "Apply", "time": "2026-11-30T20:00:00Z", "apiVersion": "v1", "fieldsV1": labels}
    others = {"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:metadata": {"f:labels": {"f:team": {}}}}}

    assert trim_namespace({"metadata": {"name": "shop", "managedFields": [mine, others]}})["metadata"]["managedFields"] == [
        {
            "manager": "argocd-controller",
            "operation": "Apply",
            "time": "2026-11-30T20:00:00Z",
            "fieldsV1": {"f:metadata": {"f:labels": {"f:istio.io/rev": {}}}},
        }
    ]
