# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import random

import pytest
from mesh_objects import INJECTION, OPERATOR_LABELS, REV, World, deactivated, healthy_world, thing

from ansible_collections.meshops.istio.plugins.module_utils.mesh.changes import Ref
from ansible_collections.meshops.istio.plugins.module_utils.mesh.proxies import IstiodAnswer
from ansible_collections.meshops.istio.plugins.module_utils.mesh.refusal import Refusal
from ansible_collections.meshops.istio.plugins.module_utils.mesh.removal import (
    GUARDS,
    blockers,
    kept_objects,
    own_objects,
    refuse_if_needed,
)

PROXY = {"proxy": "web-0.shop", "istio_version": "1.30.3"}
ANSWER = IstiodAnswer("istio-system/istiod-old-1", "old", [PROXY])
SILENT = IstiodAnswer("istio-system/istiod-new-1", "new", error="timed out")


def left_behind() -> World:
    """A tag moved to "new" of which one webhook entry still calls "old"."""
    world = World("old", "new").tag("prod", "new")
    world.find("mutating", "istio-revision-tag-prod")["webhooks"][-1]["clientConfig"]["service"]["name"] = "istiod-old"
    return world


# What still needs revision "old": the world, answers of istiods, pinned configuration → the one guard that must speak, and its words.
NEEDS = {
    "an attached proxy": (World("old", "new"), [ANSWER], [], "proxies", "proxy shop/web-0 hangs on istio-system/istiod-old-1"),
    "an istiod of any revision that does not answer": (
        World("old", "new"),
        [SILENT],
        [],
        "proxies",
        "istio-system/istiod-new-1 of revision new did not answer: timed out",
    ),
    "a pod, attached or not": (World("old", "new").app("shop", "web", "old"), [], [], "pods", "pod shop/web-0 was injected by it"),
    "a namespace label": (
        World("old", "new").namespace("shop", {REV: "old"}),
        [],
        [],
        "namespaces",
        "namespace shop is labelled istio.io/rev=old",
    ),
    "a namespace label while its istiod is dead": (
        World("old", "new").namespace("shop", {REV: "old"}).kill("old"),
        [],
        [],
        "namespaces",
        "namespace shop is labelled istio.io/rev=old",
    ),
    "a pod label": (
        World("old", "new").namespace("shop").app("shop", "web", "new", labels={REV: "old"}),
        [],
        [],
        "pod_labels",
        "the new pods of Deployment shop/web would be injected by it",
    ),
    "a tag": (World("old", "new").tag("prod", "old"), [], [], "tags", "tag prod points at it"),
    "the Service of a tag": (World("old", "new").tag("prod", "new", service="old"), [], [], "tags", "tag prod points at it"),
    "one entry of a tag's webhook": (left_behind(), [], [], "tags", "tag prod points at it"),
    "the default validator": (
        World("old", "new").default_validator("old"),
        [],
        [],
        "validator",
        "istiod-default-validator points at it",
    ),
    "pinned configuration": (
        World("old", "new"),
        [],
        [Ref("VirtualService", "shop", "web")],
        "config",
        "VirtualService shop/web is pinned to it",
    ),
}


@pytest.mark.parametrize(("world", "answers", "config", "guard", "words"), NEEDS.values(), ids=NEEDS)
def test_each_need_keeps_the_revision_by_its_own_guard_alone(
    world: World, answers: list[IstiodAnswer], config: list[Ref], guard: str, words: str
) -> None:
    found = blockers(world.mesh(), "old", answers, config)

    assert found == {guard: [words]}
    with pytest.raises(Refusal, match='revision "old" is kept, nothing was deleted') as refusal:
        refuse_if_needed("old", found, [other for other in GUARDS if other != guard], 20)
    assert refusal.value.details == {"blockers": found}
    assert words in str(refusal.value)
    refuse_if_needed("old", found, [guard], 20)


def test_every_guard_has_a_test() -> None:
    assert {need[3] for need in NEEDS.values()} == set(GUARDS)


@pytest.mark.parametrize(
    "world",
    [
        World("old", "new"),
        World("old", "new").namespace("shop", {REV: "old", INJECTION: "disabled"}),  # ignored beside istio-injection
        World("old", "new")
        .namespace("shop", {REV: "new"})
        .app("shop", "web", "new", labels={REV: "old"}),  # ignored beside the namespace's
        World("new").tag("old", "new").namespace("shop", {REV: "old"}),  # a tag that took the name
        World("old", "new").tag("default", "new").namespace("shop", {INJECTION: "enabled", REV: "old"}),
    ],
)
def test_what_only_looks_like_a_need_does_not_keep_it(world: World) -> None:
    assert blockers(world.mesh(), "old", [IstiodAnswer("a", "new", [PROXY])], []) == {}


def test_an_install_without_a_revision_is_needed_by_istio_injection_while_no_default_tag_exists() -> None:
    world = World("default", "new").namespace("shop", {INJECTION: "enabled"}).app("shop", "web", "new")

    assert blockers(world.mesh(), "default", [], []) == {"namespaces": ["namespace shop is labelled istio-injection=enabled"]}
    world.tag("default", "new").raw["mutating"][0] = deactivated(world.raw["mutating"][0])
    assert blockers(world.mesh(), "default", [], []) == {}


def test_a_long_list_is_cut_in_the_sentence_and_whole_in_the_details() -> None:
    found = {"pods": [f"pod a/{number}" for number in range(30)]}

    with pytest.raises(Refusal, match=r"pod a/0, pod a/1 and 28 more\. Move these first, or waive a guard by its name") as refusal:
        refuse_if_needed("old", found, [], 2)
    assert refusal.value.details == {"blockers": found}


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


def test_blockers_do_not_depend_on_the_order_of_lists() -> None:
    world = healthy_world()
    expected = blockers(world.mesh(), "stable", [ANSWER], [])
    random.Random(1).shuffle(world.raw["pods"])
    random.Random(2).shuffle(world.raw["namespaces"])

    assert blockers(world.mesh(), "stable", [ANSWER], []) == expected
