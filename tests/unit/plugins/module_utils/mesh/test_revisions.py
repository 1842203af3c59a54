# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from mesh_objects import REV, TAG, Object, World, deactivated, healthy_world

from ansible_collections.meshops.istio.plugins.module_utils.mesh.names import is_dns_label
from ansible_collections.meshops.istio.plugins.module_utils.mesh.refusal import Refusal
from ansible_collections.meshops.istio.plugins.module_utils.mesh.revisions import installer_of, revisions_of


def reason_of(world: World, revision: str = "stable") -> str:
    found = world.mesh().revisions[revision]
    assert found.ready is (found.reason == "available, and its injector can be called")
    return found.reason


def test_a_whole_control_plane_is_ready() -> None:
    assert World("stable").mesh().revisions["stable"].as_result() == {
        "name": "stable",
        "namespace": "istio-system",
        "version": "1.30.3",
        "installer": "istioctl",
        "ready": True,
        "reason": "available, and its injector can be called",
    }


def test_a_plain_istioctl_install_is_a_ready_revision_though_its_own_injector_is_inert() -> None:
    world = World("default").tag("default", "default")
    world.raw["mutating"][0] = deactivated(world.raw["mutating"][0])

    assert world.mesh().revisions["default"].ready
    assert world.mesh().default_revision == "default"


def test_an_istiod_without_an_injector_is_not_ready() -> None:
    world = World("stable")
    world.raw["mutating"].clear()

    assert reason_of(world) == "it has no injector (MutatingWebhookConfiguration)"


def test_a_tag_is_not_the_injector_of_its_revision() -> None:
    world = World("stable").tag("prod", "stable")
    del world.raw["mutating"][0]

    assert reason_of(world) == "it has no injector (MutatingWebhookConfiguration)"


def test_an_injector_without_an_istiod_is_not_ready_and_still_a_revision() -> None:
    world = World("stable")
    world.raw["istiod_deployments"].clear()

    assert reason_of(world) == "it has an injector, but no istiod Deployment"
    assert world.mesh().revisions["stable"].namespace == "istio-system"


def test_an_injector_elsewhere_needs_no_deployment_here() -> None:
    world = World("stable")
    world.raw["istiod_deployments"].clear()
    for entry in world.raw["mutating"][0]["webhooks"]:
        entry["clientConfig"] = {"url": "https://istiod.example/inject"}

    assert world.mesh().revisions["stable"].ready


def test_a_deployment_that_is_being_updated_is_not_ready_though_it_was_available() -> None:
    world = World("stable")
    world.raw["istiod_deployments"][0]["metadata"]["generation"] = 4

    assert reason_of(world) == "its Deployment is being updated"


@pytest.mark.parametrize(
    ("conditions", "detail"),
    [
        ([], "no pod is ready yet"),
        ([{"type": "Available", "status": "False", "message": "too few replicas"}], "too few replicas"),
        (
            [
                {"type": "Available", "status": "False", "message": "too few replicas"},
                {"type": "Progressing", "status": "False", "message": "exceeded its deadline"},
            ],
            "exceeded its deadline",
        ),
        (
            [
                {"type": "Available", "status": "False", "message": "too few replicas"},
                {"type": "Progressing", "status": "True", "message": "created new replica set"},
            ],
            "too few replicas",
        ),
    ],
)
def test_an_unavailable_deployment_says_why(conditions: list[Object], detail: str) -> None:
    world = World("stable")
    world.raw["istiod_deployments"][0]["status"]["conditions"] = conditions

    assert reason_of(world) == f"its Deployment is not available: {detail}"


def test_an_available_deployment_whose_injector_cannot_be_called_is_not_ready() -> None:
    world = World("stable")
    world.raw["endpoint_slices"].clear()

    assert reason_of(world) == "its Service has no ready endpoint"


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("docker.io/istio/pilot:1.30.3", "1.30.3"),
        ("registry:5000/istio/pilot:1.30.3-distroless", "1.30.3-distroless"),
        ("registry:5000/istio/pilot", "from-label"),
        ("registry/pilot@sha256:0123", "from-label"),
        ("registry/pilot:1.30.3@sha256:0123", "1.30.3"),
    ],
)
def test_the_version_is_the_tag_of_the_image_and_never_a_port_or_digest(image: str, version: str) -> None:
    world = World("stable")
    deployment = world.raw["istiod_deployments"][0]
    deployment["spec"]["template"]["spec"]["containers"] = [
        {"name": "side", "image": "x:9"},
        {"name": "discovery", "image": image},
    ]
    deployment["metadata"]["labels"]["app.kubernetes.io/version"] = "from-label"

    assert world.mesh().revisions["stable"].version == version


