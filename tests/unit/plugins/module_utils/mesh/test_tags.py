# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from mesh_objects import INJECTION, OPERATOR_LABELS, REV, TAG, Object, World, deactivated, entries, healthy_world

from ansible_collections.meshops.istio.plugins.module_utils.mesh.injection import Outcome
from ansible_collections.meshops.istio.plugins.module_utils.mesh.pod_template import PodTemplate
from ansible_collections.meshops.istio.plugins.module_utils.mesh.refusal import Refusal
from ansible_collections.meshops.istio.plugins.module_utils.mesh.tag_removal import TAG_GUARDS, plan_tag_removal
from ansible_collections.meshops.istio.plugins.module_utils.mesh.tags import TagMove, is_claimed, maker_of, plan_tag, witnesses
from ansible_collections.meshops.istio.plugins.module_utils.mesh.transition import unfinished_tags, unmarked
from ansible_collections.meshops.istio.plugins.module_utils.mesh.workloads import Owner

NOUN = {"MutatingWebhookConfiguration": "mutating", "ValidatingWebhookConfiguration": "validating", "Service": "services"}


def written(world: World, move: TagMove) -> World:
    """The world once the plan has been carried out, and the note of the transition is gone."""
    after = deepcopy(world)
    for change in (*move.changes, *move.after_proof):
        things = after.raw[NOUN[change.ref.kind]]
        things[:] = [thing for thing in things if thing["metadata"]["name"] != change.ref.name]
        if change.after is not None:
            things.append(unmarked(change.after))
    return after


def names(move: TagMove) -> list[str]:
    return [str(change.ref) for change in (*move.changes, *move.after_proof)]


STORIES = {
    "a new tag": (World("stable", "canary"), "prod", "canary"),
    "a moved tag": (World("stable", "canary").tag("prod", "stable"), "prod", "canary"),
    "a tag of istioctl that already points there": (World("stable").tag("prod", "stable"), "prod", "stable"),
    "a tag without a Service": (World("stable", "canary").tag("prod", "stable", service=None), "prod", "canary"),
    "a split tag": (World("stable", "canary").tag("prod", "canary", service="stable"), "prod", "canary"),
    "a tag of a revision that is gone": (World("canary").tag("prod", "gone"), "prod", "canary"),
    "the first default tag": (World("stable"), "default", "stable"),
    "the default tag of the base chart's validator": (World("stable", "canary").default_validator("stable"), "default", "canary"),
    "a moved default tag": (healthy_world(), "default", "canary"),
    "the default tag beside an install without a revision": (World("default", "canary"), "default", "canary"),
    "the default tag for an install without a revision": (World("default"), "default", "default"),
}


@pytest.mark.parametrize(("world", "name", "revision"), STORIES.values(), ids=STORIES)
def test_a_tag_points_where_it_shall_and_a_second_plan_changes_nothing(world: World, name: str, revision: str) -> None:
    world = deepcopy(world).namespace("user", {REV: name}).namespace("legacy", {INJECTION: "enabled"})
    after = written(world, plan_tag(world.mesh(), name, revision))
    mesh = after.mesh()

    assert (mesh.tags[name].revision, mesh.tags[name].service_revision, mesh.tags[name].ready) == (revision, revision, True)
    assert (mesh.verdict("user").revision, mesh.verdict("user").tag) == (revision, name)
    if name == "default":
        assert (mesh.verdict("legacy").revision, mesh.verdict("legacy").tag) == (revision, "default")
    assert not plan_tag(mesh, name, revision).changed
    for noun in ("mutating", "services"):
        tagged = [thing["metadata"]["labels"] for thing in after.raw[noun] if thing["metadata"]["labels"].get(TAG) == name]
        assert len(tagged) == 1
        assert not OPERATOR_LABELS.keys() & tagged[0].keys(), "istioctl would prune it together with a revision"


