# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import random

import pytest
from mesh_objects import INJECT, INJECTION, REV, World, deactivated, healthy_world, pod, webhook

from ansible_collections.meshops.istio.plugins.module_utils.mesh.injection import Outcome, is_injector_refusal, ready_services
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


@pytest.mark.parametrize(("labels", "injector"), [({}, "canary/default"), ({INJECT: "true"}, "stable/default")])
def test_an_entry_that_a_moved_tag_has_left_behind_injects_from_where_it_calls(labels: dict[str, str], injector: str) -> None:
    world = World("stable", "canary").tag("default", "stable").namespace("shop")
    (left_behind,) = [
        entry
        for entry in webhook("istio-revision-tag-default", "canary", "default", auto=True)["webhooks"]
        if entry["name"].startswith("auto.")
    ]
    world.find("mutating", "istio-revision-tag-default")["webhooks"].append(left_behind)

    assert injector_of(world.mesh(), labels) == injector


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


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        ("service", "its Service does not exist (istio-system/istiod-canary)"),
        ("endpoints", "its Service has no ready endpoint (istio-system/istiod-canary)"),
        ("slices", "its Service has no ready endpoint (istio-system/istiod-canary)"),
        ("ca", "its webhook has no caBundle yet (istio-system/istiod-canary)"),
    ],
)
def test_an_injector_that_cannot_be_called_rejects_pods(damage: str, why: str) -> None:
    world = World("canary").namespace("shop", {REV: "canary"})
    if damage == "service":
        world.raw["services"].clear()
    elif damage == "endpoints":
        world.kill("canary")
    elif damage == "slices":
        world.raw["endpoint_slices"].clear()
    else:
        world.raw["mutating"] = [webhook("istio-sidecar-injector-canary", "canary", "canary", ca_bundle="")]
    found = world.mesh().verdict("shop")

    assert (found.outcome, found.reason) == (Outcome.REJECTED, f'revision "canary" cannot be called: {why}')
    assert found.revision is None, "nobody injects a pod that is rejected"


def test_one_dead_injector_of_two_rejects_the_pod() -> None:
    world = World("default", "stable").tag("default", "stable").namespace("shop", {INJECTION: "enabled"}).kill("stable")

    assert world.mesh().verdict("shop").outcome is Outcome.REJECTED


def test_an_injector_outside_the_cluster_counts_as_callable() -> None:
    world = World("canary").namespace("shop", {REV: "canary"})
    for entry in world.raw["mutating"][0]["webhooks"]:
        entry["clientConfig"] = {"url": "https://istiod.example/inject"}
    world.raw["services"].clear()

    assert world.mesh().verdict("shop").revision == "canary"


def test_webhooks_of_others_are_no_injectors() -> None:
    world = World("canary")
    world.raw["mutating"].append(
        {"metadata": {"name": "cert-manager"}, "webhooks": [{"name": "webhook.cert-manager.io", "clientConfig": {}}]}
    )
    world.raw["mutating"].append({"metadata": {"name": "empty"}})

    assert {injector.configuration for injector in world.mesh().injectors} == {"istio-sidecar-injector-canary"}


@pytest.mark.parametrize(
    ("endpoints", "ready"),
    [
        (None, False),
        ([], False),
        ([{}], True),  # no condition means ready
        ([{"conditions": {"ready": None}}], True),
        ([{"conditions": {"ready": False}}], False),
        ([{"conditions": {"ready": False}}, {"conditions": {"ready": True}}], True),
    ],
)
def test_a_service_is_ready_with_one_ready_endpoint(endpoints: list[dict] | None, ready: bool) -> None:
    metadata = {"namespace": "a", "labels": {"kubernetes.io/service-name": "b"}}

    assert ready_services([{"metadata": metadata, "endpoints": endpoints}]) == ({"a/b"} if ready else set())


def test_a_refusal_by_another_webhook_is_not_the_injectors() -> None:
    assert is_injector_refusal('failed calling webhook "rev.namespace.sidecar-injector.istio.io": connection refused')
    assert not is_injector_refusal('admission webhook "validate.kyverno.svc-fail" denied the request')


def test_a_pod_that_istiod_renders_itself_stays_on_its_revision_though_nobody_injects_it() -> None:
    # A gateway of the Gateway API, or one of an istioctl profile: sidecar.istio.io/inject=false, and a proxy all the same.
    world = healthy_world()
    labels = {INJECT: "false", "gateway.networking.k8s.io/gateway-name": "front"}
    world.raw["pods"].append(pod("shop", "front-istio-1", "stable", owner=("ReplicaSet", "front"), labels=labels, router=True))
    mesh = world.mesh()
    front = next(found for found in mesh.pods if found.name == "front-istio-1")

    assert mesh.verdict("shop", front.labels).outcome is Outcome.NONE
    assert mesh.wanted(front) == "stable"
