# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mesh_objects import INJECTION, REV, World, deactivated, healthy_world

from ansible_collections.meshops.istio.plugins.module_utils.mesh.labelling import (
    Relabelling,
    following,
    label_sentence,
    plan_labels,
    plan_restore,
)
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
    forward = plan_labels(world.mesh(), sorted(chosen), to, include_disabled=True)
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
        "managers": [],
    }


def test_a_tag_of_the_same_revision_needs_a_new_label_and_no_restart() -> None:
    (change,) = plan_labels(healthy_world().mesh(), ["shop"], "stable")

    assert (change.changed, change.restart_needed) == (True, False)
    assert label_sentence([change]) == "1 namespace relabelled; no restart is needed, because the same revision injects them as before."


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


def test_a_label_of_before_that_means_nothing_now_is_refused_for_its_namespace_alone() -> None:
    lab, pay = plan_restore(healthy_world().mesh(), {"lab": {REV: "ghost", INJECTION: None}, "pay": {REV: "canary", INJECTION: None}})

    assert '"ghost" is no revision and no tag' in lab.refusal
    assert (lab.changed, pay.changed, pay.refusal) == (False, True, "")
    (odd,) = plan_restore(World("stable").namespace("odd", {REV: "ghost"}).mesh(), {"odd": {REV: "ghost"}})
    assert (odd.changed, odd.refusal) == (False, "")


def test_a_namespace_that_said_no_is_brought_into_the_mesh_only_when_asked() -> None:
    world = World("stable").namespace("off", {INJECTION: "disabled"}).namespace("shop")

    with pytest.raises(Refusal, match=r"1 namespace \(off\) said no to injection by istio-injection=disabled"):
        plan_labels(world.mesh(), ["shop", "off"], "stable")
    (change,) = plan_labels(world.mesh(), ["off"], "stable", include_disabled=True)
    assert change.after == {REV: "stable", INJECTION: None}


def test_a_namespace_where_istiod_never_injects_is_refused() -> None:
    world = World("stable").namespace("kube-system")

    with pytest.raises(Refusal, match="istiod never injects in namespace kube-system"):
        plan_labels(world.mesh(), ["kube-system"], "stable")


@pytest.mark.parametrize(
    ("name", "namespaces"), [("prod", ["shop"]), ("canary", ["lab"]), ("default", ["pay"]), ("stable", []), ("ghost", [])]
)
def test_the_namespaces_that_follow_a_name_are_those_whose_label_says_so(name: str, namespaces: list[str]) -> None:
    world = healthy_world().namespace("off", {INJECTION: "disabled", REV: "canary"})

    assert following(world.mesh(), name) == namespaces


def test_who_else_sets_the_label_is_known_before_anything_is_written() -> None:
    world = healthy_world()
    entry = {"manager": "argocd-controller", "operation": "Apply", "fieldsV1": {"f:metadata": {"f:labels": {f"f:{REV}": {}}}}}
    world.find("namespaces", "shop")["metadata"]["managedFields"] = [entry]
    (change,) = plan_labels(world.mesh(), ["shop"], "canary")

    assert [manager.puts_back for manager in change.managers] == [True]


def test_a_label_that_is_ignored_beside_istio_injection_may_be_restored_whatever_it_says() -> None:
    (change,) = plan_restore(healthy_world().mesh(), {"lab": {REV: "ghost", INJECTION: "disabled"}})

    assert change.after == {REV: "ghost", INJECTION: "disabled"}
