# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever still needs a revision keeps it: each need alone is refused by its own name, and nothing is deleted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import manifests
import pytest
from kubectl import items, kubectl, must, run
from waiting import eventually
from world import ISTIO_NAMESPACE, Mesh

OLD = {"istio.io/rev": "stable"}
ABSENT = {"revision": "stable", "state": "absent"}


@pytest.fixture(scope="module", autouse=True)
def control_planes(mesh: Mesh) -> None:
    """Nothing needs "stable": the default tag, which its install made, points at "canary"."""
    mesh.revisions("stable", "canary")
    mesh.tag("default", "canary")
    mesh.namespace("shop", {"istio-injection": "enabled"})
    mesh.namespace("plain")


@dataclass(frozen=True)
class Need:
    """One thing that needs "stable".

    Attributes:
        guard: the guard that must refuse.
        words: what the refusal must say.
        things: what is created, and deleted afterwards.
        begin: what is done after that, and undone by end.
    """

    guard: str
    words: str
    things: tuple[dict[str, Any], ...] = ()
    begin: Callable[[], object] = lambda: None
    end: Callable[[], object] = lambda: None
    waive: tuple[str, ...] = ()


def asleep(name: str, **labels: str) -> dict[str, Any]:
    """A Deployment scaled to zero."""
    deployment = manifests.workload(name, "plain", labels)[0]
    deployment["spec"]["replicas"] = 0
    return deployment


def nightly() -> dict[str, Any]:
    pod = {"metadata": {"labels": OLD}, "spec": {**manifests.pod_spec(), "restartPolicy": "Never"}}
    spec = {"schedule": "0 3 1 1 *", "jobTemplate": {"spec": {"template": pod}}}
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "night", "namespace": "plain"}, "spec": spec}


def unplaced() -> dict[str, Any]:
    """A pod that is injected, and never runs."""
    pod = manifests.pod("lost", "plain", OLD)
    return {**pod, "spec": {**pod["spec"], "nodeSelector": {"nowhere": "here"}}}


def pinned() -> dict[str, Any]:
    service = manifests.virtual_service("web", "shop")
    return {**service, "metadata": {**service["metadata"], "labels": OLD}}


def webhook(client: dict[str, Any], kind: str = "MutatingWebhookConfiguration", **labels: str) -> dict[str, Any]:
    """A webhook with a name of its own that acts on nothing."""
    entry = {
        "name": "of.somebody.example",
        "clientConfig": client,
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "objectSelector": {"matchLabels": {"nothing": "has-this"}},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
    }
    metadata = {"name": "somebody-elses", "labels": labels}
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": metadata, "webhooks": [entry]}


def calls_service(kind: str) -> dict[str, Any]:
    return webhook({"service": {"namespace": ISTIO_NAMESPACE, "name": "istiod-stable", "path": "/inject"}}, kind)


def remote_cluster() -> dict[str, Any]:
    metadata = {"name": "east", "namespace": ISTIO_NAMESPACE, "labels": {"istio/multiCluster": "true"}}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"east": "no kubeconfig"}}


def label_validator(revision: str) -> None:
    kubectl("label", "validatingwebhookconfiguration", "istiod-default-validator", "--overwrite", f"istio.io/rev={revision}")


def debug_interface(switch: str) -> None:
    """Switch it off ("=false") or on ("-") in the istiod of "stable", and wait for the new pod."""
    kubectl("set", "env", "deployment/istiod-stable", f"--namespace={ISTIO_NAMESPACE}", f"ENABLE_DEBUG_ON_HTTP{switch}")
    kubectl("rollout", "status", "deployment/istiod-stable", f"--namespace={ISTIO_NAMESPACE}", "--timeout=60s")
    assert eventually(lambda: len(items("pods", f"--namespace={ISTIO_NAMESPACE}", "--selector=istio.io/rev=stable")) == 1)


def a_proxy_hangs_on_it() -> None:
    kubectl("rollout", "status", "deployment/web", "--namespace=old", "--timeout=90s")
    kubectl("label", "namespace", "old", "istio.io/rev-")


