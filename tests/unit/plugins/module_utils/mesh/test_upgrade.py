# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import random
from collections import Counter
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mesh_objects import INJECTION, REV, World, healthy_world

from ansible_collections.meshops.istio.plugins.module_utils.mesh.refusal import Refusal
from ansible_collections.meshops.istio.plugins.module_utils.mesh.upgrade import Wishes, plan_upgrade, same_upgrade, split, stable_order

USES = [{REV: "prod"}, {REV: "stable"}, {INJECTION: "enabled"}, {REV: "edge"}, {REV: "canary"}, {}, {INJECTION: "disabled", REV: "stable"}]


ORDER = ["d", "f", "c", "b", "e", "a"]


def busy_world(uses: list[int], base: World | None = None) -> World:
    world = base or World("stable", "canary").tag("prod", "stable").tag("default", "stable").tag("edge", "stable")
    for number, use in enumerate(uses):
        world.namespace(f"ns-{number}", USES[use])
    return world


def plan(world: World, **wishes: Any) -> dict[str, Any]:
    return plan_upgrade(world.mesh(), Wishes("stable", "canary", **wishes))


def test_a_gateway_that_asks_for_a_tag_by_its_pod_label_is_in_the_plan_and_its_namespace_keeps_its_labels() -> None:
    world = busy_world([0]).namespace("ingress").app("ingress", "gateway", "stable", labels={REV: "prod"})
    found = plan(world)["plan"]

    assert found["namespaces"] == ["ingress", "ns-0"]
    assert [wave["relabel"] for wave in found["waves"]] == [[]]


@given(
    st.lists(st.integers(0, len(USES) - 1), max_size=30),
    st.sets(st.integers(1, 99), max_size=4),
    st.booleans(),
    st.integers(),
)
def test_every_namespace_of_the_old_revision_moves_exactly_once_whatever_the_order(
    uses: list[int], cuts: set[int], with_canary: bool, seed: int
) -> None:
    world = busy_world(uses)
    moving = {f"ns-{number}" for number, use in enumerate(uses) if use < 4}
    canaries = sorted(moving)[:1] if with_canary else []
    wishes = {"waves": [*sorted(cuts), 100], "canary_namespaces": canaries}
    found = plan(world, **wishes)
    groups = [found["plan"]["canary"], *found["plan"]["waves"]]

    assert Counter(name for group in groups for name in group["namespaces"]) == dict.fromkeys(moving, 1)
    assert found["plan"]["namespaces"] == sorted(moving)
    assert found["snapshot"]["namespaces"].keys() == moving
    assert all(wave["namespaces"] for wave in found["plan"]["waves"]), "an empty wave is no wave"
    for noun in ("namespaces", "mutating", "services"):
        random.Random(seed).shuffle(world.raw[noun])
    assert plan(world, **wishes) == found, "a plan must not depend on the order in which the API server lists"


