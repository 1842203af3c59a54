# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict about injection is the truth: in every state of a mesh the API server does what we say, whatever pod and namespace want."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import yaml
from kubectl import items, kubectl, must
from truth import (
    INJECT,
    INJECTION,
    NOBODY,
    REJECTED,
    REV,
    SELECTORS,
    Case,
    Judge,
    Labels,
    answer,
    entry,
    make_namespaces,
    mutating,
    namespace_of,
    table,
)
from waiting import eventually
from world import ISTIO_NAMESPACE, OPERATOR, Mesh, Rejected

CONFIRMED = ("--skip-confirmation", f"--filename={OPERATOR}")
OUTSIDE = "ghost's injector is outside the cluster"
SEED = int(os.environ.get("TRUTH_SEED") or random.SystemRandom().randrange(10**6))
"""Of the choice and order of the questions; TRUTH_SEED=N repeats a run."""


@dataclass(frozen=True)
class State:
    """A state of the mesh, how it comes about from the one before, and by whom two kinds of namespaces are injected then."""

    name: str
    make: Callable[[Mesh], None]
    default: str
    prod: str


def as_installed(mesh: Mesh) -> None:
    mesh.revisions("stable", "canary", settings=SELECTORS)
    mesh.tag("prod", "stable")


def remove_the_default_tag(_mesh: Mesh) -> None:
    must("istioctl-new", "tag", "remove", "default", "--skip-confirmation")


def both_tags_on_canary(mesh: Mesh) -> None:
    mesh.tag("default", "canary")
    mesh.tag("prod", "canary")


def inject_all_namespaces(_mesh: Mesh) -> None:
    must("istioctl-new", "tag", "set", "default", "--revision=canary", "--overwrite", "--skip-confirmation", "--auto-inject-namespaces")


def outside_istio_system(_mesh: Mesh) -> None:
    """A third revision, which injects only what asks for it by itself."""
    settings = ("values.global.istioNamespace=mesh-two", "values.global.proxy.autoInject=disabled", *SELECTORS)
    must("istioctl-new", "install", *CONFIRMED, "--revision=edge", *(f"--set={setting}" for setting in settings))


def without_revision(_mesh: Mesh) -> None:
    """What istioctl installs without a revision has its injector deactivated: a default tag stands for it."""
    must("istioctl-old", "install", *CONFIRMED)


def as_helm_has_it(_mesh: Mesh) -> None:
    """The chart's own selectors, as an upgrade with Helm restores them."""
    charts = yaml.safe_load_all(must("istioctl-old", "manifest", "generate", f"--filename={OPERATOR}"))
    kubectl("replace", "--filename=-", manifests=[thing for thing in charts if thing and thing["kind"] == "MutatingWebhookConfiguration"])
    assert eventually(lambda: has_ca_bundles("istio-sidecar-injector"))


def default_tag_beside_it(_mesh: Mesh) -> None:
    """As Helm makes tags, and `istioctl tag generate`: the other owner stays active."""
    tag = must("istioctl-new", "tag", "generate", "default", "--revision=canary")
    must("kubectl", "apply", "--filename=-", text=tag)


def stop_stable(mesh: Mesh) -> None:
    mesh.tag("prod", "stable")
    stop("stable", {REV: "stable"})


def stop_one_owner(_mesh: Mesh) -> None:
    stop("default", {INJECTION: "enabled"})


def uninstall_stable(_mesh: Mesh) -> None:
    must("istioctl-old", "uninstall", "--revision=stable", "--skip-confirmation")


def wrong_certificate(mesh: Mesh) -> None:
    config = json.loads(kubectl("config", "view", "--raw", "--flatten", "--output=json"))
    stranger = config["clusters"][0]["cluster"]["certificate-authority-data"]
    canary = {"namespace": ISTIO_NAMESPACE, "name": "istiod-canary", "path": "/inject"}
    mesh.apply(injector_of_ghosts({"service": canary, "caBundle": stranger}))


def outside_the_cluster(mesh: Mesh) -> None:
    """Nobody listens there, but who looks into this cluster cannot know."""
    mesh.apply(injector_of_ghosts({"url": "https://127.0.0.1:9/inject"}))


