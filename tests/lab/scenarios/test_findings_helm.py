# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What users of Helm report most (numbers of the survey of reports), made as they make it: mesh_info finds it, and its remedy ends it."""

from __future__ import annotations

import helm
from kubectl import kubectl
from test_findings import found
from world import ISTIO_NAMESPACE, Mesh


def test_findings_helm_tag_of_a_release(mesh: Mesh) -> None:
    """(27) A tag of revisionTags is moved by hand; the next upgrade of its release moves it back, without a word."""
    mesh.helm("stable", ["prod"], version="old", default_revision="stable")
    mesh.helm("canary", default_revision="stable")
    assert found(mesh) == {}
    mesh.tag("prod", "canary")

    assert found(mesh) == {"tag-moved-beside-helm": "warning"}

    helm.istiod(ISTIO_NAMESPACE, "old", "stable", ["prod"])

    assert mesh.tags() == {"prod": "stable"}
    assert found(mesh) == {}

    helm.istiod(ISTIO_NAMESPACE, "old", "stable")
    mesh.module("istio_tag", name="prod", revision="canary")

    assert mesh.tags() == {"prod": "canary"}
    assert found(mesh) == {}


def test_findings_helm_order_of_the_guide(mesh: Mesh) -> None:
    """(2, 1) Everything has moved, the old release is uninstalled as the guide says, and no configuration can be written any more."""
    shop = mesh.namespace("shop", {"istio.io/rev": "prod"}, ["web"])

    assert found(mesh) == {"validator-left-behind": "warning"}

    helm.uninstall("istiod-stable", ISTIO_NAMESPACE)

    assert found(mesh) == {"validator-dangling": "error", "lease-left-over": "info"}
    assert not mesh.config_is_writable(shop.name)

    mesh.module("istio_tag", name="default", revision="canary")
    kubectl("delete", "lease", f"--namespace={ISTIO_NAMESPACE}", "istio-gateway-deployment-stable", "istio-gateway-status-leader-stable")

    assert found(mesh) == {}
    assert mesh.config_is_writable(shop.name)


def test_findings_helm_release_beside_a_default_tag(mesh: Mesh) -> None:
    """(4, 5) Somebody adds an Istio without a revision, and it takes every namespace with istio-injection=enabled."""
    pay = mesh.namespace("pay", {"istio-injection": "enabled"})
    assert pay.injector_of_a_new_pod() == "canary"

    helm.istiod(ISTIO_NAMESPACE, "old")

    assert found(mesh) == {"default-owners": "error"}
    assert pay.injector_of_a_new_pod() == "default"

    mesh.module("istio_tag", name="default", revision="canary")

    assert found(mesh) == {}
    assert pay.injector_of_a_new_pod() == "canary"


def test_findings_helm_and_istioctl_on_one_revision(mesh: Mesh) -> None:
    """(27) istioctl installs over a release, and both believe to own the revision."""
    mesh.revisions("canary", settings=["components.base.enabled=false"])

    assert found(mesh) == {"installers-mixed": "warning"}
