# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every module promises: check mode foretells the change and makes none, the run makes it, the second run has nothing to do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy

import pytest
import yaml
from kubectl import kubectl
from world import ISTIO_NAMESPACE, ISTIOCTL, OPERATOR, Mesh, Namespace

SPEC = yaml.safe_load(OPERATOR.read_text())["spec"]


@pytest.fixture(scope="module", autouse=True)
def control_planes(mesh: Mesh) -> None:
    mesh.revisions("stable", "canary")
    mesh.tag("prod", "stable")


@pytest.fixture(scope="module")
def shop(mesh: Mesh) -> Namespace:
    return mesh.namespace("shop", {"istio.io/rev": "prod"}, ["web", "api"])


@pytest.fixture
def on_stable(mesh: Mesh, shop: Namespace) -> Iterator[Namespace]:
    """The shop, injected by "stable" through the tag "prod", before and after."""
    yield shop
    mesh.tag("prod", "stable")
    shop.label("istio.io/rev=prod", "istio-injection-")


def test_a_moved_tag_moves_nothing_until_pods_are_born(mesh: Mesh, on_stable: Namespace) -> None:
    moved = mesh.changes_once("istio_tag", name="prod", revision="canary")

    reason = 'a pod in namespace "shop" is injected by it, as a dry run shows'
    pointing = {"name": "prod", "revision": "canary", "previous_revision": "stable", "ready": True, "reason": reason}
    assert moved.tag == {**pointing, "adopted_from": moved.tag["adopted_from"]}
    assert moved.namespaces == 1
    assert on_stable.injector_of_a_new_pod() == "canary"  # asked of the API server by dry run
    assert mesh.proxies("shop") == {"stable": 2}  # asked of the istiods


def test_a_new_tag_is_one_that_istioctl_knows_and_can_be_removed(mesh: Mesh) -> None:
    mesh.changes_once("istio_tag", name="staging", revision="canary")
    assert mesh.tags()["staging"] == "canary"
    assert is_ours("mutatingwebhookconfiguration", "istio-revision-tag-staging")
    assert is_ours("service", "istiod-revision-tag-staging")
    staging = mesh.namespace("staging", {"istio.io/rev": "staging"})
    assert staging.injector_of_a_new_pod() == "canary"

    assert "staging" in mesh.refusal("istio_tag", name="staging", state="absent")
    mesh.changes_once("istio_tag", name="staging", state="absent", waive=["namespaces"])
    assert "staging" not in mesh.tags()
    assert staging.injector_of_a_new_pod() is None


def test_labels_move_in_one_patch_and_come_back(mesh: Mesh, on_stable: Namespace) -> None:
    on_stable.label("istio-injection=enabled", "istio.io/rev-")

    moved = mesh.changes_once("ns_revision_label", namespaces=["shop"], to="canary")
    assert on_stable.labels() == {"istio.io/rev": "canary"}
    assert on_stable.injector_of_a_new_pod() == "canary"
    assert moved.previous == {"shop": {"istio.io/rev": None, "istio-injection": "enabled"}}

    mesh.changes_once("ns_revision_label", restore=moved.previous)
    assert on_stable.labels() == {"istio-injection": "enabled"}
    assert mesh.module("ns_revision_label", label_selectors=["istio-injection=enabled"], to="prod", check=True).count_changed == 1


def test_only_stale_workloads_are_restarted_and_the_gate_sees_them(mesh: Mesh, on_stable: Namespace) -> None:
    assert mesh.module("proxy_status", namespaces=["shop"], wait_timeout=0).proxies["by_revision"] == {"stable": 2}
    assert not mesh.module("workload_restart", namespaces=["shop"]).changed
    on_stable.label("istio.io/rev=canary")
    assert "shop/web" in mesh.refusal("proxy_status", namespaces=["shop"], revision="canary", wait_timeout=0)

    restarted = mesh.changes_once("workload_restart", namespaces=["shop"], revision="canary")

    assert restarted.count_restarted == 2
    assert {workload["name"]: workload["after"] for workload in restarted.workloads} == {"web": {"canary": 1}, "api": {"canary": 1}}
    assert on_stable.revisions() == {"web": {"canary": 1}, "api": {"canary": 1}}
    with mesh.unchanged():
        passed = mesh.module("proxy_status", namespaces=["shop"], revision="canary")
    assert not passed.changed
    assert passed.proxies == {"total": 2, "attached": 2, "by_revision": {"canary": 2}, "complete": True}


