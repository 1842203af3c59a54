# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What users report most (numbers of the survey of reports), made as they make it: mesh_info finds it, and its remedy ends it."""

from __future__ import annotations

from collections.abc import Iterator

import manifests
import pytest
from helm import OPERATOR
from kubectl import items, kubectl, must, run
from world import ISTIO_NAMESPACE, Mesh, Namespace

PROD = {"istio.io/rev": "prod"}
SHOP = Namespace("shop")


def found(mesh: Mesh) -> dict[str, str]:
    """Code → severity of everything that mesh_info finds."""
    return {finding["code"]: finding["severity"] for finding in mesh.module("mesh_info").mesh["findings"]}


def the(mesh: Mesh, code: str) -> dict[str, str]:
    """The only finding of a code."""
    (only,) = [finding for finding in mesh.module("mesh_info").mesh["findings"] if finding["code"] == code]
    return only


@pytest.fixture(scope="module", autouse=True)
def _installed(mesh: Mesh) -> None:
    """Two revisions by istioctl, a tag, and a namespace that follows it."""
    mesh.revisions("stable")
    mesh.revisions("canary")
    mesh.tag("prod", "stable")
    mesh.namespace("shop", PROD, ["web"])


@pytest.fixture(autouse=True)
def _mended(mesh: Mesh) -> Iterator[None]:
    """Every story leaves a healthy mesh behind."""
    yield
    assert found(mesh) == {}


def test_findings_definitions_older_than_the_canary(mesh: Mesh) -> None:
    """(32) The base was written by the old version last."""
    mesh.revisions("stable")

    assert found(mesh) == {"crds-old": "warning"}

    mesh.revisions("canary")


def test_findings_both_labels(mesh: Mesh) -> None:
    """(10) Somebody adds the label that the documentation of old names."""
    SHOP.label("istio-injection=enabled")

    assert found(mesh) == {"namespace-two-labels": "warning"}

    mesh.module("ns_revision_label", namespaces=["shop"], to="prod")


def test_findings_pod_label_under_a_namespace_label(mesh: Mesh) -> None:
    """(11) One workload shall try the canary first, by a label of its pods."""
    mesh.apply(*manifests.workload("pilot", "shop", {"istio.io/rev": "canary"}))

    assert found(mesh) == {"pod-label-ignored": "warning"}
    assert the(mesh, "pod-label-ignored")["object"] == "Deployment shop/pilot"
    assert SHOP.injector_of_a_new_pod({"istio.io/rev": "canary"}) == "stable"

    kubectl("delete", "deployment,service", "pilot", "--namespace=shop")


def test_findings_label_that_names_nobody(mesh: Mesh) -> None:
    """(12) A typing error, and pods start without a sidecar; labelled right they still have none."""
    lost = mesh.namespace("lost", {"istio.io/rev": "prd"}, ["web"])

    assert found(mesh) == {"namespace-nobody-injects": "error"}

    mesh.module("ns_revision_label", namespaces=["lost"], to="prod")

    assert found(mesh) == {"pods-without-sidecar": "warning"}

    lost.restart()

    assert found(mesh) == {}

    kubectl("delete", "namespace", "lost", "--wait=false")


def test_findings_label_taken_away_from_running_sidecars(mesh: Mesh) -> None:
    """(12) The other way round: nothing shows until the next restart."""
    SHOP.label("istio.io/rev-")

    assert found(mesh) == {"sidecars-not-renewed": "error"}
    assert SHOP.injector_of_a_new_pod() is None

    mesh.module("ns_revision_label", namespaces=["shop"], to="prod")


def test_findings_configuration_for_a_tag(mesh: Mesh) -> None:
    """(14) Tags work on namespaces, so why not on a VirtualService? The command that the remedy names is run as it stands."""
    pinned = manifests.virtual_service("web", "shop")
    pinned["metadata"]["labels"] = PROD
    mesh.apply(pinned)

    assert found(mesh) == {"config-hidden": "warning"}

    must(*the(mesh, "config-hidden")["remedy"].partition(": ")[2].removesuffix(".").split())


