# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An upgrade that fails: it stops with one paragraph, or takes everything back by itself, and the way back stays open."""

from __future__ import annotations

import json
from typing import Any

import pytest
from kubectl import items, kubectl
from waiting import eventually
from world import ISTIO_NAMESPACE, Mesh, Namespace, settle

UPGRADE: dict[str, Any] = {"mesh_from": "stable", "mesh_to": "canary", "mesh_canary_namespaces": "shop", "mesh_wait_timeout": 120}


@pytest.fixture(scope="module")
def shop(mesh: Mesh) -> Namespace:
    """Two workloads, of which "web" cannot be restarted: a quota leaves no room for its new pod."""
    mesh.revisions("stable", "canary")
    mesh.tag("prod", "stable")
    shop = mesh.namespace("shop", {"istio.io/rev": "prod"}, ["web"])
    kubectl("create", "quota", "no-room", "--namespace=shop", "--hard=pods=1")
    return shop


def test_a_failing_canary_stops_the_upgrade_and_the_next_run_continues(mesh: Mesh, shop: Namespace) -> None:
    stopped = mesh.playbook("canary_upgrade", **UPGRADE)

    said = " ".join(stopped.output.split())
    assert stopped.failed == 1
    assert "Deployment shop/web" in said
    assert "exceeded quota" in said
    assert "run the playbook again: it continues here" in said
    assert mesh.tags()["prod"] == "stable"
    assert shop.revisions() == {"web": {"stable": 1}}

    kubectl("delete", "quota", "no-room", "--namespace=shop")
    continued = mesh.playbook("canary_upgrade", **UPGRADE)
    assert continued.code == 0, continued.output
    assert shop.revisions() == {"web": {"canary": 1}}
    assert shop.labels() == {"istio.io/rev": "prod"}


def test_a_failing_canary_is_taken_back_on_request(mesh: Mesh, shop: Namespace) -> None:
    back = mesh.playbook("canary_upgrade", ["rollback"], **UPGRADE)
    assert back.code == 0, back.output
    kubectl("create", "quota", "no-room", "--namespace=shop", "--hard=pods=1")

    failed = mesh.playbook("canary_upgrade", **UPGRADE, mesh_on_failure="rollback")

    assert failed.failed == 1
    assert "Everything is back on stable" in " ".join(failed.output.split())
    kubectl("delete", "quota", "no-room", "--namespace=shop")
    settle("shop")  # the rollout that the quota has stopped goes on, and leads back
    assert shop.labels() == {"istio.io/rev": "prod"}
    assert shop.injector_of_a_new_pod() == "stable"
    assert shop.revisions() == {"web": {"stable": 1}}
    assert eventually(lambda: mesh.proxies("shop") == {"stable": 1})


def test_a_broken_new_control_plane_does_not_bar_the_way_back(mesh: Mesh, shop: Namespace) -> None:
    moved = mesh.playbook("canary_upgrade", **UPGRADE)
    assert moved.code == 0, moved.output
    broken = {"spec": {"template": {"metadata": {"labels": {"meshlab/fail": "never-ready"}}}}}
    kubectl("patch", "deployment", "istiod-canary", f"--namespace={ISTIO_NAMESPACE}", "--patch", json.dumps(broken))
    running = ("pods", f"--namespace={ISTIO_NAMESPACE}", "--selector=meshlab/fail", "--field-selector=status.phase=Running")
    assert eventually(lambda: bool(items(*running)))

    back = mesh.playbook("canary_upgrade", ["rollback"], **UPGRADE)

    assert back.code == 0, back.output
    assert shop.revisions() == {"web": {"stable": 1}}
    assert shop.labels() == {"istio.io/rev": "prod"}
    assert shop.injector_of_a_new_pod() == "stable"
