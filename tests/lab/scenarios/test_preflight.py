# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What stands in the way of an upgrade is told before anything is touched, and what the table of permissions names is enough."""

from __future__ import annotations

import json
from typing import Any

import manifests
import pytest
from kubectl import kubectl
from world import Mesh

from ansible_collections.meshops.istio.plugins.module_utils.mesh.permissions import rights_of

STAGES = ["adopt", "canary", "promote", "gateways", "verify", "rollback"]
UPGRADE: dict[str, Any] = {"mesh_from": "stable", "mesh_to": "canary", "mesh_canary_namespaces": ["early"], "mesh_wait_timeout": 120}


UNKNOWN = {"skew-unknown": "Upgrade"}
"""The lab's newer Istio is a development build of a version that has not been released."""


@pytest.fixture(scope="module", autouse=True)
def control_planes(mesh: Mesh) -> None:
    mesh.revisions("stable", "canary")
    mesh.tag("prod", "stable")
    mesh.namespace("early", {"istio.io/rev": "prod"}, ["web"], wait=False)
    mesh.namespace("shop", {"istio.io/rev": "prod"}, ["web"])


def look(mesh: Mesh, **params: Any) -> dict[str, str]:
    """Code → object of what is found for an upgrade of both namespaces."""
    with mesh.unchanged():
        found = mesh.module("preflight_info", from_revision="stable", to_revision="canary", namespaces=["early", "shop"], **params)
    return {finding["code"]: finding["object"] for finding in found.findings}


def rules(*without: str) -> list[dict[str, list[str]]]:
    """The table of permissions as rules, but for some resources."""
    return [
        {"apiGroups": [right.group], "resources": [right.resource], "verbs": [right.verb]}
        for right in rights_of(STAGES)
        if right.resource not in without
    ]


def test_nothing_stands_in_the_way_in_a_healthy_mesh(mesh: Mesh) -> None:
    assert look(mesh) == UNKNOWN


def test_what_a_restart_would_meet_is_told(mesh: Mesh) -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "full", "namespace": "shop"}}
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    }
    mesh.apply({**quota, "spec": {"hard": {"pods": "1"}}}, budget, manifests.pod("bare", "early", {}))
    kubectl("wait", "pod/bare", "--namespace=early", "--for=condition=Ready", "--timeout=60s")
    kubectl("wait", "pdb/web", "--namespace=shop", "--for=jsonpath={.status.expectedPods}=1", "--timeout=30s")
    kubectl("wait", "quota/full", "--namespace=shop", "--for=jsonpath={.status.used.pods}=1", "--timeout=30s")

    assert look(mesh) == {
        "quota-without-room": "ResourceQuota shop/full",
        "budget-without-room": "PodDisruptionBudget shop/web",
        "workload-will-not-move": "Pod early/bare",
        **UNKNOWN,
    }

    kubectl("delete", "quota/full", "pdb/web", "--namespace=shop")
    kubectl("delete", "pod/bare", "--namespace=early")


@pytest.mark.parametrize("istioctl", ["istioctl-old", "istioctl-new"])
def test_istioctl_is_asked_too_and_says_nothing_about_a_healthy_mesh(mesh: Mesh, istioctl: str) -> None:
    assert look(mesh, istioctl=istioctl) == UNKNOWN

    route = manifests.virtual_service("lost", "shop")
    mesh.apply({**route, "spec": {**route["spec"], "gateways": ["nowhere"]}})
    mesh.namespace("both", {"istio.io/rev": "prod", "istio-injection": "enabled"})  # which mesh_info explains better than IST0123
    try:
        assert look(mesh, istioctl=istioctl)["istioctl-analyze"] == "VirtualService shop/lost"
        blind = mesh.user("blind-" + istioctl, *rules())
        role = json.loads(kubectl("get", "clusterrole", "blind-" + istioctl, "--output=json"))
        kubectl("apply", "--filename=-", manifests=[{**role, "rules": rules()}])
        assert look(mesh, istioctl=istioctl, kubeconfig=blind)["istioctl-silent"] == f"istioctl {istioctl}"
    finally:
        kubectl("delete", "virtualservice/lost", "--namespace=shop")
        kubectl("delete", "namespace/both")


def test_another_cluster_is_refused_by_every_play_before_anything_changes(mesh: Mesh) -> None:
    uid = json.loads(kubectl("get", "namespace", "kube-system", "--output=json"))["metadata"]["uid"]
    assert mesh.module("mesh_info", cluster_uid=uid).mesh["cluster"]["uid"] == uid

    with mesh.unchanged():
        for tags in ([], ["install"], ["canary"], ["promote"], ["rollback"], ["cleanup"]):
            play = mesh.playbook("canary_upgrade", tags, **UPGRADE, mesh_cluster_uid="not-this-one")
            assert play.code != 0, play.output
            assert "this is another cluster than the expected one" in play.output


def test_a_missing_permission_is_named_with_the_rule_that_gives_it_and_nothing_is_begun(mesh: Mesh) -> None:
    user = mesh.user("half", *rules("namespaces", "deployments"))

    with mesh.unchanged():
        play = mesh.playbook("canary_upgrade", **UPGRADE, mesh_kubeconfig=user)

    assert play.code != 0
    assert "The upgrade from stable to canary is not begun, nothing was changed." in play.output
    assert "you may not patch namespaces in the cluster" in play.output
    assert "patch deployments in namespace" in play.output
    assert '"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["patch"]' in play.output.replace('\\"', '"')


def test_the_permissions_of_the_table_and_no_other_are_enough_for_an_upgrade_and_the_way_back(mesh: Mesh) -> None:
    user = mesh.user("upgrader", *rules())
    role = json.loads(kubectl("get", "clusterrole", "upgrader", "--output=json"))
    kubectl("apply", "--filename=-", manifests=[{**role, "rules": rules()}])  # without the right to read everything, as scenarios give it

    assert look(mesh, kubeconfig=user)["not-looked-at"] == "Permissions"
    for tags in ([], ["rollback"]):
        play = mesh.playbook("canary_upgrade", tags, **UPGRADE, mesh_kubeconfig=user)
        assert play.code == 0, play.output
        assert mesh.tags()["prod"] == ("stable" if tags else "canary")