def test_a_new_tag_has_the_entries_of_the_chart_and_the_address_of_its_revision() -> None:
    move = plan_tag(World("stable").mesh(), "default", "stable")
    created: dict[str, Any] = dict(move.changes[0].after or {})

    assert move.changes[0].before is None
    assert created["metadata"]["name"] == "istio-revision-tag-default"
    assert created["webhooks"] == entries("default", "stable")
    assert "resourceVersion" not in created["metadata"]


def test_a_new_tag_service_selects_the_istiods_of_its_revision_and_takes_no_node_port() -> None:
    service: dict[str, Any] = dict(plan_tag(World("stable").mesh(), "prod", "stable").changes[1].after or {})

    assert service["metadata"]["name"] == "istiod-revision-tag-prod"
    assert service["spec"] == {
        "ports": [{"name": "https-webhook", "port": 443, "targetPort": 15017}],
        "selector": {"app": "istiod", REV: "stable"},
    }


def test_a_moved_tag_keeps_its_address_and_is_written_only_over_the_version_that_was_read() -> None:
    world = World("stable", "canary").tag("prod", "stable")
    world.find("mutating", "istio-revision-tag-prod")["metadata"]["resourceVersion"] = "77"
    webhook, service = (dict(change.after or {}) for change in plan_tag(world.mesh(), "prod", "canary").changes)

    assert webhook["metadata"]["resourceVersion"] == "77"
    assert service["spec"]["clusterIP"] == "10.0.0.2"
    assert service["spec"]["selector"] == {"app": "istiod", REV: "canary"}


def test_a_move_copies_the_ca_bundle_because_an_empty_one_rejects_every_pod() -> None:
    world = World("stable", "canary").tag("prod", "stable")
    for entry in world.find("mutating", "istio-sidecar-injector-canary")["webhooks"]:
        entry["clientConfig"]["caBundle"] = "TkVX"
    move = plan_tag(world.mesh(), "prod", "canary")

    assert {entry["clientConfig"]["caBundle"] for entry in (move.changes[0].after or {})["webhooks"]} == {"TkVX"}


def test_planning_leaves_what_was_read_as_it_was() -> None:
    mesh = healthy_world().mesh()
    before = deepcopy(mesh.raw)
    plan_tag(mesh, "default", "canary")
    plan_tag_removal(mesh, "prod", waive=["namespaces"])

    assert mesh.raw == before


def test_the_new_default_goes_live_before_the_old_injector_is_switched_off_and_the_validator_comes_last() -> None:
    world = World("default", "canary").default_validator("default")
    move = plan_tag(world.mesh(), "default", "canary")

    assert [str(change.ref) for change in move.changes] == [
        "MutatingWebhookConfiguration istio-revision-tag-default",
        "Service istio-system/istiod-revision-tag-default",
        "MutatingWebhookConfiguration istio-sidecar-injector",
    ]
    assert [str(change.ref) for change in move.after_proof] == ["ValidatingWebhookConfiguration istiod-default-validator"]
    off = dict(move.changes[2].after or {})
    assert off["webhooks"] == deactivated(world.find("mutating", "istio-sidecar-injector"))["webhooks"]


def test_another_tag_leaves_the_default_owner_and_the_validator_alone() -> None:
    world = World("default", "canary").default_validator("default")

    assert names(plan_tag(world.mesh(), "prod", "canary")) == [
        "MutatingWebhookConfiguration istio-revision-tag-prod",
        "Service istio-system/istiod-revision-tag-prod",
    ]


def test_a_validator_that_exists_keeps_its_policy_and_its_scope() -> None:
    world = World("stable", "canary").default_validator("stable")
    before = world.find("validating", "istiod-default-validator")
    (change,) = plan_tag(world.mesh(), "default", "canary").after_proof
    after = dict(change.after or {})

    assert after["metadata"]["labels"] == {REV: "canary"}, (
        "the base chart's has no tag label, and must not get one: istioctl would delete it"
    )
    assert after["webhooks"][0]["clientConfig"]["service"]["name"] == "istiod-canary"
    for kept in ("name", "failurePolicy", "objectSelector"):
        assert after["webhooks"][0][kept] == before["webhooks"][0][kept]


