# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from mesh_objects import OPERATOR_LABELS, REV, Object, World, healthy_world, thing

from ansible_collections.meshops.istio.plugins.module_utils.mesh.ownership import (
    is_of,
    kept_objects,
    own_leases,
    own_objects,
    refuse_foreign,
)
from ansible_collections.meshops.istio.plugins.module_utils.mesh.refusal import Refusal


def test_webhooks_go_first_and_the_identity_of_istiod_last() -> None:
    refs = own_objects(World("old").mesh(), "old")
    kinds = [ref.kind for ref in refs]

    assert [str(ref) for ref in refs[:2]] == [
        "MutatingWebhookConfiguration istio-sidecar-injector-old",
        "ValidatingWebhookConfiguration istio-validator-old-istio-system",
    ]
    assert str(refs[-1]) == "ServiceAccount istio-system/istiod-old"
    assert kinds.index("HorizontalPodAutoscaler") < kinds.index("Deployment") < kinds.index("Service") < kinds.index("ConfigMap")
    assert kinds.index("RoleBinding") < kinds.index("Role")
    assert kinds.index("ClusterRoleBinding") < kinds.index("ClusterRole") < kinds.index("ServiceAccount")
    assert len(set(refs)) == len(refs)


def test_objects_of_an_install_without_a_revision_have_plain_names() -> None:
    assert {str(ref) for ref in own_objects(World("default").mesh(), "default")} >= {
        "MutatingWebhookConfiguration istio-sidecar-injector",
        "ValidatingWebhookConfiguration istio-validator-istio-system",
        "Deployment istio-system/istiod",
        "ConfigMap istio-system/istio",
        "ClusterRole istiod-clusterrole-istio-system",
    }


def test_nothing_shared_and_nothing_of_another_revision_is_among_its_own() -> None:
    world = healthy_world()
    own = {str(ref) for ref in own_objects(world.mesh(), "stable")}
    others = {str(ref) for ref in own_objects(world.mesh(), "canary")} | {
        str(ref) for ref in own_objects(World("default").mesh(), "default")
    }
    shared = {
        "MutatingWebhookConfiguration istio-revision-tag-prod",
        "MutatingWebhookConfiguration istio-revision-tag-default",
        "ValidatingWebhookConfiguration istiod-default-validator",
        "Service istio-system/istiod-revision-tag-prod",
        "ServiceAccount istio-system/istio-reader-service-account",
        "Secret istio-system/istio-ca-secret",
        "ConfigMap istio-system/istio-ca-root-cert",
        "ConfigMap istio-system/istio-leader",
        "DaemonSet istio-system/istio-cni-node",
    }

    assert own.isdisjoint(others | shared)


def test_defaults_of_gateway_classes_go_with_their_revision_only() -> None:
    world = World("old")
    for revision in ("old", "new"):
        labels = {REV: revision, "gateway.istio.io/defaults-for-class": "istio", **OPERATOR_LABELS}
        world.raw["config_maps"].append(thing("v1", "ConfigMap", f"istio-{revision}-gatewayclass-istio", "istio-system", labels))

    assert [ref.name for ref in own_objects(world.mesh(), "old") if "gatewayclass" in ref.name] == ["istio-old-gatewayclass-istio"]


def test_what_stays_is_reported() -> None:
    crds = [{"metadata": {"name": "gateways.networking.istio.io"}}]

    assert kept_objects(healthy_world().mesh(), crds) == [
        "CustomResourceDefinition gateways.networking.istio.io",
        "MutatingWebhookConfiguration istio-revision-tag-prod",
        "MutatingWebhookConfiguration istio-revision-tag-default",
        "ValidatingWebhookConfiguration istiod-default-validator",
    ]


def test_leases_are_the_two_of_this_revision() -> None:
    assert [str(ref) for ref in own_leases(World("old").mesh(), "old")] == [
        "Lease istio-system/istio-gateway-deployment-old",
        "Lease istio-system/istio-gateway-status-leader-old",
    ]


@pytest.mark.parametrize(
    ("labels", "own"),
    [
        ({REV: "old"}, True),
        ({REV: "new", "app": "istiod", "release": "istio"}, False),
        ({"app": "istiod", "release": "istio"}, True),  # roles of istioctl manifest generate
        ({"app": "istio-reader", "app.kubernetes.io/part-of": "istio"}, True),
        ({"app": "istiod"}, False),
        ({"app": "shop", "release": "shop"}, False),
        ({}, False),
    ],
)
def test_only_what_is_labelled_as_the_charts_do_is_its_own(labels: dict[str, str], own: bool) -> None:
    assert is_of(thing("v1", "ConfigMap", "values", "istio-system", labels), "old") is own


def of_helm(name: str) -> Object:
    found = thing("v1", "Service", name, "istio-system", {REV: "old"})
    found["metadata"]["annotations"] = {"meta.helm.sh/release-name": "istiod-old", "meta.helm.sh/release-namespace": "istio-system"}
    return found


def test_what_helm_owns_is_left_to_helm_with_the_exact_call() -> None:
    with pytest.raises(Refusal, match="belongs to Helm release istiod-old, which owns Service istio-system/istiod-old") as refusal:
        refuse_foreign("old", [thing("v1", "Service", "x", "istio-system", {REV: "old"}), of_helm("istiod-old")])
    assert "kubernetes.core.helm with name=istiod-old release_namespace=istio-system state=absent" in str(refusal.value)
    assert refusal.value.details == {"owner": {"kind": "Helm release", "name": "istiod-old", "namespace": "istio-system"}}


def test_what_the_operator_owns_is_left_to_it_though_it_installs_with_helms_library() -> None:
    found = of_helm("istiod-old")
    found["metadata"]["ownerReferences"] = [{"kind": "IstioRevision", "name": "mesh-old"}]

    with pytest.raises(Refusal, match=r"belongs to IstioRevision mesh-old.*kubectl delete istiorevision mesh-old"):
        refuse_foreign("old", [found])


@pytest.mark.parametrize("labels", [{}, OPERATOR_LABELS])
def test_what_istioctl_or_kubectl_brought_may_go(labels: dict[str, str]) -> None:
    refuse_foreign("old", [thing("v1", "Service", "istiod-old", "istio-system", {REV: "old", **labels})])
