# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from collections.abc import Callable

import pytest
from mesh_objects import (
    INJECT,
    INJECTION,
    OPERATOR_LABELS,
    REV,
    TAG,
    Object,
    World,
    deactivated,
    healthy_world,
    pod,
    thing,
    webhook,
    workload,
)

from ansible_collections.meshops.istio.plugins.module_utils.mesh.finding import Finding, first_of_each_code
from ansible_collections.meshops.istio.plugins.module_utils.mesh.findings import findings
from ansible_collections.meshops.istio.plugins.module_utils.mesh.view import mesh_view

HELM = "meta.helm.sh/release-name"
AUTOMATIC = {"mutating": "istio-revision-tag-default", "validating": "istiod-default-validator"}


def with_template(world: World, name: str, **labels: str) -> World:
    """A Deployment in "shop" whose pod template has these labels."""
    found = workload("Deployment", "shop", name, 0)
    found["spec"]["template"]["metadata"]["labels"] = {
        key.replace("rev", REV).replace("inject", INJECT): value for key, value in labels.items()
    }
    world.raw["workloads"].append(found)
    return world


def with_thing(world: World, noun: str, *things: Object) -> World:
    world.raw.setdefault(noun, []).extend(things)
    return world


def changed(world: World, noun: str, name: str, change: Callable[[Object], object]) -> World:
    change(world.find(noun, name))
    return world


def with_proxies(world: World, version: str, *, revision: str = "stable") -> World:
    """A pod of this revision whose proxy has another version than its istiod, which is 1.30.3."""
    found = pod("shop", "web-0", revision)
    found["spec"]["containers"][1]["image"] = f"registry:5000/istio/proxyv2:{version}"
    world.raw["pods"].append(found)
    return world.namespace("shop", {REV: revision})


def owned(kind: str, name: str, component: str, revision: str) -> Object:
    found = workload(kind, "istio-system", name)
    found["metadata"]["labels"] = {**OPERATOR_LABELS, "operator.istio.io/component": component, REV: revision}
    return found


def under_way(webhook: Object) -> None:
    webhook["metadata"]["annotations"] = {"meshops.istio/transition": '{"from": "old", "to": "stable"}'}


def being_deleted(found: Object) -> None:
    found["metadata"]["deletionTimestamp"] = "2026-11-30T20:00:00Z"


def with_template_that_says_no() -> World:
    world = with_template(World("stable").namespace("shop"), "web", rev="stable")
    world.find("workloads", "web")["spec"]["template"]["metadata"]["annotations"] = {INJECT: "false"}
    return world


def without_deployment(world: World) -> World:
    world.raw["istiod_deployments"] = []
    return world


def gateway_taken_over(before: str, after: str = "canary") -> World:
    world = World("stable").revision("canary", version="1.31.0")
    with_thing(world, "workloads", owned("Deployment", "ingress", "IngressGateways", after))
    for number, revision in enumerate((before, after)):
        replica_set = thing("apps/v1", "ReplicaSet", f"ingress-{number}", "istio-system", {REV: revision})
        replica_set["metadata"]["ownerReferences"] = [{"kind": "Deployment", "name": "ingress", "controller": True}]
        world.raw["replica_sets"].append(replica_set)
    return world


def with_definitions(version: str) -> World:
    world = World("stable")
    world.find("istiod_deployments", "istiod-stable")["metadata"]["labels"]["app.kubernetes.io/version"] = "1.30.3"
    labels = {"app.kubernetes.io/version": version}
    return with_thing(
        world, "crds", thing("apiextensions.k8s.io/v1", "CustomResourceDefinition", "sidecars.networking.istio.io", labels=labels)
    )


def with_config(revision: str) -> World:
    return with_thing(
        World("stable").tag("prod", "stable"), "config", thing("", "virtualservices.networking.istio.io", "web", "shop", {REV: revision})
    )


def no_ca_bundle(configuration: Object) -> None:
    for entry in configuration["webhooks"]:
        del entry["clientConfig"]["caBundle"]