NEEDS = {
    "a proxy": Need(
        "proxies",
        "proxy old/web-",
        (manifests.namespace("old", OLD), *manifests.workload("web", "old", {})),
        begin=a_proxy_hangs_on_it,
        waive=("pods",),
    ),
    "a pod that is connected to nobody": Need("pods", "pod plain/lost was injected by it", (unplaced(),), waive=("pod_labels",)),
    "a namespace label": Need("namespaces", "namespace bare is labelled istio.io/rev=stable", (manifests.namespace("bare", OLD),)),
    "a label in the template of a Deployment scaled to zero": Need("pod_labels", "Deployment plain/asleep", (asleep("asleep", **OLD),)),
    "a label in the template of a CronJob": Need("pod_labels", "CronJob plain/night", (nightly(),)),
    "a tag": Need(
        "tags",
        "tag edge points at it",
        begin=lambda: must("istioctl-old", "tag", "set", "edge", "--revision", "stable"),
        end=lambda: must("istioctl-old", "tag", "remove", "edge", "--skip-confirmation"),
    ),
    "a mutating webhook": Need("webhooks", "MutatingWebhookConfiguration somebody-elses", (calls_service("MutatingWebhookConfiguration"),)),
    "a validating webhook": Need(
        "webhooks", "ValidatingWebhookConfiguration somebody-elses", (calls_service("ValidatingWebhookConfiguration"),)
    ),
    "the default validator": Need(
        "validator",
        "istiod-default-validator points at it",
        begin=lambda: label_validator("stable"),
        end=lambda: label_validator("canary"),
    ),
    "a configuration object": Need("config", "VirtualService shop/web is pinned to it", (pinned(),)),
    "a remote webhook": Need("remotes", "calls it at mesh.example", (webhook({"url": "https://mesh.example/inject"}, **OLD),)),
    "another cluster": Need("remotes", "Secret istio-system/east", (remote_cluster(),)),
    "an istiod that does not answer": Need(
        "unanswered",
        "debug interface is switched off",
        begin=lambda: debug_interface("=false"),
        end=lambda: debug_interface("-"),
    ),
}


@contextmanager
def needed(mesh: Mesh, need: Need) -> Iterator[None]:
    if need.things:
        mesh.apply(*need.things)
    need.begin()
    yield
    need.end()
    if need.things:
        kubectl("delete", "--filename=-", "--cascade=foreground", manifests=[*need.things])


@pytest.mark.parametrize("need", NEEDS.values(), ids=NEEDS)
def test_each_need_alone_keeps_the_revision_by_name_and_nothing_is_deleted(mesh: Mesh, need: Need) -> None:
    with needed(mesh, need), mesh.unchanged():
        said = mesh.refusal("istio_revision", **ABSENT, waive=[*need.waive])

    assert need.words in said
    assert said.endswith(f"waive a guard by its name ({need.guard}).")


def test_a_revision_that_nothing_needs_goes_with_its_leases_and_nothing_else_does(mesh: Mesh) -> None:
    mesh.apply(like_its_own())
    shared = mesh.shared_objects()

    gone = mesh.changes_once("istio_revision", **ABSENT, sweep_leases=True)

    assert gone.removed[0] == "MutatingWebhookConfiguration istio-sidecar-injector-stable"
    assert gone.removed[-1] == "Lease istio-system/istio-gateway-status-leader-stable"
    assert gone.proof == [
        "pods in namespace shop are injected by canary",
        f"Istio configuration can be written in namespace {ISTIO_NAMESPACE}",
    ]
    assert "NetworkPolicy istio-system/istiod-stable, not of Istio" in gone.kept
    assert mesh.shared_objects() == shared
    assert mesh.labelled_for("stable") == []
    leases = [lease["metadata"]["name"] for lease in items("leases", f"--namespace={ISTIO_NAMESPACE}")]
    assert [name for name in leases if name.endswith("-stable")] == []
    assert [name for name in leases if name.endswith("-canary")]
    assert run("kubectl", "get", "networkpolicy", "istiod-stable", f"--namespace={ISTIO_NAMESPACE}").returncode == 0


def like_its_own() -> dict[str, Any]:
    """An object that has the name of one of the revision's own, and is somebody else's."""
    metadata = {"name": "istiod-stable", "namespace": ISTIO_NAMESPACE}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": metadata, "spec": {"podSelector": {}}}