@given(st.lists(st.text("abc", min_size=1), unique=True), st.sets(st.integers(1, 99), max_size=5))
def test_a_split_keeps_all_in_order_and_every_percentage_is_reached(names: list[str], cuts: set[int]) -> None:
    percents = [*sorted(cuts), 100]
    parts = split(names, percents)

    assert [name for part in parts for name in part] == names
    for percent in percents:
        reached = -(-len(names) * percent // 100)
        assert reached in {sum(map(len, parts[:count])) for count in range(len(parts) + 1)}


def test_the_order_looks_random_and_is_the_same_for_ever() -> None:
    names = {"a", "b", "c", "d", "e", "f"}

    assert stable_order(names) == ORDER
    assert stable_order(names) != sorted(names)


def test_only_namespaces_that_name_the_revision_itself_are_relabelled_the_tag_moves_the_others() -> None:
    found = plan(busy_world([0, 1, 2, 4]))

    assert found["tags"] == {"default": "stable", "edge": "stable", "prod": "stable"}
    (wave,) = found["plan"]["waves"]
    assert (wave["name"], wave["namespaces"], wave["relabel"]) == ("wave 1", ["ns-0", "ns-1", "ns-2"], ["ns-1"])


def test_canaries_go_first_and_those_that_used_a_tag_get_their_labels_back() -> None:
    found = plan(busy_world([0, 1, 2, 3]), canary_namespaces=["ns-2", "ns-0", "ns-1"])["plan"]

    assert found["canary"] == {"namespaces": ["ns-0", "ns-1", "ns-2"], "relabel": ["ns-0", "ns-1", "ns-2"], "tags": []}
    assert found["labels_back"] == {"ns-0": {REV: "prod", INJECTION: None}, "ns-2": {REV: None, INJECTION: "enabled"}}
    assert [wave["namespaces"] for wave in found["waves"]] == [["ns-3"]]


def test_a_canary_tag_takes_its_namespaces_along_and_is_not_moved_with_the_rest() -> None:
    found = plan(busy_world([0, 3, 3]), canary_tags=["edge"])

    assert found["plan"]["canary"] == {"namespaces": ["ns-1", "ns-2"], "relabel": [], "tags": ["edge"]}
    assert found["tags"] == {"default": "stable", "prod": "stable"}
    assert found["snapshot"]["tags"] == {"default": "stable", "edge": "stable", "prod": "stable"}


def test_a_canary_namespace_of_a_canary_tag_gets_its_label_back_too() -> None:
    assert plan(busy_world([3]), canary_namespaces=["ns-0"], canary_tags=["edge"])["plan"]["labels_back"] == {
        "ns-0": {REV: "edge", INJECTION: None}
    }


def test_tags_that_are_left_out_leave_their_namespaces_where_they_are() -> None:
    found = plan(busy_world([0, 2]), tags=["prod"])

    assert (found["tags"], found["plan"]["namespaces"]) == ({"prod": "stable"}, ["ns-0"])


def test_an_istiod_that_is_down_for_a_moment_does_not_empty_the_plan() -> None:
    assert plan(busy_world([0, 1, 2]).kill("stable"))["plan"]["namespaces"] == ["ns-0", "ns-1", "ns-2"]


def test_the_snapshot_remembers_labels_and_workloads_in_scope() -> None:
    snapshot = plan(healthy_world())["snapshot"]

    assert snapshot["namespaces"] == {"pay": {REV: None, INJECTION: "enabled"}, "shop": {REV: "prod", INJECTION: None}}
    assert {"kind": "Deployment", "namespace": "shop", "name": "web", "revisions": {"stable": 2}} in snapshot["workloads"]
    assert {workload["namespace"] for workload in snapshot["workloads"]} == {"pay", "shop"}


def test_the_new_revision_need_not_exist_when_the_plan_is_made() -> None:
    world = busy_world([0])

    assert plan_upgrade(world.mesh(), Wishes("stable", "next"))["to_revision"] == "next"


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        ({"from_revision": "ghost"}, 'revision "ghost" does not exist'),
        ({"to_revision": "stable"}, 'an upgrade needs two revisions, and both are "stable"'),
        ({"to_revision": "1.31"}, '"1.31" cannot be a revision'),
        ({"to_revision": "prod"}, '"prod" is a tag'),
        ({"waves": []}, "waves are growing percentages"),
        ({"waves": [50]}, "waves are growing percentages"),
        ({"waves": [0, 100]}, "waves are growing percentages"),
        ({"waves": [50, 25, 100]}, "waves are growing percentages"),
        ({"waves": [50, 50, 100]}, "waves are growing percentages"),
        ({"canary_namespaces": ["ghost"]}, "namespace ghost does not exist"),
        ({"tags": ["ghost"]}, 'tag "ghost" does not exist'),
        ({"canary_tags": ["ghost"]}, 'tag "ghost" does not exist'),
        ({"tags": ["prod"], "canary_tags": ["prod"]}, "tag prod is both a canary tag and a tag of the rest"),
        ({"tags": ["old"]}, 'tag "old" points at "older", not at "stable"'),
        ({"canary_tags": ["old"]}, 'tag "old" points at "older", not at "stable"'),
    ],
)
def test_wishes_that_cannot_be_met_are_refused(wishes: dict[str, Any], message: str) -> None:
    world = World("stable", "canary", "older").tag("prod", "stable").tag("old", "older")

    with pytest.raises(Refusal, match=message):
        plan_upgrade(world.mesh(), Wishes(**{"from_revision": "stable", "to_revision": "canary", **wishes}))


def test_planning_writes_nothing_into_what_was_read() -> None:
    mesh = healthy_world().mesh()
    before = deepcopy(mesh.raw)
    plan_upgrade(mesh, Wishes("stable", "canary"))

    assert mesh.raw == before


def test_a_journal_belongs_to_its_own_two_revisions() -> None:
    journal = plan(healthy_world())

    assert same_upgrade(journal, Wishes("stable", "canary", waves=(10, 100)))
    assert not same_upgrade(journal, Wishes("canary", "stable"))
