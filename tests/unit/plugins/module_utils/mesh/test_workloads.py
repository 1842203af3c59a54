# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from mesh_objects import INJECT, Object, pod, thing

from ansible_collections.meshops.istio.plugins.module_utils.mesh.workloads import Owner, pods_of, revision_of_pod, trouble_of, workloads_of

STATUS = "sidecar.istio.io/status"


@pytest.mark.parametrize(
    ("annotations", "containers", "revision"),
    [
        ({"istio.io/rev": "canary", STATUS: '{"revision": "canary"}'}, ["app", "istio-proxy"], "canary"),
        ({STATUS: '{"revision": "canary"}'}, ["app", "istio-proxy"], "canary"),
        ({"istio.io/rev": "canary"}, ["istio-proxy"], "canary"),  # a gateway that was rendered, not injected
        ({"istio.io/rev": "canary"}, ["app"], None),  # a wish, no proxy
        ({}, ["app"], None),
        ({}, ["app", "istio-proxy"], None),  # somebody else's container of that name
        ({STATUS: "not json"}, ["app"], None),
        ({STATUS: "[]"}, ["app"], None),
        ({STATUS: '{"revision": 5}'}, ["app"], None),
        ({STATUS: "{}"}, ["app"], None),
    ],
)
def test_the_revision_of_a_pod_is_what_injection_stamped(annotations: dict[str, str], containers: list[str], revision: str | None) -> None:
    found = {"metadata": {"annotations": annotations}, "spec": {"containers": [{"name": name} for name in containers]}}

    assert revision_of_pod(found) == revision


def test_a_native_sidecar_is_found_among_the_init_containers() -> None:
    found = {"metadata": {"annotations": {"istio.io/rev": "canary"}}, "spec": {"initContainers": [{"name": "istio-proxy"}]}}

    assert revision_of_pod(found) == "canary"


def test_the_label_of_a_pod_is_a_wish_and_never_its_revision() -> None:
    found = pod("shop", "web", "stable", labels={"istio.io/rev": "canary"})

    assert revision_of_pod(found) == "stable"


def replica_set(name: str, deployment: str | None) -> Object:
    found = thing("apps/v1", "ReplicaSet", name, "shop")
    if deployment:
        found["metadata"]["ownerReferences"] = [{"kind": "Deployment", "name": deployment, "controller": True}]
    return found


@pytest.mark.parametrize(
    ("owner", "expected"),
    [
        (("ReplicaSet", "web-1"), Owner("Deployment", "shop", "web")),
        (("ReplicaSet", "alone"), Owner("ReplicaSet", "shop", "alone")),
        (("ReplicaSet", "gone"), Owner("ReplicaSet", "shop", "gone")),
        (("StatefulSet", "db"), Owner("StatefulSet", "shop", "db")),
        (("DaemonSet", "agent"), Owner("DaemonSet", "shop", "agent")),
        (("Job", "nightly"), Owner("Job", "shop", "nightly")),
        (None, Owner("Pod", "shop", "p")),
    ],
)
def test_a_pod_belongs_to_its_outermost_known_controller(owner: tuple[str, str] | None, expected: Owner) -> None:
    found = pods_of([pod("shop", "p", "stable", owner=owner)], [replica_set("web-1", "web"), replica_set("alone", None)])

    assert [one.owner for one in found] == [expected]


def test_an_owner_that_does_not_control_the_pod_does_not_own_it() -> None:
    found = pod("shop", "p", "stable")
    found["metadata"]["ownerReferences"] = [{"kind": "Backup", "name": "b"}]

    assert pods_of([found], [])[0].owner == Owner("Pod", "shop", "p")


def test_a_replica_set_of_the_same_name_in_another_namespace_is_another_one() -> None:
    other = pod("pay", "p", "stable", owner=("ReplicaSet", "web-1"))

    assert pods_of([other], [replica_set("web-1", "web")])[0].owner == Owner("ReplicaSet", "pay", "web-1")