def ignoring(configuration: Object) -> None:
    for entry in configuration["webhooks"]:
        entry["failurePolicy"] = "Ignore"


def of_release(name: str) -> Callable[[Object], object]:
    return lambda found: found["metadata"].setdefault("annotations", {}).update({HELM: name})


def by_helm(world: World, release: str) -> World:
    """Everything of it bears the marks of Helm instead of istioctl's."""
    for noun in ("istiod_deployments", "services", "mutating", "validating", "config_maps"):
        for found in world.raw[noun]:
            found["metadata"]["annotations"] = {HELM: release}
            found["metadata"]["labels"].pop("install.operator.istio.io/owning-resource-namespace", None)
    return world


def argo_cd_writes_the_label(namespace: Object) -> None:
    fields = {"f:metadata": {"f:labels": {f"f:{REV}": {}}}}
    namespace["metadata"]["managedFields"] = [{"manager": "argocd-controller", "operation": "Apply", "fieldsV1": fields}]


def tag_of_helm(mover: str) -> World:
    """Helm has made the webhook, and somebody has set the revision label last."""
    record = thing("", "MutatingWebhookConfiguration", "istio-revision-tag-prod", labels={REV: "stable", TAG: "prod"})
    fields = {"f:metadata": {"f:labels": {f"f:{REV}": {}}}}
    record["metadata"]["managedFields"] = [{"manager": "helm", "fieldsV1": {"f:webhooks": {}}}, {"manager": mover, "fieldsV1": fields}]
    return with_thing(World("stable").tag("prod", "stable"), "tag_records", record)


def without_istiod(world: World, revision: str) -> World:
    """Its Deployment, Service and webhooks are gone; tags, the default validator and pods are left."""
    for noun in ("istiod_deployments", "services", "mutating", "validating"):
        world.raw[noun] = [
            found
            for found in world.raw[noun]
            if found["metadata"]["labels"].get(REV) != revision
            or TAG in found["metadata"]["labels"]
            or found["metadata"]["name"] in AUTOMATIC.values()
        ]
    return world


