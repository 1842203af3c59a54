# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import random

import pytest
from mesh_objects import INJECT, INJECTION, REV, World, deactivated, healthy_world, pod, webhook

from ansible_collections.meshops.istio.plugins.module_utils.mesh.injection import Outcome
from ansible_collections.meshops.istio.plugins.module_utils.mesh.pod_template import PodTemplate
from ansible_collections.meshops.istio.plugins.module_utils.mesh.snapshot import Mesh

PODS = {
    "plain": {},
    "rev": {REV: "canary"},
    "inject": {INJECT: "true"},
    "inject and rev": {INJECT: "true", REV: "canary"},
}

# Namespace labels → injector of a pod as in PODS, "revision/tag"; the webhooks are revision "canary", tag "prod" of "canary",
# and the default tag of "stable".
TRUTH = [
    ({}, None, "canary", "stable/default", "canary"),
    ({REV: "canary"}, "canary", "canary", "canary", "canary"),
    ({REV: "prod"}, "canary/prod", "canary/prod", "canary/prod", "canary/prod"),
    ({REV: "default"}, "stable/default", "stable/default", "stable/default", "stable/default"),
    ({REV: "other"}, None, None, None, None),
    *(
        ({INJECTION: "enabled", **revision}, "stable/default", "stable/default", "stable/default", "stable/default")
        for revision in ({}, {REV: "canary"}, {REV: "prod"}, {REV: "other"})
    ),
    *(
        ({INJECTION: value, **revision}, None, None, None, None)
        for value in ("disabled", "", "true")
        for revision in ({}, {REV: "canary"}, {REV: "prod"})
    ),
]
ROWS = [(namespace, kind, answer) for namespace, *answers in TRUTH for kind, answer in zip(PODS, answers)]


def with_default_tag() -> World:
    return World("stable", "canary").tag("prod", "canary").tag("default", "stable")


def injector_of(mesh: Mesh, labels: dict[str, str]) -> str | None:
    found = mesh.verdict("shop", labels)
    return None if found.revision is None else "/".join(name for name in (found.revision, found.tag) if name)


@pytest.mark.parametrize(("namespace", "kind", "answer"), ROWS)
def test_every_pod_is_injected_by_whom_the_truth_table_says(namespace: dict[str, str], kind: str, answer: str | None) -> None:
    assert injector_of(with_default_tag().namespace("shop", namespace).mesh(), PODS[kind]) == answer


@pytest.mark.parametrize(("namespace", "kind", "answer"), ROWS)
def test_an_install_without_a_revision_owns_the_default_like_a_default_tag(
    namespace: dict[str, str], kind: str, answer: str | None
) -> None:
    mesh = World("default", "canary").tag("prod", "canary").namespace("shop", namespace).mesh()

    assert injector_of(mesh, PODS[kind]) == ("default" if answer == "stable/default" else answer)


@pytest.mark.parametrize("namespace", [namespace for namespace, *_answers in TRUTH])
@pytest.mark.parametrize("revision", [{}, {REV: "canary"}])
def test_inject_false_on_the_pod_wins_everywhere(namespace: dict[str, str], revision: dict[str, str]) -> None:
    mesh = with_default_tag().namespace("shop", namespace).mesh()

    assert mesh.verdict("shop", {INJECT: "false", **revision}).outcome is Outcome.NONE


@pytest.mark.parametrize(
    ("namespace", "labels", "injected"),
    [({}, {}, True), ({}, {INJECT: "true"}, True), ({}, {INJECT: "false"}, False), ({INJECTION: "disabled"}, {}, False)],
)
def test_namespaces_by_default_inject_what_says_nothing(namespace: dict[str, str], labels: dict[str, str], injected: bool) -> None:
    world = World("stable").namespace("shop", namespace)
    world.raw["mutating"].append(webhook("istio-revision-tag-default", "stable", "default", tag="default", auto=True))

    assert (injector_of(world.mesh(), labels) == "stable/default") is injected


@pytest.mark.parametrize(
    ("namespace", "labels", "reason"),
    [
        ({INJECTION: "enabled"}, {}, "istio-injection=enabled asks for the default tag, and no revision owns it"),
        (
            {INJECTION: "enabled", REV: "canary"},
            {},
            "istio-injection=enabled asks for the default tag, and no revision owns it; istio.io/rev=canary is ignored beside it",
        ),
        (
            {INJECTION: "disabled", REV: "canary"},
            {},
            "the namespace label istio-injection=disabled switches injection off; istio.io/rev=canary is ignored beside it",
        ),
        ({REV: "ghost"}, {}, "the namespace label istio.io/rev=ghost names no revision and no tag"),
        ({REV: "canary"}, {INJECT: "false"}, "the pod label sidecar.istio.io/inject=false switches injection off"),
        ({}, {REV: "ghost"}, "the pod label istio.io/rev=ghost names no revision and no tag"),
        ({}, {INJECT: "true"}, "the pod label sidecar.istio.io/inject=true asks for the default tag, and no revision owns it"),
        ({}, {}, "neither the namespace nor the pod asks for injection"),
    ],
)
def test_nobody_injects_for_a_reason_that_names_the_label(namespace: dict[str, str], labels: dict[str, str], reason: str) -> None:
    found = World("canary").namespace("shop", namespace).mesh().verdict("shop", labels)

    assert (found.outcome, found.reason, found.revision, found.tag) == (Outcome.NONE, reason, None, None)