def test_findings_tag_named_like_a_revision(mesh: Mesh) -> None:
    """(8) --overwrite skips the check of istioctl."""
    must("istioctl-new", "tag", "set", "canary", "--revision=stable", "--overwrite", "--skip-confirmation")

    assert found(mesh) == {"tag-named-like-revision": "error"}

    must("istioctl-new", "tag", "remove", "canary", "--skip-confirmation")


def test_findings_remote_clusters(mesh: Mesh) -> None:
    """(30) The istiods of this cluster serve another one."""
    mesh.apply(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "istio-remote-secret-east", "namespace": ISTIO_NAMESPACE, "labels": {"istio/multiCluster": "true"}},
        }
    )

    assert found(mesh) == {"remote-clusters": "info"}

    kubectl("delete", "secret", "istio-remote-secret-east", f"--namespace={ISTIO_NAMESPACE}")


def test_findings_proxies_newer_than_their_istiod(mesh: Mesh) -> None:
    """(28) The canary is taken back to the old version in place, under its proxies."""
    early = mesh.namespace("early", {"istio.io/rev": "canary"}, ["web"])
    must("istioctl-old", "install", "--skip-confirmation", "--filename", OPERATOR, "--revision=canary")

    assert found(mesh) == {"proxies-newer-than-istiod": "warning"}

    early.restart()

    assert found(mesh) == {}

    kubectl("delete", "namespace", "early", "--wait=false")


def test_findings_tag_that_survives_its_revision(mesh: Mesh) -> None:
    """(3, 26) istioctl uninstall asks nobody, and leaves the tag, the running proxies and two leases behind."""
    must("istioctl-old", "uninstall", "--revision=stable", "--skip-confirmation")

    everything = {"lease-left-over": "info", "namespace-injector-dead": "error", "proxies-orphaned": "error", "tag-dangling": "error"}
    assert found(mesh) == everything

    mesh.module("istio_tag", name="prod", revision="canary")
    SHOP.restart()

    assert found(mesh) == {"lease-left-over": "info"}

    kubectl("delete", "lease", f"--namespace={ISTIO_NAMESPACE}", "istio-gateway-deployment-stable", "istio-gateway-status-leader-stable")


def test_findings_gateway_that_the_canary_rolls(mesh: Mesh) -> None:
    """(22) A profile with a gateway, installed twice: the canary takes the only ingress gateway over, in place."""
    gateway = ["components.ingressGateways[0].name=istio-ingressgateway", "components.ingressGateways[0].enabled=true"]
    mesh.revisions("stable", settings=gateway)

    assert found(mesh) == {}

    mesh.revisions("canary", settings=gateway)

    assert found(mesh) == {"gateway-taken-over": "warning"}

    mesh.revisions("stable", settings=[*gateway, "components.base.enabled=false"])


def test_findings_node_agent_of_the_revision_to_remove(mesh: Mesh) -> None:
    """(25) The agent of all nodes was installed together with an old revision, and is uninstalled together with it."""
    options = (
        "--revision=edge",
        "--set",
        "components.cni.enabled=true",
        "--set",
        "components.base.enabled=false",
        "--readiness-timeout=1s",
    )
    run("istioctl-old", "install", "--skip-confirmation", "--filename", OPERATOR, *options)  # the lab has no CNI to wait for
    kubectl("rollout", "status", "deployment/istiod-edge", f"--namespace={ISTIO_NAMESPACE}", "--timeout=60s")

    assert found(mesh) == {"node-agent-owned": "warning"}

    must("istioctl-old", "uninstall", "--revision=edge", "--skip-confirmation")

    assert not items("daemonsets", f"--namespace={ISTIO_NAMESPACE}")
    kubectl("delete", "lease", f"--namespace={ISTIO_NAMESPACE}", "istio-gateway-deployment-edge", "istio-gateway-status-leader-edge")