WRONG = {
    # namespaces
    "two labels": (World("stable").namespace("shop", {REV: "stable", INJECTION: "disabled"}), ["namespace-two-labels"]),
    "a dead injector": (World("stable").namespace("shop", {REV: "stable"}).kill("stable"), ["istiod-not-ready", "namespace-injector-dead"]),
    "a label that names nothing": (World("stable").namespace("shop", {REV: "ghost"}), ["namespace-nobody-injects"]),
    "istio-injection without a default owner": (World("stable").namespace("shop", {INJECTION: "enabled"}), ["namespace-nobody-injects"]),
    "both labels and nobody": (
        World("stable").namespace("shop", {REV: "stable", INJECTION: "enabled"}),
        ["namespace-nobody-injects", "namespace-two-labels"],
    ),
    "ambient and sidecars": (
        World("stable").namespace("shop", {REV: "stable", "istio.io/dataplane-mode": "ambient"}),
        ["namespace-ambient-and-sidecar"],
    ),
    "labels that Argo CD puts back": (
        changed(World("stable").namespace("shop", {REV: "stable"}), "namespaces", "shop", argo_cd_writes_the_label),
        ["namespace-label-in-git"],
    ),
    # tags
    "a tag that two claim": (World("stable", "canary").tag("prod", "canary", service="stable"), ["tag-split"]),
    "a tag of a revision that is gone": (World("stable").tag("prod", "gone"), ["tag-dangling"]),
    "a tag named like another revision": (World("stable", "canary").tag("canary", "stable"), ["tag-named-like-revision"]),
    "a tag of a Helm release that istioctl has moved": (tag_of_helm("istio-ci"), ["tag-moved-beside-helm"]),
    # injectors
    "two default owners": (World("default", "stable").tag("default", "stable"), ["default-owners"]),
    "two tags of one name": (
        with_thing(World("stable").tag("prod", "stable"), "mutating", webhook("istio-revision-tag-prod-two", "stable", "prod", tag="prod")),
        ["injectors-overlap"],
    ),
    "an injector whose Service is gone": (
        with_thing(World("stable"), "mutating", webhook("istio-sidecar-injector-old", "old", "old")),
        ["injector-dangling"],
    ),
    "an istiod that is down and not needed": (World("stable", "canary").kill("canary"), ["istiod-not-ready"]),
    "no certificate yet": (
        changed(World("stable").tag("prod", "stable"), "mutating", "istio-revision-tag-prod", no_ca_bundle),
        ["webhook-certificate"],
    ),
    "entries that call two revisions": (
        changed(
            World("stable", "canary").tag("prod", "stable"),
            "mutating",
            "istio-revision-tag-prod",
            lambda found: found["webhooks"][1].update(clientConfig=webhook("other", "canary", "canary")["webhooks"][0]["clientConfig"]),
        ),
        ["webhook-entries-differ"],
    ),
    # validators
    "a validator of a revision that is gone": (World("stable").default_validator("gone"), ["validator-dangling"]),
    "a validator without a certificate": (
        changed(World("stable"), "validating", "istio-validator-stable-istio-system", no_ca_bundle),
        ["webhook-certificate"],
    ),
    "a validator whose tag is gone": (World("stable").default_validator("stable", **{TAG: "default"}), ["validator-left-over"]),
    "a validator that has not moved along": (
        World("stable", "canary").default_validator("stable").namespace("shop", {REV: "canary"}).app("shop", "web", "canary"),
        ["validator-left-behind"],
    ),
    # pods
    "proxies without an istiod": (
        without_istiod(World("stable", "old").namespace("shop", {REV: "stable"}).app("shop", "web", "old", "old"), "old"),
        ["proxies-orphaned"],
    ),
    "sidecars whose label was taken away": (World("stable").namespace("shop").app("shop", "web", "stable"), ["sidecars-not-renewed"]),
    "pods born before the label": (
        with_thing(World("stable").namespace("shop", {REV: "stable"}), "pods", pod("shop", "web-0", None)),
        ["pods-without-sidecar"],
    ),
    "proxies newer than their istiod": (with_proxies(World("stable"), "1.31.0"), ["proxies-newer-than-istiod"]),
    "proxies three minors older": (with_proxies(World("stable"), "1.27.9-distroless"), ["proxies-too-old"]),
    # pod templates
    "a pod label under a namespace label": (
        with_template(World("stable", "canary").namespace("shop", {REV: "stable"}), "web", rev="canary"),
        ["pod-label-ignored"],
    ),
    "a pod label in a namespace that says no": (
        with_template(World("stable").namespace("shop", {INJECTION: "disabled"}), "web", rev="stable"),
        ["pod-label-ignored"],
    ),
    "a pod label that names nothing": (with_template(World("stable").namespace("shop"), "web", rev="ghost"), ["workload-nobody-injects"]),
    "a gateway without a default owner": (
        with_template(World("stable").namespace("shop"), "gate", inject="true"),
        ["workload-nobody-injects"],
    ),
    "a pod label of a dead revision": (
        with_template(World("stable").namespace("shop").kill("stable"), "web", rev="stable"),
        ["istiod-not-ready", "workload-injector-dead"],
    ),
    "a tag whose move has not ended": (
        changed(World("stable").tag("prod", "stable"), "mutating", "istio-revision-tag-prod", under_way),
        ["tag-transition-unfinished"],
    ),
    # shared
    "a node agent of the older revision": (
        with_thing(
            World("stable").revision("canary", version="1.31.0"), "workloads", owned("DaemonSet", "istio-cni-node", "Cni", "stable")
        ),
        ["node-agent-owned"],
    ),
    "a gateway that the canary rolled": (gateway_taken_over("stable"), ["gateway-taken-over"]),
    "definitions older than istiod": (with_definitions("1.29.2"), ["crds-old"]),
    "a revision of two installers": (
        changed(World("stable"), "istiod_deployments", "istiod-stable", of_release("istiod-stable")),
        ["installers-mixed"],
    ),
    # left over
    "configuration for a tag": (with_config("prod"), ["config-hidden"]),
    "configuration for a revision that is gone": (with_config("old"), ["config-hidden"]),
    "leases of a revision that is gone": (
        with_thing(
            World("stable"),
            "leases",
            *(thing("", "Lease", f"istio-gateway-{part}-old", "istio-system") for part in ("deployment", "status-leader")),
        ),
        ["lease-left-over"],
    ),
    "other clusters": (with_thing(World("stable"), "remote_secrets", thing("v1", "Secret", "east", "istio-system")), ["remote-clusters"]),
    "what may not be read": (with_thing(World("stable"), "unread", {"what": "leases", "why": "No."}), ["not-looked-at"]),
}

