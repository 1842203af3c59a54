# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import random

import pytest
from mesh_objects import INJECTION, REV, Object, World, deactivated, healthy_world, validator, webhook, workload

from ansible_collections.meshops.istio.plugins.module_utils.mesh.changes import Ref
from ansible_collections.meshops.istio.plugins.module_utils.mesh.pod_template import PodTemplate
from ansible_collections.meshops.istio.plugins.module_utils.mesh.proxies import IstiodAnswer
from ansible_collections.meshops.istio.plugins.module_utils.mesh.refusal import Refusal
from ansible_collections.meshops.istio.plugins.module_utils.mesh.removal import (
    GUARDS,
    Evidence,
    Template,
    blockers,
    refuse_if_needed,
    witnesses,
)
from ansible_collections.meshops.istio.plugins.module_utils.mesh.workloads import Owner

PROXY = {"proxy": "web-0.shop", "istio_version": "1.30.3"}
ANSWER = IstiodAnswer("istio-system/istiod-old-1", "old", [PROXY])
SILENT = IstiodAnswer("istio-system/istiod-new-1", "new", error="timed out")


def two() -> World:
    return World("old", "new")


def left_behind() -> World:
    """A tag moved to "new" of which one webhook entry still calls "old"."""
    world = two().tag("prod", "new")
    world.find("mutating", "istio-revision-tag-prod")["webhooks"][-1]["clientConfig"]["service"]["name"] = "istiod-old"
    return world


def with_webhook(configuration: Object, noun: str = "mutating", *, url: str = "", label: str | None = None) -> World:
    """A further webhook configuration; with a URL it calls that, with a label it says to be of that revision."""
    for entry in configuration["webhooks"]:
        if url:
            entry["clientConfig"] = {"url": url}
    if label is not None:
        configuration["metadata"]["labels"] = {REV: label}
    world = two()
    world.raw[noun].append(configuration)
    return world


def own_injector_calls(url: str) -> World:
    world = two()
    for entry in world.find("mutating", "istio-sidecar-injector-old")["webhooks"]:
        entry["clientConfig"] = {"url": url}
    return world


def asleep(kind: str = "Deployment", labels: dict[str, str] | None = None, annotations: dict[str, str] | None = None) -> World:
    """A workload without a pod in a namespace without a label."""
    world = two().namespace("shop")
    template = {"metadata": {"labels": labels or {}, "annotations": annotations or {}}}
    world.raw["workloads"].append(workload(kind, "shop", "web", 0, template=template))
    return world


def nightly(**labels: str) -> Evidence:
    return Evidence(templates=[Template(Owner("CronJob", "shop", "night"), PodTemplate({"app": "night", **labels}))])


# What still needs revision "old": the world, what else was looked at → the one guard that must speak, and its words.
Need = tuple[World, Evidence, str, str]
NEEDS: dict[str, Need] = {
    "an attached proxy": (two(), Evidence([ANSWER]), "proxies", "proxy shop/web-0 hangs on istio-system/istiod-old-1"),
    "an istiod of any revision that does not answer": (
        two(),
        Evidence([SILENT]),
        "unanswered",
        "istio-system/istiod-new-1 of revision new did not answer: timed out",
    ),
    "a pod, attached or not": (two().app("shop", "web", "old"), Evidence(), "pods", "pod shop/web-0 was injected by it"),
    "a template with its proxy in it and no pod": (
        asleep(labels={"sidecar.istio.io/inject": "false"}, annotations={REV: "old"}),
        Evidence(),
        "pods",
        "the template of Deployment shop/web has a proxy of it",
    ),
    "a namespace label": (two().namespace("shop", {REV: "old"}), Evidence(), "namespaces", "namespace shop is labelled istio.io/rev=old"),
    "a namespace label while its istiod is dead": (
        two().namespace("shop", {REV: "old"}).kill("old"),
        Evidence(),
        "namespaces",
        "namespace shop is labelled istio.io/rev=old",
    ),
    "a pod label": (
        two().namespace("shop").app("shop", "web", "new", labels={REV: "old"}),
        Evidence(),
        "pod_labels",
        "the new pods of Deployment shop/web would be injected by it",
    ),
    "a label in the template of what is scaled to zero": (
        asleep("StatefulSet", labels={REV: "old"}),
        Evidence(),
        "pod_labels",
        "the new pods of StatefulSet shop/web would be injected by it",
    ),
    "a label in the template of a CronJob": (
        two().namespace("shop"),
        nightly(**{REV: "old"}),
        "pod_labels",
        "the new pods of CronJob shop/night would be injected by it",
    ),
    "Jobs that nobody may read": (
        two(),
        Evidence(unseen={"pod_labels": ["not seen: jobs"]}),
        "pod_labels",
        "not seen: jobs",
    ),
    "a tag": (two().tag("prod", "old"), Evidence(), "tags", "tag prod points at it"),
    "the Service of a tag": (two().tag("prod", "new", service="old"), Evidence(), "tags", "tag prod points at it"),
    "one entry of a tag's webhook": (left_behind(), Evidence(), "tags", "tag prod points at it"),
    "a webhook of any name that calls its Service": (
        with_webhook(webhook("somebody-elses", "old", "never")),
        Evidence(),
        "webhooks",
        "MutatingWebhookConfiguration somebody-elses calls its Service istio-system/istiod-old",
    ),
    "a validating one, whatever its label says": (
        with_webhook(validator("mine", "old"), "validating", label="new"),
        Evidence(),
        "webhooks",
        "ValidatingWebhookConfiguration mine calls its Service istio-system/istiod-old",
    ),
    "the default validator": (two().default_validator("old"), Evidence(), "validator", "istiod-default-validator points at it"),
    "the default validator, whatever its label says": (
        with_webhook(validator("istiod-default-validator", "old"), "validating", label="new"),
        Evidence(),
        "validator",
        "istiod-default-validator points at it",
    ),
    "pinned configuration": (
        two(),
        Evidence(config=[Ref("VirtualService", "shop", "web")]),
        "config",
        "VirtualService shop/web is pinned to it",
    ),
    "a Gateway that only it deploys": (
        two(),
        Evidence(gateways=[Ref("Gateway", "shop", "door")]),
        "gateways",
        "Gateway shop/door is pinned to it",
    ),
    "a webhook with a URL that names its Service": (
        with_webhook(webhook("far", "never", "never"), url="https://istiod-old.istio-system.svc:443/inject", label="new"),
        Evidence(),
        "remotes",
        "MutatingWebhookConfiguration far calls it at istiod-old.istio-system.svc:443",
    ),
    "a webhook with a URL that is labelled for it": (
        with_webhook(webhook("far", "never", "never"), url="https://mesh.example/inject", label="old"),
        Evidence(),
        "remotes",
        "MutatingWebhookConfiguration far calls it at mesh.example",
    ),
    "an istiod outside the cluster": (
        own_injector_calls("https://m.example"),
        Evidence(),
        "remotes",
        (
            "its own MutatingWebhookConfiguration istio-sidecar-injector-old calls m.example: its istiod is not in this cluster "
            "and cannot be asked"
        ),
    ),
    "another cluster that it serves": (
        two(),
        Evidence(remotes=[Ref("Secret", "istio-system", "east")]),
        "remotes",
        "Secret istio-system/east makes it serve another cluster, whose needs cannot be seen from here",
    ),
}