@pytest.mark.parametrize(
    ("phase", "counted"), [("Pending", True), ("Running", True), ("Unknown", True), ("Succeeded", False), ("Failed", False)]
)
def test_pods_that_are_over_do_not_count(phase: str, counted: bool) -> None:
    found = pod("shop", "p", "stable")
    found["status"]["phase"] = phase

    assert bool(pods_of([found], [])) is counted


@pytest.mark.parametrize(
    ("found", "gateway"),
    [
        (pod("shop", "p", "stable"), False),
        (pod("shop", "p", "stable", router=True), True),
        (pod("shop", "p", "stable", annotations={"inject.istio.io/templates": "gateway"}), True),
        (pod("shop", "p", "stable", annotations={"inject.istio.io/templates": "sidecar,mine"}), False),
    ],
)
def test_a_gateway_is_a_pod_whose_proxy_is_a_router(found: Object, gateway: bool) -> None:
    assert pods_of([found], [])[0].gateway is gateway


@pytest.mark.parametrize(
    ("waiting", "trouble"),
    [
        ("", ""),
        ("ContainerCreating", ""),
        ("PodInitializing", ""),
        ("CrashLoopBackOff", 'container "app" is in CrashLoopBackOff'),
        ("ImagePullBackOff", 'container "app" is in ImagePullBackOff'),
        ("CreateContainerConfigError", 'container "app" is in CreateContainerConfigError'),
    ],
)
def test_only_what_waiting_does_not_cure_is_trouble(waiting: str, trouble: str) -> None:
    assert trouble_of(pod("shop", "p", "stable", waiting=waiting)) == trouble


def test_an_application_may_crash_once_because_its_proxy_came_later() -> None:
    assert trouble_of(pod("shop", "p", "stable", waiting="CrashLoopBackOff", restarts=1)) == ""


def test_trouble_of_an_init_container_is_seen_and_a_pod_without_a_status_has_none() -> None:
    found = pod("shop", "p", "stable")
    found["status"]["initContainerStatuses"] = [{"name": "istio-init", "state": {"waiting": {"reason": "ImagePullBackOff"}}}]

    assert trouble_of(found) == 'container "istio-init" is in ImagePullBackOff'
    assert trouble_of({"metadata": {}, "spec": {}}) == ""


def test_workloads_are_ordered_and_a_terminating_pod_belongs_to_its_own_until_it_is_gone() -> None:
    pods = [
        pod("shop", "web-2", "canary", owner=("StatefulSet", "web")),
        pod("pay", "api-1", "stable", owner=("StatefulSet", "api")),
        pod("shop", "web-1", "stable", owner=("StatefulSet", "web"), terminating=True, labels={INJECT: "true"}),
    ]
    found = workloads_of(pods_of(pods, []))

    assert [str(workload.owner) for workload in found] == ["StatefulSet pay/api", "StatefulSet shop/web"]
    assert found[1].revisions == {"canary": 1, "stable": 1}
    assert [(one.name, one.terminating, one.ready) for one in found[1].pods] == [("web-1", True, False), ("web-2", False, True)]


def test_ztunnel_is_no_sidecar_and_a_waypoint_is_a_gateway_that_istiod_renders() -> None:
    ztunnel = pod("istio-system", "ztunnel-1", None, labels={INJECT: "false", "app": "ztunnel"}, annotations={"istio.io/rev": "canary"})
    ztunnel["spec"]["containers"] = [{"name": "istio-proxy", "args": ["proxy", "ztunnel"]}]
    waypoint = pod("shop", "waypoint-1", None, labels={INJECT: "false"}, annotations={"istio.io/rev": "canary"})
    waypoint["spec"]["containers"] = [{"name": "istio-proxy", "args": ["proxy", "waypoint", "--domain"]}]

    (found,) = pods_of([ztunnel, waypoint], [])
    assert (found.name, found.revision, found.gateway, found.rendered) == ("waypoint-1", "canary", True, True)