def test_a_new_validator_begins_soft_and_reads_only_configuration_without_a_revision() -> None:
    (change,) = plan_tag(World("stable").mesh(), "default", "stable").after_proof
    entry = dict(change.after or {})["webhooks"][0]

    assert entry["failurePolicy"] == "Ignore"
    assert entry["objectSelector"] == {"matchExpressions": [{"key": REV, "operator": "DoesNotExist"}]}


def test_without_validation_in_the_revision_the_default_tag_brings_none() -> None:
    world = World("stable")
    world.raw["validating"].clear()

    assert plan_tag(world.mesh(), "default", "stable").after_proof == ()


def test_users_and_previous_revision_are_told() -> None:
    move = plan_tag(healthy_world().mesh(), "default", "canary")

    assert (move.previous, move.revision, move.users) == ("stable", "canary", ("pay",))


def test_a_namespace_whose_injector_is_dead_still_uses_its_tag() -> None:
    mesh = healthy_world().kill("stable").mesh()

    assert mesh.verdict("shop").outcome is Outcome.REJECTED
    with pytest.raises(Refusal, match=r'tag "prod" is kept: 1 namespace'):
        plan_tag_removal(mesh, "prod")


@pytest.mark.parametrize(
    ("world", "name", "revision", "expect", "message"),
    [
        (World("stable"), "Prod", "stable", None, '"Prod" cannot be the name of a tag'),
        (World("stable", "canary"), "canary", "stable", None, '"canary" cannot be a tag: a revision has this name'),
        (World("stable"), "prod", "ghost", None, 'revision "ghost" does not exist'),
        (healthy_world(), "edge", "prod", None, r'"prod" is itself a tag. Name the revision that tag "edge" shall point at \("stable"\?\)'),
        (World("stable").kill("stable"), "prod", "stable", None, 'tag "prod" stays where it is: revision "stable" is not ready'),
        (healthy_world(), "prod", "canary", "old", 'tag "prod" points at "stable", not at the expected "old"'),
        (World("canary"), "prod", "canary", "old", 'tag "prod" points at no revision, not at the expected "old"'),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_written(
    world: World, name: str, revision: str, expect: str | None, message: str
) -> None:
    with pytest.raises(Refusal, match=message):
        plan_tag(world.mesh(), name, revision, expect)


def test_an_expected_revision_that_has_been_left_already_by_the_same_move_is_fine() -> None:
    assert not plan_tag(
        written(healthy_world(), plan_tag(healthy_world().mesh(), "prod", "canary")).mesh(), "prod", "canary", "stable"
    ).changed


def test_two_injectors_of_one_revision_are_refused() -> None:
    world = World("stable")
    world.raw["mutating"].append({**deepcopy(world.raw["mutating"][0]), "metadata": {"name": "twin", "labels": {REV: "stable"}}})

    with pytest.raises(Refusal, match="must have one MutatingWebhookConfiguration of its own, found istio-sidecar-injector-stable, twin"):
        plan_tag(world.mesh(), "prod", "stable")


def test_a_tag_service_of_another_istio_namespace_is_left_alone() -> None:
    world = World("stable")
    other = deepcopy(world.find("services", "istiod-stable"))
    other["metadata"].update(name="istiod-revision-tag-prod", namespace="istio-other")
    world.raw["services"].append(other)
    service = plan_tag(world.mesh(), "prod", "stable").changes[1]

    assert (str(service.ref), service.before) == ("Service istio-system/istiod-revision-tag-prod", None)


def test_a_tag_in_use_is_kept_unless_that_is_waived() -> None:
    mesh = healthy_world().mesh()

    with pytest.raises(Refusal, match=r'tag "prod" is kept: 1 namespace \(shop\) would start pods without a sidecar') as refusal:
        plan_tag_removal(mesh, "prod")
    assert refusal.value.details == {"blockers": {"namespaces": ["shop"]}}
    assert names(plan_tag_removal(mesh, "prod", waive=["namespaces"])) == [
        "MutatingWebhookConfiguration istio-revision-tag-prod",
        "Service istio-system/istiod-revision-tag-prod",
    ]


def test_removing_the_default_tag_takes_istioctls_validator_but_not_the_base_charts() -> None:
    mine = plan_tag_removal(healthy_world().mesh(), "default", waive=["namespaces"])
    base = plan_tag_removal(World("stable").tag("default", "stable").default_validator("stable").mesh(), "default")

    assert "ValidatingWebhookConfiguration istiod-default-validator" in names(mine)
    assert "ValidatingWebhookConfiguration istiod-default-validator" not in names(base)


def test_removing_a_tag_twice_changes_nothing() -> None:
    world = World("stable").tag("prod", "stable")
    after = written(world, plan_tag_removal(world.mesh(), "prod"))

    assert not plan_tag_removal(after.mesh(), "prod").changed


def owned_by_sail(webhook: Object) -> None:
    webhook["metadata"]["ownerReferences"] = [{"kind": "IstioRevisionTag", "name": "prod"}]


def test_a_tag_of_the_sail_operator_is_left_alone() -> None:
    world = healthy_world()
    owned_by_sail(world.find("mutating", "istio-revision-tag-prod"))

    for plan in (lambda: plan_tag(world.mesh(), "prod", "canary"), lambda: plan_tag_removal(world.mesh(), "prod", TAG_GUARDS)):
        with pytest.raises(Refusal, match='tag "prod" is left alone: IstioRevisionTag prod of the Sail operator owns it'):
            plan()


def test_a_tag_that_two_webhooks_carry_is_left_alone() -> None:
    world = healthy_world()
    twin = deepcopy(world.find("mutating", "istio-revision-tag-prod"))
    twin["metadata"]["name"] = "istio-revision-tag-prod-istio-other"
    world.raw["mutating"].append(twin)

    with pytest.raises(Refusal, match=r"2 MutatingWebhookConfigurations carry it \(istio-revision-tag-prod, istio-revision-tag-prod-istio"):
        plan_tag(world.mesh(), "prod", "canary")


def test_a_tag_of_another_mesh_is_left_alone() -> None:
    world = World("stable", "canary").tag("prod", "stable")
    world.find("istiod_deployments", "istiod-stable")["metadata"]["namespace"] = "istio-other"

    with pytest.raises(Refusal, match='it belongs to revision "stable" in namespace istio-other, and "canary" lives in istio-system'):
        plan_tag(world.mesh(), "prod", "canary")


def test_a_tag_of_a_helm_release_is_taken_over_when_it_moves_and_left_to_it_when_not() -> None:
    world = World("stable", "canary").tag("prod", "stable")
    metadata = world.find("mutating", "istio-revision-tag-prod")["metadata"]
    for label in OPERATOR_LABELS:
        metadata["labels"].pop(label, None)
        world.find("services", "istiod-revision-tag-prod")["metadata"]["labels"].pop(label, None)
    metadata["labels"]["app.kubernetes.io/managed-by"] = "Helm"
    metadata["annotations"] = {"meta.helm.sh/release-name": "istiod-stable", "meta.helm.sh/release-namespace": "istio-system"}

    assert not plan_tag(world.mesh(), "prod", "stable").changed
    move = plan_tag(world.mesh(), "prod", "canary")
    after: Any = move.changes[0].after
    assert after["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "meshops.istio"
    assert after["metadata"]["annotations"].keys() == {"meshops.istio/transition"}


def test_who_made_a_tag_is_told_by_its_marks_and_by_who_wrote_it() -> None:
    world = World("stable", "canary").tag("prod", "stable")
    by_istioctl = world.find("mutating", "istio-revision-tag-prod")
    ours = written(world, plan_tag(world.mesh(), "prod", "stable")).find("mutating", "istio-revision-tag-prod")
    helms = deepcopy(ours)
    helms["metadata"]["annotations"] = {"meta.helm.sh/release-name": "istiod", "meta.helm.sh/release-namespace": "istio-system"}

    assert (is_claimed(ours), is_claimed(by_istioctl), is_claimed(helms)) == (False, True, True)
    assert maker_of(by_istioctl, ["kubectl"]) == "istioctl"
    assert maker_of(helms, ["istioctl"]) == "istioctl"
    assert maker_of(helms, ["istiod", "helm"]) == "Helm release istio-system/istiod"


def test_the_injector_that_the_default_tag_switched_off_comes_back_before_the_tag_goes() -> None:
    world = World("default", "canary").default_validator("default").namespace("shop", {INJECTION: "enabled"})
    moved = written(world, plan_tag(world.mesh(), "default", "canary"))
    removal = plan_tag_removal(moved.mesh(), "default")
    after = written(moved, removal)

    assert names(removal)[:2] == [
        "MutatingWebhookConfiguration istio-sidecar-injector",
        "ValidatingWebhookConfiguration istiod-default-validator",
    ]
    assert after.mesh().verdict("shop").revision == "default"
    for noun in ("mutating", "validating"):
        assert {thing["metadata"]["name"]: thing for thing in after.raw[noun]} == {
            thing["metadata"]["name"]: thing for thing in world.raw[noun]
        }


def test_an_injector_that_istioctl_switched_off_stays_off_so_its_namespaces_keep_the_tag() -> None:
    world = World("default", "canary").tag("default", "canary").namespace("shop", {INJECTION: "enabled"})
    world.raw["mutating"] = [
        deactivated(thing) if thing["metadata"]["name"] == "istio-sidecar-injector" else thing for thing in world.raw["mutating"]
    ]

    with pytest.raises(Refusal, match=r'tag "default" is kept: 1 namespace \(shop\) would start pods without a sidecar'):
        plan_tag_removal(world.mesh(), "default")


def test_pods_and_templates_that_ask_for_the_tag_themselves_keep_it_by_a_guard_of_their_own() -> None:
    world = World("stable").tag("prod", "stable").namespace("plain").namespace("shop", {REV: "prod"})
    gate, web = Owner("Deployment", "plain", "gate"), Owner("Deployment", "shop", "web")
    asking = [(gate, PodTemplate({REV: "prod"})), (web, PodTemplate()), (Owner("Job", "plain", "once"), PodTemplate())]

    with pytest.raises(Refusal, match=r"1 workload with a label of its own \(Deployment plain/gate\)") as refusal:
        plan_tag_removal(world.mesh(), "prod", ["namespaces"], asking)
    assert refusal.value.details == {"blockers": {"pod_labels": ["Deployment plain/gate"]}}
    assert plan_tag_removal(world.mesh(), "prod", TAG_GUARDS, asking).changed


def test_who_can_be_asked_for_a_pod_of_a_tag() -> None:
    world = (
        World("stable").tag("prod", "stable").namespace("plain").namespace("shop", {REV: "prod"}).namespace("off", {INJECTION: "disabled"})
    )

    assert witnesses(world.mesh(), "prod")[:2] == [("shop", {}), ("istio-system", {REV: "prod"})]
    assert ("off", {REV: "prod"}) not in witnesses(world.mesh(), "prod")
    assert witnesses(world.kill("stable").mesh(), "prod") == []


def test_a_note_that_nobody_can_read_is_none() -> None:
    world = World("stable").tag("prod", "stable")
    for note in ("nonsense", "[]", '{"from": 1}', "null"):
        world.find("mutating", "istio-revision-tag-prod")["metadata"]["annotations"] = {"meshops.istio/transition": note}
        assert unfinished_tags(world.mesh()) == {}
