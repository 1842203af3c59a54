# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenario A of the design: an upgrade by moving tags, with live traffic, killed in the middle, rolled back, repeated, and cleaned up."""

from __future__ import annotations

import json
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import manifests
import pytest
import yaml
from collection import Play
from kubectl import items, kubectl, run
from traffic import Traffic
from world import ISTIO_NAMESPACE, OPERATOR, Mesh, Namespace, settle

CANARY = "shop"
NAMESPACES = {
    "shop": {"istio.io/rev": "prod"},
    "pay": {"istio.io/rev": "prod"},
    "search": {"istio.io/rev": "batch"},
    "office": {"istio-injection": "enabled"},
    "archive": {"istio-injection": "enabled"},
    "press": {"istio.io/rev": "stable"},
}
TAGS = {"prod", "batch", "default"}
WORKLOADS = {name: ["web"] if name in ("shop", "pay") else ["web", "api"] for name in NAMESPACES}
"""Two in every namespace: the traffic clients are the second ones of shop and pay."""

UPGRADE = {
    "mesh_from": "stable",
    "mesh_to": "canary",
    "mesh_canary_namespaces": CANARY,
    "mesh_waves": [50, 100],
    "mesh_install_method": "istioctl",
    "mesh_istioctl": "istioctl-new",
    "mesh_operator_spec": yaml.safe_load(OPERATOR.read_text())["spec"],
    "mesh_wait_timeout": 240,
}
"""The inputs of the upgrade."""


@pytest.fixture(scope="module")
def spaces(mesh: Mesh, traffic: Traffic) -> dict[str, Namespace]:
    """Three tagged, two legacy and one directly labelled namespace, twelve workloads, mTLS STRICT, and traffic through all of it."""
    mesh.revisions("stable")
    for tag in sorted(TAGS):
        mesh.tag(tag, "stable")
    mesh.apply(manifests.strict_mtls(ISTIO_NAMESPACE))
    made = {name: mesh.namespace(name, labels, WORKLOADS[name], wait=False) for name, labels in NAMESPACES.items()}
    settle()
    others = [f"{workload}.{name}" for name in NAMESPACES if name != CANARY for workload in WORKLOADS[name]]
    traffic.start(CANARY, *others)
    traffic.start("pay", f"web.{CANARY}", "web.office", "api.press")
    return made


def test_an_upgrade_goes_forth_and_back_and_forth_and_the_old_revision_goes_last(
    mesh: Mesh, traffic: Traffic, spaces: dict[str, Namespace], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    upgrade = {**UPGRADE, "mesh_report_path": str(tmp_path / "report.md")}
    first = state_of(mesh, spaces)
    assert mesh.proxies() == {"stable": 12}
    assert plain_request_is_refused("pay")

    # The plan, before there is a new revision.
    with mesh.unchanged():
        plan = must(mesh, check=True, **upgrade)
    for planned in ("revision canary: not there yet", "Canary: shop", "tag prod: stable → canary", "relabelled to canary: press"):
        assert planned in plan.output

    # The canary: old and new proxies talk to each other.
    must(mesh, ["precheck", "install", "canary"], **upgrade)
    assert mesh.proxies() == {"canary": 2, "stable": 10}
    assert mesh.proxies(CANARY) == {"canary": 2}
    assert traffic.flows_from(CANARY, "pay")  # from new to old, from old to new
    assert plain_request_is_refused(CANARY)
    assert mesh.tags() == dict.fromkeys(TAGS, "stable")

    # Killed in the middle of promote, and everything back to what the first snapshot said.
    mesh.playbook_killed("canary_upgrade", lambda: "promote, wave 1" in stages(), **upgrade)
    assert set(mesh.tags().values()) == {"canary"}
    assert set(mesh.proxies()) == {"canary", "stable"}
    assert traffic.flows_from(CANARY, "pay")
    must(mesh, ["rollback"], **upgrade)
    assert state_of(mesh, spaces) == first
    assert mesh.proxies() == {"stable": 12}

    # Forward again, and a second run that has nothing to do.
    must(mesh, **upgrade)
    assert mesh.proxies() == {"canary": 12}
    assert mesh.tags() == dict.fromkeys(TAGS, "canary")
    assert {name: space.labels() for name, space in spaces.items()} == {**NAMESPACES, "press": {"istio.io/rev": "canary"}}
    with mesh.unchanged():
        again = must(mesh, **upgrade)
    assert again.changed == 0, again.output
    with mesh.unchanged():
        must(mesh, check=True, **upgrade)

    # Removal is refused while one proxy hangs on the old revision, and names it.
    nightly = mesh.namespace("nightly", workloads=["job"], pod_labels={"istio.io/rev": "stable"})
    (straggler,) = [pod["metadata"]["name"] for pod in items("pods", f"--namespace={nightly.name}")]
    with mesh.unchanged():
        refused = mesh.playbook("canary_upgrade", ["cleanup"], **upgrade)
    assert refused.failed == 1, refused.output
    assert f"nightly/{straggler}" in refused.output
    assert mesh.proxies() == {"canary": 12, "stable": 1}
    kubectl("delete", "namespace", nightly.name)

    # Removal, and what must be left.
    shared = mesh.shared_objects()
    must(mesh, ["cleanup"], **upgrade)
    counted = traffic.stop()
    with capsys.disabled():
        print(f"\ntraffic through it all: {counted['sent']} requests, {counted['failed']} failed {counted['errors']}")
    assert mesh.control_planes() == {"canary"}
    assert not mesh.labelled_for("stable")
    assert mesh.shared_objects() == shared
    assert mesh.proxies() == {"canary": 10}  # the two clients have gone
    for space in spaces.values():
        assert space.injector_of_a_new_pod() == "canary"
        assert mesh.config_is_writable(space.name)
    report = (tmp_path / "report.md").read_text()
    assert "removed Deployment istio-system/istiod-stable" in report
    assert counted["sent"] > 1000
    assert counted["failed"] < counted["sent"] / 100  # old and new talked to each other all the time


def must(mesh: Mesh, tags: list[str] | None = None, *, check: bool = False, **upgrade: Any) -> Play:
    """Run the upgrade; it has to succeed."""
    play = mesh.playbook("canary_upgrade", tags or [], check=check, **upgrade)
    assert play.code == 0, play.output
    return play


def state_of(mesh: Mesh, spaces: dict[str, Namespace]) -> dict[str, Any]:
    """What a rollback has to bring back."""
    return {
        "tags": mesh.tags(),
        "labels": {name: space.labels() for name, space in spaces.items()},
        "workloads": {name: space.revisions() for name, space in spaces.items()},
    }


def stages() -> list[str]:
    """The stages that the journal has recorded so far."""
    found = run("kubectl", "get", "configmap", "meshops-istio-upgrade", f"--namespace={ISTIO_NAMESPACE}", "--output=json")
    if found.returncode != 0:
        return []
    return [record["stage"] for record in json.loads(json.loads(found.stdout)["data"]["journal.json"])["records"]]


def plain_request_is_refused(namespace: str) -> bool:
    """Whether a client without a proxy gets no answer from a pod: mTLS is STRICT."""
    address = items("pods", f"--namespace={namespace}", "--selector=app=web")[0]["status"]["podIP"]
    connection = HTTPConnection(address, manifests.PORT, timeout=5)
    try:
        connection.request("GET", "/")
        connection.getresponse()
    except OSError:
        return True
    return False
