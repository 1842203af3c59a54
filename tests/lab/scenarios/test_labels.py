# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Labels of a whole mesh in one run: a part that grows, writers that come in between, labels kept in Git, and back exactly."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import manifests
import pytest
from collection import module
from faulty_api import Fault, FaultyApi
from kubectl import items, kubectl, run
from world import Mesh, Namespace

TEAMS = 120
SELECTOR = "team=all"


@pytest.fixture(scope="module", autouse=True)
def teams(mesh: Mesh) -> None:
    """Very many namespaces: on a revision's own name, on the old label, and on none."""
    mesh.revisions("stable", "canary")
    mesh.tag("prod", "stable")
    labels: tuple[dict[str, str], ...] = ({"istio.io/rev": "stable"}, {"istio-injection": "enabled"}, {})
    mesh.apply(*(manifests.namespace(f"team-{number}", {"team": "all", **labels[number % 3]}) for number in range(TEAMS)))


def labels() -> dict[str, dict[str, str]]:
    """Namespace → the labels that decide."""
    return {thing["metadata"]["name"]: deciding(thing["metadata"]["labels"]) for thing in items("namespaces", f"--selector={SELECTOR}")}


def deciding(labels: dict[str, str]) -> dict[str, str]:
    return {key: value for key, value in labels.items() if key in ("istio.io/rev", "istio-injection")}


@pytest.fixture
def as_before() -> Iterator[dict[str, dict[str, str]]]:
    """The labels of all, which a test must leave as they were."""
    before = labels()
    yield before
    assert labels() == before


def test_very_many_namespaces_move_in_one_run_and_come_back_exactly(mesh: Mesh, as_before: dict[str, dict[str, str]]) -> None:
    moved = mesh.changes_once("ns_revision_label", label_selectors=[SELECTOR], to="canary")

    assert labels() == {name: {"istio.io/rev": "canary"} for name in as_before}
    assert (moved.count_changed, moved.count_restart_needed) == (TEAMS, TEAMS)
    assert Counter(found["outcome"] for found in moved.namespaces) == {"changed": TEAMS}
    assert Namespace("team-2").injector_of_a_new_pod() == "canary"

    back = mesh.changes_once("ns_revision_label", restore=moved.previous)
    assert back.count_changed == TEAMS


@pytest.mark.usefixtures("as_before")
def test_from_a_revisions_name_to_a_tag_of_it_is_one_run_without_a_restart(mesh: Mesh) -> None:
    moved = mesh.changes_once("ns_revision_label", current="stable", to="prod")

    assert sorted(labels()[f"team-{number}"].get("istio.io/rev", "") for number in range(3)) == ["", "", "prod"]
    assert (moved.count_changed, moved.count_restart_needed) == (TEAMS // 3, 0)
    assert "no restart is needed, because the same revision injects them as before" in moved.msg
    mesh.module("ns_revision_label", restore=moved.previous)


@pytest.mark.usefixtures("as_before")
def test_a_growing_share_has_all_that_a_smaller_one_had(mesh: Mesh) -> None:
    seen: set[str] = set()
    previous: dict[str, Any] = {}
    for limit, expected in (("10%", 4), ("25%", 10), ("100%", 40)):
        moved = mesh.module("ns_revision_label", current="stable", to="canary", limit=limit)
        now = {name for name, found in labels().items() if found == {"istio.io/rev": "canary"}}
        assert len(now) == expected
        assert seen <= now
        assert moved.count_changed == len(now - seen)
        seen = now
        previous = {**moved.previous, **previous}
    mesh.module("ns_revision_label", restore=previous)


@pytest.mark.usefixtures("as_before")
def test_who_writes_in_between_keeps_his_label_and_stops_nobody_else(mesh: Mesh) -> None:
    def another_label() -> None:
        kubectl("label", "namespace", "team-0", "--overwrite", "touched=yes")

    def the_same_label() -> None:
        kubectl("label", "namespace", "team-0", "--overwrite", "istio.io/rev=prod")

    for writer, outcome in ((another_label, "changed"), (the_same_label, "conflict")):
        names = ["team-0", "team-3", "team-6"]
        result = between(mesh, writer, names)
        assert {found["name"]: found["outcome"] for found in result["namespaces"]} == {**dict.fromkeys(names, "changed"), "team-0": outcome}
        assert bool(result.get("failed")) == (outcome == "conflict")
        mesh.module("ns_revision_label", restore=result["previous"])
    assert labels()["team-0"] == {"istio.io/rev": "prod"}
    Namespace("team-0").label("istio.io/rev=stable")


def between(mesh: Mesh, writer: Any, names: list[str]) -> dict[str, Any]:
    """A run in which somebody else writes after the plan is made and before the first patch."""

    with FaultyApi() as api:
        mesh.module("ns_revision_label", namespaces=names, to="canary", check=True, host=api.url)
        reads = len(api.requests)
        api.tell(Fault.OVERLOADED, reads, then=writer)
        return module("ns_revision_label", {"namespaces": names, "to": "canary", "host": api.url})


def test_labels_that_argo_cd_keeps_are_changed_with_a_warning(mesh: Mesh) -> None:
    wanted = json.dumps(manifests.namespace("in-git", {"istio.io/rev": "stable"}))
    done = run("kubectl", "apply", "--server-side", "--field-manager=argocd-controller", "--filename=-", text=wanted)
    assert done.returncode == 0, done.stderr

    moved = mesh.module("ns_revision_label", namespaces=["in-git"], to="canary")

    assert "Argo CD owns the injection labels of in-git and will put them back. Change them in Git." in str(moved.warnings)
    assert [(manager["name"], manager["puts_back"]) for manager in moved.namespaces[0]["managers"]] == [("argocd-controller", True)]
