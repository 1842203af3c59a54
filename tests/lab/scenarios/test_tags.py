# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tags of every maker are taken over, the default changes hands and comes back, and what somebody still needs or owns is left alone."""

from __future__ import annotations

import json
from typing import Any

import manifests
import pytest
from kubectl import kubectl, must, run
from world import ISTIOCTL, Mesh, Namespace

SAIL = "sailoperator.io"


@pytest.fixture(scope="module", autouse=True)
def control_planes(mesh: Mesh) -> None:
    """An install without a revision, and a canary beside it with a tag of its release."""
    mesh.helm("", version="old")
    mesh.helm("canary", ["prod"], version="new")


@pytest.fixture(scope="module")
def shop(mesh: Mesh) -> Namespace:
    return mesh.namespace("shop", {"istio.io/rev": "prod"})


def webhook(name: str) -> dict[str, Any]:
    return dict(json.loads(kubectl("get", "mutatingwebhookconfiguration", name, "--output=json")))


def test_a_tag_of_a_release_is_moved_with_a_warning_and_proved_by_a_pod(mesh: Mesh, shop: Namespace) -> None:
    moved = mesh.module("istio_tag", name="prod", revision="default")

    assert moved.tag["adopted_from"] == "Helm release istio-system/istiod-canary"
    assert "Take it out of revisionTags" in str(moved.warnings)
    assert moved.tag["reason"] == 'a pod in namespace "shop" is injected by it, as a dry run shows'
    assert shop.injector_of_a_new_pod() == "default"
    metadata = webhook("istio-revision-tag-prod")["metadata"]
    assert not metadata.get("annotations")
    assert metadata["labels"]["app.kubernetes.io/managed-by"] == "meshops.istio"


def test_a_tag_of_istioctl_is_told_from_one_of_the_release_whose_marks_it_copies(mesh: Mesh) -> None:
    must(ISTIOCTL["canary"], "tag", "set", "edge", "--revision=canary", "--overwrite", "--skip-confirmation")
    assert webhook("istio-revision-tag-edge")["metadata"]["annotations"]["meta.helm.sh/release-name"] == "istiod-canary"

    moved = mesh.changes_once("istio_tag", name="edge", revision="default")

    assert (moved.tag["adopted_from"], moved.get("warnings")) == ("istioctl", None)
    assert "with the label istio.io/rev=edge is injected by it" in moved.tag["reason"]
    assert not webhook("istio-revision-tag-edge")["metadata"].get("annotations")


def test_the_first_default_tag_and_the_way_back_leave_no_namespace_without_an_injector(mesh: Mesh) -> None:
    legacy = mesh.namespace("legacy", {"istio-injection": "enabled"})
    before = webhook("istio-sidecar-injector")["webhooks"]
    assert legacy.injector_of_a_new_pod() == "default"

    mesh.changes_once("istio_tag", name="default", revision="canary")
    assert legacy.injector_of_a_new_pod() == "canary"
    assert webhook("istio-sidecar-injector")["webhooks"] != before

    mesh.changes_once("istio_tag", name="default", state="absent")
    assert legacy.injector_of_a_new_pod() == "default"
    assert webhook("istio-sidecar-injector")["webhooks"] == before


def test_a_tag_is_kept_for_pods_that_do_not_live_yet(mesh: Mesh) -> None:
    mesh.namespace("plain")
    asleep = manifests.workload("gate", "plain", {"istio.io/rev": "edge"})[0]
    asleep["spec"]["replicas"] = 0
    mesh.apply(asleep)

    with mesh.unchanged():
        said = mesh.refusal("istio_tag", name="edge", state="absent", waive=["namespaces"])
    assert "1 workload with a label of its own (Deployment plain/gate) would start pods without a sidecar" in said

    mesh.changes_once("istio_tag", name="edge", state="absent", waive=["pod_labels"])
    assert "edge" not in mesh.tags()


def test_somebody_elses_admission_is_no_proof_and_no_failure(mesh: Mesh) -> None:
    """istio-init may not do under Pod Security "restricted" what it must."""
    mesh.namespace("strict", {"istio.io/rev": "vault", "pod-security.kubernetes.io/enforce": "restricted"})
    mesh.namespace("locked", {"istio.io/rev": "vault"})
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "none", "namespace": "locked"},
        "spec": {"hard": {"pods": "0"}},
    }
    mesh.apply(quota)

    moved = mesh.module("istio_tag", name="vault", revision="canary")

    assert "with the label istio.io/rev=vault is injected by it" in moved.tag["reason"]


def test_without_the_right_to_create_pods_the_missing_proof_is_said(mesh: Mesh) -> None:
    webhooks = {"apiGroups": ["admissionregistration.k8s.io"], "resources": ["*"], "verbs": ["*"]}
    user = mesh.user("tagger", webhooks, {"apiGroups": [""], "resources": ["services"], "verbs": ["*"]})

    moved = mesh.module("istio_tag", name="vault", revision="default", kubeconfig=user)

    assert moved.tag["reason"] == (
        "its injector can be called; that it injects could not be tried: somebody else than the injector refuses dry-run pods, or you may "
        "not create pods"
    )
    assert mesh.tags()["vault"] == "default"


def test_a_tag_of_the_sail_operator_is_left_alone(mesh: Mesh) -> None:
    mesh.apply(sail_definition())
    kubectl("wait", "--for=condition=Established", f"crd/istiorevisiontags.{SAIL}", "--timeout=30s")
    tag = {"apiVersion": f"{SAIL}/v1", "kind": "IstioRevisionTag", "metadata": {"name": "vault"}}
    mesh.apply(tag)
    uid = json.loads(kubectl("get", f"istiorevisiontags.{SAIL}", "vault", "--output=json"))["metadata"]["uid"]
    owner = {"apiVersion": tag["apiVersion"], "kind": tag["kind"], "name": "vault", "uid": uid}
    patch = json.dumps({"metadata": {"ownerReferences": [owner]}})
    kubectl("patch", "mutatingwebhookconfiguration", "istio-revision-tag-vault", "--type=merge", f"--patch={patch}")

    with mesh.unchanged():
        moving = mesh.refusal("istio_tag", name="vault", revision="canary")
        removing = mesh.refusal("istio_tag", name="vault", state="absent", waive=["namespaces"])

    assert "IstioRevisionTag vault of the Sail operator owns it" in moving
    assert "IstioRevisionTag vault of the Sail operator owns it" in removing
    run("kubectl", "delete", f"istiorevisiontags.{SAIL}", "vault")


def sail_definition() -> dict[str, Any]:
    names = {"kind": "IstioRevisionTag", "plural": "istiorevisiontags"}
    schema = {"openAPIV3Schema": {"type": "object"}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"istiorevisiontags.{SAIL}"},
        "spec": {
            "group": SAIL,
            "names": names,
            "scope": "Cluster",
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }
