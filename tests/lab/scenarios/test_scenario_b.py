# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenario B of the design: istioctl with a custom IstioOperator, from an empty cluster to the removal of the first revision."""

from __future__ import annotations

import copy
import json
from typing import Any

import manifests
import yaml
from collection import Result
from kubectl import kubectl, must
from world import ISTIOCTL, OPERATOR, Mesh, settle

LAB_SPEC = yaml.safe_load(OPERATOR.read_text())["spec"]
CUSTOM_SPEC = copy.deepcopy(LAB_SPEC)
CUSTOM_SPEC["meshConfig"]["accessLogFile"] = "/dev/stdout"


def install(mesh: Mesh, revision: str, spec: dict[str, Any] = CUSTOM_SPEC, **options: Any) -> Result:
    return mesh.module("istio_revision", revision=revision, method="istioctl", istioctl=ISTIOCTL[revision], operator_spec=spec, **options)


def test_a_custom_istio_moves_from_stable_to_canary_in_eight_steps(mesh: Mesh) -> None:
    # 1. Render and install revision "stable" from a custom specification.
    stable = install(mesh, "stable")
    assert stable.changed
    assert stable.revision["ready"]
    assert mesh.control_planes() == {"stable"}
    assert not install(mesh, "stable").changed

    # 2. Without a default tag istio-injection=enabled gives no sidecar.
    legacy = mesh.namespace("legacy", {"istio-injection": "enabled"}, ["web", "api"])
    assert legacy.injector_of_a_new_pod() is None
    assert legacy.revisions() == {"web": {None: 1}, "api": {None: 1}}
    assert finding(mesh, "namespace-nobody-injects") == "Namespace legacy"
    assert mesh.module("istio_tag", name="default", revision="stable").changed
    assert legacy.injector_of_a_new_pod() == "stable"
    legacy.restart()

    # 3. Namespaces with istio.io/rev=stable inject at once.
    shop = mesh.namespace("shop", {"istio.io/rev": "stable"}, ["web"])
    assert shop.injector_of_a_new_pod() == "stable"
    assert mesh.proxies() == {"stable": 3}

    # 4. "canary" with the same customisation; what it would lack is reported before anything moves.
    with mesh.unchanged():
        forgetful = install(mesh, "canary", LAB_SPEC, like="stable", check=True)
    assert {"path": "mesh.accessLogFile", "ours": None, "theirs": "/dev/stdout"} in forgetful.differences
    canary = install(mesh, "canary", like="stable")
    assert canary.changed
    assert not [difference for difference in canary.differences if difference["path"].startswith("mesh.")]
    assert (legacy.injector_of_a_new_pod(), shop.injector_of_a_new_pod()) == ("stable", "stable")

    # 5. A namespace with both labels follows istio-injection: the trap is reported and repaired.
    trap = mesh.namespace("trap", {"istio-injection": "enabled", "istio.io/rev": "canary"}, ["web"])
    assert trap.injector_of_a_new_pod() == "stable"
    assert finding(mesh, "namespace-two-labels") == "Namespace trap"
    assert mesh.module("ns_revision_label", namespaces=["trap"], to="canary").changed
    assert trap.injector_of_a_new_pod() == "canary"

    # 6. A workload injected offline gets the canary's configuration when asked for it.
    bare = mesh.namespace("bare")
    assert bare.injector_of_a_new_pod() is None
    offline = json.dumps(manifests.workload("offline", "bare", {})[0])
    injected = must("istioctl-new", "kube-inject", "--revision", "canary", "--filename", "-", text=offline)
    assert "istiod-canary.istio-system.svc:15012" in injected
    must("kubectl", "apply", "--filename=-", text=injected)
    settle("bare")
    assert bare.revisions() == {"offline": {"canary": 1}}
    assert mesh.proxies("bare") == {"canary": 1}

    # 7. Moving the default tag moves the legacy namespaces on their next restart.
    assert mesh.module("istio_tag", name="default", revision="canary", expect_revision="stable").changed
    assert legacy.injector_of_a_new_pod() == "canary"
    assert mesh.proxies("legacy") == {"stable": 2}
    assert mesh.module("workload_restart", namespaces=["legacy", "trap"]).count_restarted == 3
    assert mesh.proxies("legacy") == {"canary": 2}
    assert mesh.proxies("trap") == {"canary": 1}

    # 8. Remove "stable"; the CRDs and every shared object stay.
    still_needed = mesh.refusal("istio_revision", revision="stable", state="absent")
    assert "shop/web" in still_needed
    mesh.module("ns_revision_label", namespaces=["shop"], to="canary")
    mesh.module("workload_restart", namespaces=["shop"], revision="canary")
    mesh.module("proxy_status", revision="canary", namespaces=["legacy", "shop", "trap"])
    kubectl("apply", "--filename=-", manifests=[manifests.virtual_service("web", "shop")])
    shared = mesh.shared_objects()
    removed = mesh.module("istio_revision", revision="stable", state="absent")
    assert "Deployment istio-system/istiod-stable" in removed.removed
    assert mesh.control_planes() == {"canary"}
    assert mesh.shared_objects() == shared
    for namespace in (legacy, shop, trap):
        assert namespace.injector_of_a_new_pod() == "canary"
        assert mesh.config_is_writable(namespace.name)


def finding(mesh: Mesh, code: str) -> str:
    """The object of the finding with this code, of which there must be one."""
    (found,) = [finding for finding in mesh.module("mesh_info").mesh["findings"] if finding["code"] == code]
    return str(found["object"])
