# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who injects a pod, asked before anything moves: by dry run, and of the istiod that nobody has called yet."""

from __future__ import annotations

from typing import Any

import pytest
from kubectl import items
from world import Mesh

INJECT, REV = "sidecar.istio.io/inject", "istio.io/rev"


@pytest.fixture(scope="module", autouse=True)
def two_revisions(mesh: Mesh) -> None:
    mesh.revisions("stable", "canary")
    mesh.tag("prod", "stable")


def test_what_is_said_is_what_a_dry_run_and_a_moved_workload_show(mesh: Mesh) -> None:
    mesh.namespace("shop", {REV: "prod"}, workloads=["web"])
    mesh.namespace("plain", {})
    mesh.namespace("strict", {REV: "canary", "pod-security.kubernetes.io/enforce": "restricted"})

    with mesh.unchanged():
        looked = mesh.module("injection_info", namespaces=["shop", "plain", "strict"], verify=True, render=True, revision="canary")

    assert {(found["namespace"], found["name"]): (found["revision"], found["verified"]) for found in looked.injections} == {
        ("shop", None): ("stable", "agrees"),
        ("shop", "web"): ("stable", "agrees"),
        ("plain", None): (None, "agrees"),
        ("strict", None): ("canary", "inconclusive"),  # istio-init may not do there what it must
    }
    assert looked.by_verification == {"agrees": 3, "disagrees": 0, "inconclusive": 1}
    web = entry(looked.injections, "web")
    assert web["now"]["proxy_version"] == web["version"], "istiod injects proxies of its own version"
    assert web["now"] == proxy(), "what the pod has"
    assert {difference["field"] for difference in web["differences"]} >= {"revision", "proxy_version", "proxy_image", "discovery_address"}

    mesh.module("ns_revision_label", namespaces=["shop"], to="canary")
    mesh.module("workload_restart", namespaces=["shop"])

    assert web["then"] == proxy(), "what the pod became"


def test_a_template_is_judged_where_it_would_be_born(mesh: Mesh) -> None:
    mesh.namespace("fresh", {REV: "canary"})

    def ask(labels: dict[str, str], annotations: dict[str, str], **spec: Any) -> Any:
        template = {"metadata": {"labels": labels, "annotations": annotations}, "spec": spec}
        asked = mesh.module("injection_info", namespaces=["fresh"], template=template, verify=True, render=True, revision="stable")
        (found,) = asked.injections
        assert found["verified"] == "agrees", asked.disagreements
        return found

    quiet = ask({}, {INJECT: "false"})
    assert (quiet["outcome"], quiet["then"], quiet["then_reason"]) == ("none", None, "its istiod leaves the pod alone")
    assert ask({}, {}, hostNetwork=True)["outcome"] == "none"
    assert ask({}, {"inject.istio.io/templates": "mine"})["outcome"] == "rejected"
    small = ask({}, {"sidecar.istio.io/proxyCPU": "7m"})
    assert (small["now"]["resources"], small["then"]["resources"]) == ({"requests": {"cpu": "7m"}},) * 2
    assert (small["now"]["revision"], small["then"]["revision"]) == ("canary", "stable")

    said = mesh.refusal("injection_info", namespaces=["fresh"], template={"metadata": {"labels": {INJECT: True}}})
    assert f"the value of {INJECT} is no string" in said


def test_asking_the_api_server_takes_no_more_than_the_right_to_create_pods(mesh: Mesh) -> None:
    mesh.namespace("asked", {REV: "canary"})
    reader, asker = mesh.user("reader"), mesh.user("asker", {"apiGroups": [""], "resources": ["pods"], "verbs": ["create"]})

    with mesh.unchanged():
        looked = mesh.module("injection_info", namespaces=["asked"], verify=True, kubeconfig=asker)
        said = mesh.refusal("injection_info", namespaces=["asked"], verify=True, kubeconfig=reader)

    assert looked.by_verification == {"agrees": 1, "disagrees": 0, "inconclusive": 0}
    assert 'may not create pods in namespace "asked"' in said, said


def entry(injections: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(found for found in injections if found["name"] == name)


def proxy() -> dict[str, Any]:
    """The proxy of the shop's pod, as the API server has it."""
    (pod,) = [found for found in items("pods", "--namespace=shop") if not found["metadata"].get("deletionTimestamp")]
    native = [found for found in pod["spec"]["initContainers"] if found["name"] == "istio-proxy"]
    (container,) = native or [found for found in pod["spec"]["containers"] if found["name"] == "istio-proxy"]
    revision = pod["metadata"]["annotations"][REV]
    return {
        "revision": revision,
        "proxy_image": container["image"],
        "proxy_version": container["image"].rpartition(":")[2],
        "discovery_address": f"istiod-{revision}.istio-system.svc:15012",
        "resources": container["resources"],
        "native_sidecar": bool(native),
    }
