# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What webhooks, Services, endpoints and ConfigMaps say about an injector, and what that makes of a pod."""

from __future__ import annotations

import base64

import pytest
from mesh_objects import INJECT, INJECTION, REV, World, webhook

from ansible_collections.meshops.istio.plugins.module_utils.mesh.injection import Outcome
from ansible_collections.meshops.istio.plugins.module_utils.mesh.injectors import is_injector_refusal, ready_services
from ansible_collections.meshops.istio.plugins.module_utils.mesh.snapshot import Mesh


def injector_of(mesh: Mesh, labels: dict[str, str]) -> str | None:
    found = mesh.verdict("shop", labels)
    return None if found.revision is None else "/".join(name for name in (found.revision, found.tag) if name)


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


@pytest.mark.parametrize(
    ("client", "service"),
    [
        ({"url": "https://user:secret@istiod.example:15017/inject/cluster/west?token=secret"}, None),
        ({"service": {"namespace": "istio-system", "name": "istiod-canary"}, "caBundle": "Q0E="}, "istiod.example:15017"),
    ],
)
def test_an_injector_outside_the_cluster_is_believed_and_doubted(client: dict, service: str | None) -> None:
    world = World("canary").namespace("shop", {REV: "canary"})
    for entry in world.raw["mutating"][0]["webhooks"]:
        entry["clientConfig"] = client
    for noun in ("config_maps", "istiod_deployments", "endpoint_slices"):
        world.raw[noun].clear()
    if service:
        world.find("services", "istiod-canary")["spec"] = {"type": "ExternalName", "externalName": service}
    else:
        world.raw["services"].clear()
    found = world.mesh().verdict("shop")

    assert (found.revision, found.certain) == ("canary", False)
    assert found.reason == (
        'injected by revision "canary"; revision "canary" is called outside this cluster, at istiod.example:15017, '
        "so whether it answers cannot be seen from here"
    )
    assert world.mesh().revisions["canary"].ready


def test_a_policy_is_looked_up_where_the_istiod_lives_and_by_its_revision() -> None:
    world = World("default", "stable", "canary").tag("prod", "canary").injection_config("canary", policy="disabled")
    for name, labels in {"shop": {REV: "prod"}, "pay": {REV: "stable"}, "old": {INJECTION: "enabled"}}.items():
        world.namespace(name, labels)
    mesh = world.mesh()

    assert [mesh.verdict(name).revision for name in ("shop", "pay", "old")] == [None, "stable", "default"]
    assert mesh.verdict("shop", {INJECT: "true"}).revision == "canary"


def test_a_policy_that_cannot_be_read_is_a_doubt() -> None:
    world = World("canary").namespace("shop", {REV: "canary"})
    world.raw["config_maps"].clear()
    found = world.mesh().verdict("shop")

    assert (found.revision, found.certain) == ("canary", False)
    assert found.reason.endswith('the injection policy of revision "canary" cannot be read, so the usual one is assumed')


def test_match_conditions_are_said_not_to_be_evaluated() -> None:
    world = World("canary").namespace("shop", {REV: "canary"})
    for entry in world.raw["mutating"][0]["webhooks"]:
        entry["matchConditions"] = [{"name": "mine", "expression": "object.metadata.name != 'x'"}]
    found = world.mesh().verdict("shop")

    assert (found.revision, found.certain) == ("canary", False)
    assert found.reason.endswith('revision "canary" has matchConditions (istio-sidecar-injector-canary), which were not evaluated')


