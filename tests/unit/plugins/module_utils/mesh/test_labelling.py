# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mesh_objects import INJECTION, REV, World, deactivated, healthy_world

from ansible_collections.meshops.istio.plugins.module_utils.mesh.labelling import Relabelling, plan_labels, plan_restore
from ansible_collections.meshops.istio.plugins.module_utils.mesh.refusal import Refusal

NAMES = ["a", "b", "c"]
SERVED = ["stable", "canary", "prod", "default"]
LABELS = st.fixed_dictionaries(
    {"team": st.sampled_from(["x", "y"])},
    optional={REV: st.sampled_from(SERVED), INJECTION: st.sampled_from(["enabled", "disabled"])},
)


def relabelled(world: World, changes: list[Relabelling]) -> None:
    """Carry the changes out, as a merge patch would."""
    for change in changes:
        labels = world.find("namespaces", change.namespace)["metadata"]["labels"]
        for label, value in change.after.items():
            if value is None:
                labels.pop(label, None)
            else:
                labels[label] = value


@given(st.fixed_dictionaries(dict.fromkeys(NAMES, LABELS)), st.sampled_from(SERVED), st.sets(st.sampled_from(NAMES), min_size=1))
def test_restoring_what_labelling_returned_gives_the_first_state(labels: dict[str, dict[str, str]], to: str, chosen: set[str]) -> None:
    world = World("stable", "canary").tag("prod", "stable").tag("default", "stable")
    for name in NAMES:
        world.namespace(name, labels[name])
    first = [dict(namespace["metadata"]["labels"]) for namespace in world.raw["namespaces"]]
    forward = plan_labels(world.mesh(), sorted(chosen), to)
    relabelled(world, forward)

    assert {world.mesh().verdict(name).revision for name in chosen} == {world.mesh().resolve(to).name}
    assert not any(change.changed for change in plan_labels(world.mesh(), chosen, to)), "the second run has nothing to do"
    relabelled(world, plan_restore(world.mesh(), {change.namespace: dict(change.before) for change in forward}))
    assert [namespace["metadata"]["labels"] for namespace in world.raw["namespaces"]] == first


def test_both_labels_change_together_because_the_older_one_would_win() -> None:
    (change,) = plan_labels(healthy_world().mesh(), ["pay"], "canary")

    assert change.as_result() == {
        "name": "pay",
        "before": {REV: None, INJECTION: "enabled"},
        "after": {REV: "canary", INJECTION: None},
        "injector_before": "stable",
        "injector_after": "canary",
        "restart_needed": True,
        "changed": True,
    }


def test_a_tag_of_the_same_revision_needs_a_new_label_and_no_restart() -> None:
    (change,) = plan_labels(healthy_world().mesh(), ["shop"], "stable")

    assert (change.changed, change.as_result()["restart_needed"]) == (True, False)


def test_a_namespace_named_twice_is_labelled_once() -> None:
    assert [change.namespace for change in plan_labels(healthy_world().mesh(), ["pay", "shop", "pay"], "canary")] == ["pay", "shop"]


@pytest.mark.parametrize(("to", "message"), [("ghost", '"ghost" is no revision and no tag'), ("prod", 'revision "gone" does not exist')])
def test_a_label_that_points_at_nothing_is_refused(to: str, message: str) -> None:
    with pytest.raises(Refusal, match=message):
        plan_labels(World("stable").tag("prod", "gone").namespace("shop").mesh(), ["shop"], to)


def test_a_namespace_that_does_not_exist_is_refused() -> None:
    with pytest.raises(Refusal, match="namespace ghost does not exist"):
        plan_labels(healthy_world().mesh(), ["shop", "ghost"], "canary")


def test_a_revision_whose_injector_is_switched_off_is_refused_though_it_exists() -> None:
    world = World("default").namespace("shop")
    world.raw["mutating"] = [deactivated(configuration) for configuration in world.raw["mutating"]]

    with pytest.raises(Refusal, match='"default" exists, but its injector is missing or switched off: pods in namespace shop would start'):
        plan_labels(world.mesh(), ["shop"], "default")


def test_a_label_of_before_that_means_nothing_now_is_not_restored() -> None:
    mesh = healthy_world().mesh()

    with pytest.raises(Refusal, match='"ghost" is no revision and no tag'):
        plan_restore(mesh, {"lab": {REV: "ghost", INJECTION: None}})
    assert not plan_restore(World("stable").namespace("odd", {REV: "ghost"}).mesh(), {"odd": {REV: "ghost"}})[0].changed


def test_a_label_that_is_ignored_beside_istio_injection_may_be_restored_whatever_it_says() -> None:
    (change,) = plan_restore(healthy_world().mesh(), {"lab": {REV: "ghost", INJECTION: "disabled"}})

    assert change.after == {REV: "ghost", INJECTION: "disabled"}
