# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from mesh_objects import INJECTION, REV, World, healthy_world

from ansible_collections.meshops.istio.plugins.module_utils.mesh.findings import findings
from ansible_collections.meshops.istio.plugins.module_utils.mesh.view import mesh_view

WRONG = {
    "two labels": (World("stable").namespace("shop", {REV: "stable", INJECTION: "disabled"}), ["namespace-two-labels"]),
    "a dead injector": (World("stable").namespace("shop", {REV: "stable"}).kill("stable"), ["namespace-injector-dead"]),
    "a label that names nothing": (World("stable").namespace("shop", {REV: "ghost"}), ["namespace-nobody-injects"]),
    "istio-injection without a default owner": (World("stable").namespace("shop", {INJECTION: "enabled"}), ["namespace-nobody-injects"]),
    "a tag that two claim": (World("stable", "canary").tag("prod", "canary", service="stable"), ["tag-split"]),
    "a tag of a revision that is gone": (World("stable").tag("prod", "gone"), ["tag-dangling"]),
    "two default owners": (World("default", "stable").tag("default", "stable"), ["default-owners"]),
    "a validator of a revision that is gone": (World("stable").default_validator("gone"), ["validator-dangling"]),
    "both labels and nobody": (
        World("stable").namespace("shop", {REV: "stable", INJECTION: "enabled"}),
        ["namespace-nobody-injects", "namespace-two-labels"],
    ),
}


def test_a_healthy_mesh_has_no_findings() -> None:
    assert findings(healthy_world().mesh()) == []


@pytest.mark.parametrize(("world", "codes"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_found_once_with_a_remedy_and_errors_come_first(world: World, codes: list[str]) -> None:
    found = findings(world.mesh())

    assert [finding.code for finding in found] == codes
    assert [finding.severity for finding in found] == sorted(finding.severity for finding in found)
    assert all(finding.remedy.endswith(".") for finding in found)


def test_namespaces_that_ask_for_nothing_or_say_no_are_no_findings() -> None:
    world = healthy_world().namespace("plain").namespace("off", {INJECTION: "disabled"})

    assert findings(world.mesh()) == []


def test_the_view_shows_who_injects_whom_and_leaves_out_namespaces_without_a_mesh() -> None:
    view = mesh_view(healthy_world().namespace("plain").mesh())

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
    assert mesh_view(World().mesh()) == {
        "default_revision": None,
        "revisions": [],
        "tags": [],
        "namespaces": [],
        "workloads": [],
        "findings": [],
    }
