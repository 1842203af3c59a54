# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What istioctl and Istio do by themselves, seen with our own eyes: the reasons for this collection's guards."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from kubectl import items, kubectl, must, run
from waiting import eventually
from world import ISTIO_NAMESPACE, Mesh, Rejected


def uninstall_stable() -> str:
    """As a user does it; what istioctl says."""
    return must("istioctl-old", "uninstall", "--revision", "stable", "--skip-confirmation")


def webhook_labels(name: str) -> dict[str, str]:
    labels: dict[str, str] = json.loads(kubectl("get", "mutatingwebhookconfiguration", name, "--output=json"))["metadata"]["labels"]
    return labels


def test_1_the_default_tag_moves_legacy_namespaces_and_beats_the_label_of_a_pod(fresh_mesh: Mesh) -> None:
    fresh_mesh.revisions("stable", "canary")
    legacy = fresh_mesh.namespace("legacy", {"istio-injection": "enabled"})
    assert legacy.injector_of_a_new_pod() == "stable"  # istioctl install made a default tag, unasked
    assert legacy.injector_of_a_new_pod({"istio.io/rev": "canary"}) == "stable"

    fresh_mesh.tag("default", "canary")

    assert legacy.injector_of_a_new_pod() == "canary"
    assert legacy.injector_of_a_new_pod({"istio.io/rev": "stable"}) == "canary"


def test_2_istioctl_removes_a_revision_in_use_and_the_default_tag_with_it(fresh_mesh: Mesh) -> None:
    fresh_mesh.revisions("stable", "canary")
    legacy = fresh_mesh.namespace("legacy", {"istio-injection": "enabled"}, ["web"])
    assert "install.operator.istio.io/owning-resource-namespace" in webhook_labels("istio-revision-tag-default")
    assert "proxy legacy/web" in fresh_mesh.refusal("istio_revision", revision="stable", state="absent")  # ours protests

    uninstall_stable()

    assert eventually(lambda: fresh_mesh.control_planes() == {"canary"})
    assert legacy.revisions() == {"web": {"stable": 1}}  # nobody configures it any more
    assert "default" not in fresh_mesh.tags()
    assert run("kubectl", "get", "validatingwebhookconfiguration", "istiod-default-validator").returncode != 0
    assert legacy.injector_of_a_new_pod() is None  # and no error anywhere


def test_2_istioctl_leaves_the_owner_labels_on_a_default_tag_that_it_moves(fresh_mesh: Mesh) -> None:
    fresh_mesh.revisions("stable", "canary")

    fresh_mesh.tag("default", "canary")
    assert "install.operator.istio.io/owning-resource-namespace" in webhook_labels("istio-revision-tag-default")

    fresh_mesh.module("istio_tag", name="default", revision="stable")
    assert "install.operator.istio.io/owning-resource-namespace" not in webhook_labels("istio-revision-tag-default")


def test_3_a_tag_of_a_removed_revision_rejects_pods_and_without_it_they_lose_their_sidecar(fresh_mesh: Mesh) -> None:
    fresh_mesh.revisions("stable", "canary")
    fresh_mesh.tag("prod", "stable")
    shop = fresh_mesh.namespace("shop", {"istio.io/rev": "prod"})

    uninstall_stable()

    assert fresh_mesh.tags()["prod"] == "stable"
    assert eventually(lambda: is_rejected(shop.injector_of_a_new_pod))
    with pytest.raises(Rejected, match='service "istiod-stable" not found'):
        shop.injector_of_a_new_pod()
    must("istioctl-new", "tag", "remove", "prod", "--skip-confirmation")
    assert shop.injector_of_a_new_pod() is None


def test_4_leases_of_a_removed_revision_stay_behind(fresh_mesh: Mesh) -> None:
    fresh_mesh.revisions("stable", "canary")
    assert eventually(lambda: bool(leases_of("stable")))

    uninstall_stable()

    assert leases_of("stable")


def test_5_istioctl_is_refused_by_a_busy_istiod_that_still_answers_us(fresh_mesh: Mesh) -> None:
    fresh_mesh.revisions("stable", settings=["values.pilot.env.PILOT_MAX_REQUESTS_PER_SECOND=0.02"])  # one proxy in 50 s
    fresh_mesh.namespace("shop", {"istio.io/rev": "stable"}, ["web"])

    asked = run("istioctl-old", "proxy-status", "--revision", "stable")

    assert asked.returncode != 0
    assert "ResourceExhausted" in asked.stdout + asked.stderr
    assert fresh_mesh.module("proxy_status", wait_timeout=0).proxies["by_revision"] == {"stable": 1}


def test_6_the_api_server_keeps_calling_a_removed_injector_as_long_as_its_process_lives(fresh_mesh: Mesh) -> None:
    fresh_mesh.revisions("stable")
    fresh_mesh.tag("prod", "stable")
    shop = fresh_mesh.namespace("shop", {"istio.io/rev": "prod"})
    assert shop.injector_of_a_new_pod() == "stable"

    kubectl("delete", "service", "istiod-stable", f"--namespace={ISTIO_NAMESPACE}")
    assert shop.injector_of_a_new_pod() == "stable"  # over the connection that is still open

    kubectl("delete", "deployment", "istiod-stable", f"--namespace={ISTIO_NAMESPACE}")
    assert eventually(lambda: is_rejected(shop.injector_of_a_new_pod))


def is_rejected(ask: Callable[[], str | None]) -> bool:
    try:
        ask()
    except Rejected:
        return True
    return False


def leases_of(revision: str) -> list[str]:
    names = [lease["metadata"]["name"] for lease in items("leases", f"--namespace={ISTIO_NAMESPACE}")]
    return [name for name in names if re.search(rf"-{revision}$", name)]