def test_a_restart_that_fails_stops_at_once_and_says_which_workload_and_why(mesh: Mesh) -> None:
    tight = mesh.namespace("tight", {"istio.io/rev": "stable"}, ["web"])
    kubectl("create", "quota", "one-pod", "--namespace=tight", "--hard=pods=1")
    tight.label("istio.io/rev=canary")

    said = mesh.refusal("workload_restart", namespaces=["tight"], wait_timeout=60)

    assert "Deployment tight/web" in said
    assert "exceeded quota" in said
    assert tight.revisions() == {"web": {"stable": 1}}  # the old pod serves on


def test_the_view_names_revisions_tags_namespaces_and_workloads(mesh: Mesh, shop: Namespace) -> None:
    with mesh.unchanged():
        look = mesh.module("mesh_info")

    assert not look.changed
    assert {revision["name"]: revision["version"] for revision in look.mesh["revisions"]} == {
        "stable": "1.31.0-dev.20260423",
        "canary": "1.32.0-dev.20260827",
    }
    assert all(revision["ready"] and revision["installer"] == "istioctl" for revision in look.mesh["revisions"])
    assert {tag["name"]: tag["revision"] for tag in look.mesh["tags"]} == mesh.tags()
    seen = {namespace["name"]: namespace["injector"] for namespace in look.mesh["namespaces"]}
    assert seen[shop.name] == shop.injector_of_a_new_pod()
    assert {workload["name"] for workload in look.mesh["workloads"] if workload["namespace"] == "shop"} == {"web", "api"}


def test_the_status_playbook_shows_the_same_to_people_and_changes_nothing(mesh: Mesh, shop: Namespace) -> None:
    with mesh.unchanged():
        status = mesh.playbook("status")

    assert (status.code, status.changed) == (0, 0), status.output
    for shown in ("stable: 1.31.0-dev.20260423, by istioctl", "prod → stable", f"{shop.name}: stable through tag prod"):
        assert shown in status.output


def test_an_upgrade_is_remembered_once_and_another_refused(mesh: Mesh, shop: Namespace) -> None:
    begin = {"from_revision": "stable", "to_revision": "canary", "canary_namespaces": ["shop"], "waves": [50, 100]}

    journal = mesh.changes_once("upgrade_journal", **begin).journal
    assert journal["plan"]["canary"]["namespaces"] == [shop.name]
    assert mesh.changes_once("upgrade_journal", record={"stage": "canary"}).journal["records"][0]["stage"] == "canary"
    assert is_ours("configmap", "meshops-istio-upgrade")
    assert "under way" in mesh.refusal("upgrade_journal", from_revision="stable", to_revision="next")
    mesh.changes_once("upgrade_journal", state="absent")


def test_a_control_plane_comes_and_goes_and_takes_nothing_with_it(mesh: Mesh) -> None:
    third = {"revision": "third", "method": "istioctl", "istioctl": ISTIOCTL["canary"], "operator_spec": SPEC}
    shared, tags = mesh.shared_objects(), mesh.tags()

    came = mesh.changes_once("istio_revision", **third)
    assert came.revision["ready"]
    assert mesh.tags() == tags
    adopted = mesh.module("istio_revision", revision="third", like="canary")
    assert not adopted.changed
    assert adopted.differences == []

    gone = mesh.changes_once("istio_revision", revision="third", state="absent")
    assert "MutatingWebhookConfiguration istio-sidecar-injector-third" in gone.removed
    assert mesh.control_planes() == {"stable", "canary"}
    assert mesh.shared_objects() == shared
    assert not mesh.labelled_for("third")


def test_a_control_plane_that_cannot_start_says_why(mesh: Mesh) -> None:
    spec = deepcopy(SPEC)
    spec["values"]["pilot"]["nodeSelector"] = {"nowhere": "here"}
    nowhere = {"revision": "nowhere", "method": "istioctl", "istioctl": ISTIOCTL["canary"], "operator_spec": spec}

    for params in ({**nowhere, "wait_timeout": 3}, {"revision": "nowhere", "wait_timeout": 1}):
        assert "finds no node" in mesh.refusal("istio_revision", **params)

    different = mesh.module("istio_revision", check=True, like="canary", **nowhere).differences
    assert {"path": "istiod.placement.nodeSelector.nowhere", "ours": "here", "theirs": None} in different
    mesh.module("istio_revision", revision="nowhere", state="absent", waive=["unanswered"])


def is_ours(kind: str, name: str) -> bool:
    """Whether what a run created says so."""
    thing = json.loads(kubectl("get", kind, name, f"--namespace={ISTIO_NAMESPACE}", "--output=json"))
    return bool(thing["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "meshops.istio")