FINE = {
    "an istiod that injects only pods that ask by themselves": World("stable")
    .injection_config("stable", policy="disabled")
    .namespace("shop", {REV: "stable"}),
    "a pod template that names a revision and says no": with_template_that_says_no(),
    "proxies of an istiod that runs in another cluster, behind a Service of this one": without_deployment(healthy_world()),
    "a bare pod that was injected by hand, and has no successor": with_thing(
        World("stable").namespace("shop"), "pods", pod("shop", "tool", "stable")
    ),
    "a pod whose proxy has a name of its own": with_thing(
        World("stable").namespace("shop", {REV: "stable"}), "pods", pod("shop", "odd", None, annotations={"sidecar.istio.io/status": "{}"})
    ),
    "a proxy of another version that is ending": changed(with_proxies(World("stable"), "1.31.0"), "pods", "web-0", being_deleted),
    "a namespace in Git that follows a tag": changed(
        World("stable").tag("prod", "stable").namespace("shop", {REV: "prod"}), "namespaces", "shop", argo_cd_writes_the_label
    ),
    "a namespace in Git that says no": changed(
        World("stable").namespace("shop", {INJECTION: "disabled"}), "namespaces", "shop", argo_cd_writes_the_label
    ),
    "a healthy mesh": healthy_world(),
    "a namespace that is being deleted": changed(
        World("stable").namespace("shop", {REV: "stable"}).app("shop", "web", "stable"), "namespaces", "shop", being_deleted
    ),
    "namespaces that ask for nothing or say no": healthy_world().namespace("plain").namespace("off", {INJECTION: "disabled"}),
    "Helm's default validator, which asks nobody and is ignored": changed(
        World("stable").default_validator("default"), "validating", "istiod-default-validator", ignoring
    ),
    "an install without a revision whose injector istioctl has switched off": with_thing(
        World("stable").tag("default", "stable"), "mutating", deactivated(webhook("istio-sidecar-injector", "default", "default"))
    ),
    "a default tag on an install without a revision": with_thing(World(), "services").revision("default"),
    "a tag that Helm has set": tag_of_helm("helm"),
    "a tag of the release of its revision": by_helm(World("stable").tag("prod", "stable"), "istiod-stable"),
    "a pod of the host's network": with_thing(
        World("stable").namespace("shop", {REV: "stable"}),
        "pods",
        {**pod("shop", "agent", None), "spec": {"hostNetwork": True, "containers": []}},
    ),
    "a pod that says no": with_thing(
        World("stable").namespace("shop", {REV: "stable"}),
        "pods",
        pod("shop", "by-label", None, labels={INJECT: "false"}),
        pod("shop", "by-annotation", None, annotations={INJECT: "false"}),
    ),
    "a proxy of a version that nobody knows": with_proxies(World("stable"), "latest"),
    "a proxy two minors older": with_proxies(World("stable"), "1.28.0"),
    "a pod label that names what the namespace gives": with_template(
        World("stable").tag("prod", "stable").namespace("shop", {REV: "prod"}), "web", rev="stable"
    ),
    "a gateway rendered by an install": with_template(World("stable").namespace("shop"), "gate", rev="ghost", inject="false"),
    "a node agent of the newest revision": with_thing(
        World("stable").revision("canary", version="1.31.0"), "workloads", owned("DaemonSet", "istio-cni-node", "Cni", "canary")
    ),
    "a gateway whose former revision is gone": gateway_taken_over("old"),
    "a gateway that the old revision has taken back": gateway_taken_over("canary", "stable"),
    "definitions of the same version": with_definitions("1.30.0"),
    "definitions of a version that nobody knows": with_definitions("1.0.0"),
    "configuration for a revision that exists": with_config("stable"),
    "leases of a revision that exists": with_thing(
        World("stable"), "leases", thing("", "Lease", "istio-gateway-deployment-stable", "istio-system"), thing("", "Lease", "other")
    ),
}