def injector_of_ghosts(client: dict[str, Any]) -> dict[str, Any]:
    """Somebody else's configuration that injects what asks for "ghost"; a pod that asks by itself is born without it if need be."""
    absent = [{"key": INJECTION, "operator": "DoesNotExist"}]
    willing = {"key": INJECT, "operator": "NotIn", "values": ["false"]}
    ghost = {"key": REV, "operator": "In", "values": ["ghost"]}
    return mutating(
        "of-another-name",
        {REV: "ghost"},
        entry(
            "rev.namespace.sidecar-injector.istio.io",
            client,
            namespaceSelector={"matchExpressions": [ghost, *absent]},
            objectSelector={"matchExpressions": [willing]},
        ),
        entry(
            "rev.object.sidecar-injector.istio.io",
            client,
            namespaceSelector={"matchExpressions": [{"key": REV, "operator": "DoesNotExist"}, *absent]},
            objectSelector={"matchExpressions": [willing, ghost]},
            failurePolicy="Ignore",
        ),
    )


STATES = (
    State("default tag on stable", as_installed, default="stable", prod="stable"),
    State("no default owner", remove_the_default_tag, default=NOBODY, prod="stable"),
    State("both tags on canary", both_tags_on_canary, default="canary", prod="canary"),
    State("all namespaces by default", inject_all_namespaces, default="canary", prod="canary"),
    State("edge outside istio-system", outside_istio_system, default="canary", prod="canary"),
    State("without revision, deactivated", without_revision, default="default", prod="canary"),
    State("deactivated, no default tag", remove_the_default_tag, default=NOBODY, prod="canary"),
    State("without revision, active", as_helm_has_it, default="default", prod="canary"),
    State("two default owners", default_tag_beside_it, default="default", prod="canary"),
    State("istiod of stable is dead", stop_stable, default="default", prod=REJECTED),
    State("one default owner of two is dead", stop_one_owner, default=REJECTED, prod=REJECTED),
    State("tag of a removed revision", uninstall_stable, default=REJECTED, prod=REJECTED),
    State("ghost's injector has a wrong certificate", wrong_certificate, default=REJECTED, prod=REJECTED),
    State(OUTSIDE, outside_the_cluster, default=REJECTED, prod=REJECTED),
)


def test_truth_the_api_server_does_what_the_verdict_says(fresh_mesh: Mesh, capsys: pytest.CaptureFixture[str]) -> None:
    make_namespaces(fresh_mesh)
    judge, cases = Judge(SEED), list[Case]()
    for state in STATES:
        state.make(fresh_mesh)
        found = judge.compare(state.name)
        assert (answer(found, {INJECTION: "enabled"}), answer(found, {REV: "prod"})) == (state.default, state.prod), state.name
        cases += found

    wrong, unsure = [case for case in cases if case.wrong], [case for case in cases if not case.certain]
    with capsys.disabled():
        print(f"\ntruth: {len(cases)} cases in {len(STATES)} states of the mesh, {len(wrong)} disagreements, TRUTH_SEED={SEED}")
    assert not wrong, f"{len(wrong)} of {len(cases)} cases, TRUTH_SEED={SEED}\n{table(wrong)}"
    assert {case.state for case in unsure} == {OUTSIDE}, "everywhere else everything can be seen"
    assert {case.namespace for case in unsure if case.done == REJECTED} == {namespace_of({REV: "ghost"}).name}


def stop(revision: str, namespace: Labels) -> None:
    """Stop the istiod of a revision, and wait until the API server has noticed: it rejects pods in such a namespace."""
    selector = f"--selector=app=istiod,istio.io/rev={revision}"
    kubectl("scale", "deployment", "--replicas=0", f"--namespace={ISTIO_NAMESPACE}", selector)
    assert eventually(lambda: not items("pods", f"--namespace={ISTIO_NAMESPACE}", selector))
    assert eventually(lambda: is_rejected(namespace))


def is_rejected(namespace: Labels) -> bool:
    try:
        namespace_of(namespace).injector_of_a_new_pod()
    except Rejected:
        return True
    return False


def has_ca_bundles(webhook: str) -> bool:
    """Whether istiod has written its certificate into every entry."""
    entries = json.loads(kubectl("get", "mutatingwebhookconfiguration", webhook, "--output=json"))["webhooks"]
    return all(entry["clientConfig"].get("caBundle") for entry in entries)