def test_deployments_that_only_look_like_istiod_are_no_revisions() -> None:
    others = [
        {"metadata": {"name": "a"}},
        {"metadata": {"name": "b", "labels": {"app": "istiod"}}},
        {"metadata": {"name": "c", "labels": {REV: "x"}}},
    ]

    assert revisions_of(others, []) == []


@pytest.mark.parametrize(
    ("metadata", "installer"),
    [
        ({}, "unknown"),
        ({"annotations": {"meta.helm.sh/release-name": "istiod"}}, "helm"),
        ({"ownerReferences": [{"kind": "IstioRevision"}]}, "sail"),
        ({"ownerReferences": [{"kind": "IstioRevision"}], "annotations": {"meta.helm.sh/release-name": "x-istiod"}}, "sail"),
        ({"ownerReferences": [{"kind": "Helmish"}]}, "unknown"),
        ({"labels": {"install.operator.istio.io/owning-resource-namespace": "istio-system"}}, "istioctl"),
        ({"labels": {"install.operator.istio.io/owning-resource": "unknown"}}, "unknown"),  # every chart sets it, kubectl apply too
    ],
)
def test_who_installed_it_is_read_from_what_only_he_leaves(metadata: Object, installer: str) -> None:
    assert installer_of({"metadata": metadata}) == installer


def test_a_tag_is_known_by_its_webhook_and_its_service() -> None:
    mesh = World("stable", "canary").tag("prod", "stable").tag("edge", "canary", service=None).mesh()

    assert {tag.name: (tag.revision, tag.service_revision, tag.ready) for tag in mesh.tags.values()} == {
        "edge": ("canary", None, True),  # before Istio 1.28
        "prod": ("stable", "stable", True),
    }


def test_a_tag_that_two_revisions_claim_is_not_ready() -> None:
    tag = World("stable", "canary").tag("prod", "canary", service="stable").mesh().tags["prod"]

    assert (tag.ready, tag.reason) == (False, 'its Service still names revision "stable", so two revisions claim it')


def test_a_tag_whose_istiod_is_dead_says_so() -> None:
    tag = World("stable").tag("prod", "stable").kill("stable").mesh().tags["prod"]

    assert tag.as_result() == {"name": "prod", "revision": "stable", "ready": False, "reason": "its Service has no ready endpoint"}


def test_a_service_alone_is_no_tag() -> None:
    world = World("stable").tag("prod", "stable")
    world.raw["mutating"] = [thing for thing in world.raw["mutating"] if TAG not in thing["metadata"]["labels"]]

    assert world.mesh().tags == {}


def test_a_name_is_resolved_through_a_tag_or_refused() -> None:
    mesh = healthy_world().mesh()

    assert [mesh.resolve(name).name for name in ("prod", "default", "canary")] == ["stable", "stable", "canary"]
    with pytest.raises(Refusal, match=r'"ghost" is no revision and no tag of this cluster \(known: canary, stable, default, prod\)'):
        mesh.resolve("ghost")
    with pytest.raises(Refusal, match=r'revision "prod" does not exist in this cluster \(known: canary, stable\)'):
        mesh.require_revision("prod")


def test_a_tag_of_a_revision_that_is_gone_resolves_to_nothing() -> None:
    with pytest.raises(Refusal, match='revision "gone" does not exist'):
        World("stable").tag("prod", "gone").mesh().resolve("prod")


def test_namespaces_that_do_not_exist_or_are_being_deleted_are_refused_all_at_once() -> None:
    world = healthy_world()
    world.find("namespaces", "lab")["metadata"]["deletionTimestamp"] = "2026-11-30T20:00:00Z"
    mesh = world.mesh()

    assert mesh.require_namespaces(["shop", "pay", "shop"]) == ["shop", "pay"]
    with pytest.raises(Refusal, match="namespace ghost, lab does not exist"):
        mesh.require_namespaces(["shop", "lab", "ghost"])


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("1-30", True),
        ("a", True),
        ("a" * 63, True),
        ("a" * 64, False),
        ("1.30", False),
        ("A", False),
        ("-a", False),
        ("a-", False),
        ("", False),
    ],
)
def test_only_names_that_can_be_part_of_a_service_name_are_allowed(name: str, allowed: bool) -> None:
    assert is_dns_label(name) is allowed