@pytest.mark.parametrize(
    ("rules", "acts"),
    [
        ([], False),
        ([{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}], True),
        ([{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["pods"]}], False),
        ([{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods/exec"]}], False),
        ([{"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["*"]}], False),
        ([{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"], "scope": "Cluster"}], False),
    ],
)
def test_an_entry_acts_only_if_its_rules_cover_new_pods(rules: list[dict], acts: bool) -> None:
    world = World("canary").namespace("shop", {REV: "canary"})
    for entry in world.raw["mutating"][0]["webhooks"]:
        entry["rules"] = rules

    assert (world.mesh().verdict("shop").revision == "canary") is acts


def test_a_dead_injector_whose_failure_is_ignored_leaves_pods_without_a_sidecar() -> None:
    world = World("canary").namespace("shop", {REV: "canary"}).kill("canary")
    for entry in world.raw["mutating"][0]["webhooks"]:
        entry["failurePolicy"] = "Ignore"
    found = world.mesh().verdict("shop")

    assert (found.outcome, found.reason) == (
        Outcome.NONE,
        'revision "canary" is called, but its Service has no ready endpoint (istio-system/istiod-canary), and its failurePolicy is Ignore',
    )


def pem(*names: str) -> str:
    text = "".join(f"-----BEGIN CERTIFICATE-----\n{name}\n-----END CERTIFICATE-----\n" for name in names)
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("own", "tags", "outcome"),
    [
        (["new"], ["new"], Outcome.INJECTED),
        (["new"], ["old"], Outcome.REJECTED),
        (["old", "new"], ["old"], Outcome.INJECTED),  # a CA that is being replaced
        (["new"], ["old", "new"], Outcome.INJECTED),
    ],
)
def test_a_tag_with_a_ca_bundle_that_its_revision_does_not_have_cannot_be_called(own: list[str], tags: list[str], outcome: Outcome) -> None:
    world = World().namespace("shop", {REV: "prod"}).revision("canary")
    world.raw["mutating"] = [
        webhook("istio-sidecar-injector-canary", "canary", "canary", ca_bundle=pem(*own)),
        webhook("istio-revision-tag-prod", "canary", "prod", tag="prod", ca_bundle=pem(*tags)),
    ]
    found = world.mesh().verdict("shop")

    assert found.outcome is outcome
    if outcome is Outcome.REJECTED:
        assert "caBundle that the certificate of its istiod does not come from" in found.reason


def test_what_a_webhook_of_another_label_trusts_says_nothing_about_the_revision_that_it_calls() -> None:
    # Only istiod's own configurations are kept right by it; this one calls it without its label.
    world = World("canary").namespace("shop", {REV: "ghost"})
    world.raw["mutating"].append(webhook("of-another-name", "canary", "ghost", ca_bundle=pem("other")))
    world.find("mutating", "of-another-name")["metadata"]["labels"] = {REV: "ghost"}

    assert world.mesh().verdict("shop").outcome is Outcome.REJECTED


def test_an_operators_webhooks_count_by_their_entries_whatever_their_names() -> None:
    # Sail, and OpenShift Service Mesh 3: an IstioRevision per version, an IstioRevisionTag as its tag, names with the namespace behind.
    world = World("default-v1-30-1").namespace("shop", {INJECTION: "enabled"}).namespace("pay", {REV: "default-v1-30-1"})
    own, tag = world.raw["mutating"][0], webhook("some-operators-tag", "default-v1-30-1", "default", tag="default")
    for configuration, kind in ((own, "IstioRevision"), (tag, "IstioRevisionTag")):
        configuration["metadata"]["ownerReferences"] = [{"kind": kind, "name": "default", "controller": True}]
    own["metadata"]["name"] = "istio-sidecar-injector-default-v1-30-1-istio-system"
    world.raw["mutating"].append(tag)
    mesh = world.mesh()

    assert (mesh.verdict("shop").revision, mesh.verdict("shop").tag) == ("default-v1-30-1", "default")
    assert (mesh.verdict("pay").revision, mesh.verdict("pay").tag) == ("default-v1-30-1", None)


@pytest.mark.parametrize("service", [None, "canary"])
def test_a_tag_injects_with_and_without_a_service_of_its_own(service: str | None) -> None:
    mesh = World("canary").tag("prod", "canary", service=service).namespace("shop", {REV: "prod"}).mesh()

    assert (mesh.verdict("shop").revision, mesh.verdict("shop").tag) == ("canary", "prod")


def test_a_tag_that_is_only_a_service_injects_nothing() -> None:
    world = World("canary").tag("prod", "canary").namespace("shop", {REV: "prod"})
    world.raw["mutating"] = [found for found in world.raw["mutating"] if found["metadata"]["name"] != "istio-revision-tag-prod"]

    assert world.mesh().verdict("shop").reason == "the namespace label istio.io/rev=prod names no revision and no tag"


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
