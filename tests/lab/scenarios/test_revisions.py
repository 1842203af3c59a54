# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Control planes beside each other, whoever installed them: one goes and the others keep everything; an install is repeated at no cost."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import helm
import pytest
import yaml
from helm import OPERATOR
from kubectl import items, kubectl
from world import ISTIO_NAMESPACE, ISTIOCTL, Mesh

SPEC = yaml.safe_load(OPERATOR.read_text())["spec"]
CHARTED = "charted"
"""The revision that Helm installs; "stable" and "canary" are of istioctl."""

ORDERS = (("stable", "canary", CHARTED), (CHARTED, "canary", "stable"))


@pytest.mark.parametrize("order", ORDERS, ids=" then ".join)
def test_of_three_revisions_two_go_and_what_is_left_keeps_every_object(fresh_mesh: Mesh, order: tuple[str, str, str]) -> None:
    *going, staying = order
    fresh_mesh.helm(CHARTED, default_revision="")
    fresh_mesh.revisions("stable", "canary")
    homes = {revision: fresh_mesh.namespace(f"on-{revision}", {"istio.io/rev": revision}) for revision in order}
    fresh_mesh.module("istio_tag", name="default", revision=staying)
    shared = fresh_mesh.shared_objects()

    for revision in going:
        homes.pop(revision).label(f"istio.io/rev={staying}")
        with fresh_mesh.only_losing() as lost:
            remove(fresh_mesh, revision)

        assert f"Deployment {ISTIO_NAMESPACE}/istiod-{revision}" in lost
        assert [name for name in lost if f"-{revision}" not in name] == []
        assert fresh_mesh.labelled_for(revision) == []
        assert fresh_mesh.shared_objects() == shared
        assert {name: home.injector_of_a_new_pod() for name, home in homes.items()} == {name: name for name in homes}
        assert fresh_mesh.config_is_writable("default")
        assert locks_of(revision) == []
        assert all(locks_of(name) for name in homes)


def remove(mesh: Mesh, revision: str) -> None:
    """Remove a revision as its owner must: one of Helm with Helm, after which only its locks are left."""
    absent = {"revision": revision, "state": "absent", "sweep_leases": True}
    if revision == CHARTED:
        with mesh.unchanged():
            said = mesh.refusal("istio_revision", **absent)
        assert said.endswith(f"(helm uninstall istiod-{revision} --namespace {ISTIO_NAMESPACE}).")
        helm.uninstall(f"istiod-{revision}", ISTIO_NAMESPACE)
    gone = mesh.module("istio_revision", **absent)
    assert gone.removed[-2:] == [f"Lease {ISTIO_NAMESPACE}/{name}" for name in locks_left_by(revision)]
    assert (len(gone.removed) == 2) == (revision == CHARTED)


def locks_left_by(revision: str) -> list[str]:
    return [f"istio-gateway-deployment-{revision}", f"istio-gateway-status-leader-{revision}"]


def locks_of(revision: str) -> list[str]:
    leases = items("leases", f"--namespace={ISTIO_NAMESPACE}")
    return [lease["metadata"]["name"] for lease in leases if lease["metadata"]["name"].endswith(f"-{revision}")]


def by_istioctl(revision: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"revision": revision, "method": "istioctl", "istioctl": ISTIOCTL["canary"], "operator_spec": spec}


def test_an_install_without_a_revision_is_repeated_at_no_cost_and_serves_the_old_label(mesh: Mesh) -> None:
    came = mesh.changes_once("istio_revision", **by_istioctl("default", SPEC))

    assert came.revision["ready"]
    assert mesh.namespace("old-label", {"istio-injection": "enabled"}).injector_of_a_new_pod() == "default"


def test_replicas_of_an_autoscaler_are_no_difference_and_what_a_specification_loses_goes(mesh: Mesh) -> None:
    scaled = deepcopy(SPEC)
    scaled["values"]["pilot"] |= {"autoscaleEnabled": True, "autoscaleMin": 1, "autoscaleMax": 3}
    mesh.changes_once("istio_revision", **by_istioctl("elastic", scaled))

    kubectl("scale", "deployment/istiod-elastic", f"--namespace={ISTIO_NAMESPACE}", "--replicas=2")  # as its autoscaler does
    with mesh.unchanged():
        assert not mesh.module("istio_revision", **by_istioctl("elastic", scaled)).changed

    pinned = deepcopy(SPEC)
    pinned["values"]["pilot"]["autoscaleEnabled"] = False
    shown = mesh.changes_once("istio_revision", **by_istioctl("elastic", pinned)).diff["after"]
    assert "HorizontalPodAutoscaler istiod-elastic, no longer wanted" in json.dumps(shown)
    autoscalers = items("horizontalpodautoscalers", f"--namespace={ISTIO_NAMESPACE}")
    assert [thing for thing in autoscalers if thing["metadata"]["name"] == "istiod-elastic"] == []