@pytest.mark.parametrize(("world", "codes"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_found_once_with_a_remedy_and_errors_come_first(world: World, codes: list[str]) -> None:
    found = findings(world.mesh())

    assert [finding.code for finding in found] == codes
    assert [finding.severity for finding in found] == sorted(finding.severity for finding in found)
    assert all(finding.remedy.endswith(".") and finding.message.endswith(".") for finding in found)


@pytest.mark.parametrize("world", FINE.values(), ids=FINE)
def test_what_is_well_is_no_finding(world: World) -> None:
    assert findings(world.mesh()) == []


def test_of_two_default_owners_the_stale_one_is_named() -> None:
    (found,) = findings(World("default", "stable").tag("default", "stable").mesh())

    assert "istio-sidecar-injector is the stale one" in found.message


def test_an_istiod_that_is_down_is_an_error_as_soon_as_somebody_depends_on_it() -> None:
    idle = World("stable", "canary").kill("canary")
    asked_for_configuration = World("stable", "canary").kill("canary").default_validator("canary")

    assert [finding.severity for finding in findings(idle.mesh())] == ["warning"]
    assert [finding.severity for finding in findings(asked_for_configuration.mesh())] == ["error"]


def test_one_mistake_in_hundreds_of_namespaces_is_shown_so_often_as_asked_and_counted_in_full() -> None:
    world = World("stable").tag("prod", "gone")
    for number in range(300):
        world.namespace(f"shop-{number}", {REV: "ghost"})

    view = mesh_view(world.mesh(), sample_size=5)

    assert view["finding_counts"] == {"namespace-nobody-injects": 300, "tag-dangling": 1}
    assert [finding["code"] for finding in view["findings"]] == [*["namespace-nobody-injects"] * 5, "tag-dangling"]


def test_findings_of_one_code_do_not_displace_others() -> None:
    found = [Finding(code, "error", str(number), "", "") for code in "ab" for number in range(3)]

    assert [(finding.code, finding.object) for finding in first_of_each_code(found, 2)] == [("a", "0"), ("a", "1"), ("b", "0"), ("b", "1")]


def test_the_view_shows_who_injects_whom_and_leaves_out_namespaces_without_a_mesh() -> None:
    view = mesh_view(healthy_world().namespace("plain").mesh(), sample_size=20)

    assert view["default_revision"] == "stable"
    assert [revision["name"] for revision in view["revisions"]] == ["canary", "stable"]
    assert [(one["name"], one["injector"], one["tag"], one["outcome"], one["revisions"]) for one in view["namespaces"]] == [
        ("lab", "canary", None, "injected", {"canary": 1}),
        ("pay", "stable", "default", "injected", {"stable": 2}),
        ("shop", "stable", "prod", "injected", {"stable": 3}),
    ]
    assert {workload["state"] for workload in view["workloads"]} == {"current"}
    assert view["findings"] == []


def test_an_empty_cluster_has_a_view_too() -> None:
    assert mesh_view(World().mesh(), sample_size=20) == {
        "default_revision": None,
        "revisions": [],
        "tags": [],
        "namespaces": [],
        "workloads": [],
        "findings": [],
        "finding_counts": {},
    }