@pytest.mark.parametrize(("world", "evidence", "guard", "words"), NEEDS.values(), ids=NEEDS)
def test_each_need_keeps_the_revision_by_its_own_guard_alone(world: World, evidence: Evidence, guard: str, words: str) -> None:
    found = blockers(world.mesh(), "old", evidence)

    assert found == {guard: [words]}
    with pytest.raises(Refusal, match='revision "old" is kept, nothing was deleted') as refusal:
        refuse_if_needed("old", found, [other for other in GUARDS if other != guard], 20)
    assert refusal.value.details == {"blockers": found, "count_blockers": {guard: 1}}
    assert words in str(refusal.value)
    refuse_if_needed("old", found, [guard], 20)


def test_every_guard_has_a_test() -> None:
    assert {need[2] for need in NEEDS.values()} == set(GUARDS)


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
        asleep(labels={REV: "old", "sidecar.istio.io/inject": "false"}),
        with_webhook(webhook("of-the-other", "new", "never")),
        with_webhook(webhook("far", "never", "never"), url="https://mesh.example/inject", label="new"),
    ],
)
def test_what_only_looks_like_a_need_does_not_keep_it(world: World) -> None:
    assert blockers(world.mesh(), "old", Evidence([IstiodAnswer("a", "new", [PROXY])])) == {}


def test_an_install_without_a_revision_is_needed_by_istio_injection_while_no_default_tag_exists() -> None:
    world = World("default", "new").namespace("shop", {INJECTION: "enabled"}).app("shop", "web", "new")

    assert blockers(world.mesh(), "default", Evidence()) == {"namespaces": ["namespace shop is labelled istio-injection=enabled"]}
    world.tag("default", "new").raw["mutating"][0] = deactivated(world.raw["mutating"][0])
    assert blockers(world.mesh(), "default", Evidence()) == {}


def test_a_long_list_is_cut_and_its_count_is_not() -> None:
    found = {"pods": [f"pod a/{number}" for number in range(30)]}

    with pytest.raises(Refusal, match=r"pod a/0, pod a/1 and 28 more\. Move these first, or waive a guard by its name") as refusal:
        refuse_if_needed("old", found, [], 2)
    assert refusal.value.details == {"blockers": {"pods": ["pod a/0", "pod a/1"]}, "count_blockers": {"pods": 30}}


def test_blockers_do_not_depend_on_the_order_of_lists() -> None:
    world = healthy_world()
    expected = blockers(world.mesh(), "stable", Evidence([ANSWER]))
    random.Random(1).shuffle(world.raw["pods"])
    random.Random(2).shuffle(world.raw["namespaces"])

    assert blockers(world.mesh(), "stable", Evidence([ANSWER])) == expected


def test_a_revision_of_which_no_webhook_is_left_is_still_needed_by_a_label() -> None:
    world = asleep(labels={REV: "old"})
    world.raw["mutating"] = []

    assert "pod_labels" in blockers(world.mesh(), "old", Evidence())


def test_every_injector_has_one_witness() -> None:
    world = healthy_world().namespace("also", {REV: "prod"}).namespace("none")

    assert witnesses(world.mesh()) == {"also": "stable", "lab": "canary", "pay": "stable"}