def test_of_two_default_owners_the_last_in_order_of_name_wins_whatever_the_order_of_the_list() -> None:
    world = World("default", "stable").tag("default", "stable").namespace("shop", {INJECTION: "enabled"})
    for seed in range(5):
        random.Random(seed).shuffle(world.raw["mutating"])
        found = world.mesh().verdict("shop")

        assert (found.revision, found.tag) == ("default", None), "istio-sidecar-injector comes after istio-revision-tag-default"
        assert found.reason.endswith('tag "default" of revision "stable" acts too and is overwritten')


def test_both_labels_are_explained_where_istio_injection_wins() -> None:
    mesh = with_default_tag().namespace("shop", {INJECTION: "enabled", REV: "canary"}).mesh()

    assert mesh.verdict("shop").reason == (
        'injected by tag "default" of revision "stable": istio-injection=enabled wins over istio.io/rev=canary'
    )


def test_a_deactivated_injector_acts_on_nothing_and_owns_no_default() -> None:
    world = World("default").namespace("shop", {INJECTION: "enabled"}).namespace("pay", {REV: "default"})
    world.raw["mutating"] = [deactivated(configuration) for configuration in world.raw["mutating"]]
    mesh = world.mesh()

    assert [mesh.verdict(name).outcome for name in ("shop", "pay")] == [Outcome.NONE, Outcome.NONE]
    assert mesh.default_revision is None


def test_an_istiod_that_leaves_a_pod_alone_is_named_and_the_pod_has_no_sidecar() -> None:
    mesh = World("canary").namespace("shop", {REV: "canary"}).mesh()
    found = mesh.verdict_of("shop", PodTemplate(annotations={INJECT: "false"}))

    assert (found.outcome, found.revision, found.certain) == (Outcome.NONE, None, True)
    assert found.reason == 'revision "canary" is called, but the pod annotation sidecar.istio.io/inject=false says no'
    assert found.injector is not None, "its webhook is called all the same, so it must not be removed"


def test_an_istiod_that_refuses_a_pod_rejects_it() -> None:
    mesh = World("canary").namespace("shop", {REV: "canary"}).mesh()
    found = mesh.verdict_of("shop", PodTemplate(annotations={"inject.istio.io/templates": "mine"}))

    assert (found.outcome, found.reason) == (
        Outcome.REJECTED,
        'revision "canary" refuses the pod: the pod annotation inject.istio.io/templates names "mine", a template that it does not have',
    )


def test_of_two_injectors_the_last_that_does_not_decline_wins() -> None:
    world = World("default", "stable").tag("default", "stable").namespace("shop", {INJECTION: "enabled"})
    world.injection_config("default", policy="disabled")

    assert world.mesh().verdict("shop").revision == "stable"


AMBIENT = {"istio.io/dataplane-mode": "ambient"}
CARRIED = "; no sidecar: ztunnel carries it (ambient)"


@pytest.mark.parametrize(
    ("namespace", "pod", "carried"),
    [
        (AMBIENT, PodTemplate(), True),
        (AMBIENT, PodTemplate({"istio.io/dataplane-mode": "none"}), False),
        (AMBIENT, PodTemplate(host_network=True), False),
        ({}, PodTemplate(AMBIENT), True),
        ({}, PodTemplate(), False),
        ({**AMBIENT, REV: "canary"}, PodTemplate(annotations={INJECT: "false"}), True),
        ({**AMBIENT, REV: "canary"}, PodTemplate(), False),  # a pod with a sidecar is not captured
    ],
)
def test_a_pod_without_a_sidecar_in_an_ambient_namespace_is_carried_by_ztunnel(
    namespace: dict[str, str], pod: PodTemplate, carried: bool
) -> None:
    found = World("canary").namespace("shop", namespace).mesh().verdict_of("shop", pod)

    assert found.reason.endswith(CARRIED) is carried


def test_a_pod_that_istiod_renders_itself_stays_on_its_revision_though_nobody_injects_it() -> None:
    # A gateway of the Gateway API, or one of an istioctl profile: sidecar.istio.io/inject=false, and a proxy all the same.
    world = healthy_world()
    labels = {INJECT: "false", "gateway.networking.k8s.io/gateway-name": "front"}
    world.raw["pods"].append(pod("shop", "front-istio-1", "stable", owner=("ReplicaSet", "front"), labels=labels, router=True))
    mesh = world.mesh()
    front = next(found for found in mesh.pods if found.name == "front-istio-1")

    assert mesh.verdict("shop", front.labels).outcome is Outcome.NONE
    assert mesh.wanted(front) == "stable"


def test_the_successor_of_a_pod_is_judged_by_its_own_annotations_and_network() -> None:
    world = healthy_world()
    for name, own in {"quiet": {INJECT: "false"}, "loud": {}}.items():
        world.raw["pods"].append(pod("shop", name, "stable", annotations=own))
    world.find("pods", "loud")["spec"]["hostNetwork"] = True
    mesh = world.mesh()

    assert [mesh.wanted(found) for found in mesh.pods if found.name in ("quiet", "loud")] == [None, None]
