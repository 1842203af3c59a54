# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from memory_cluster import Killed, MemoryCluster
from mesh_objects import INJECTION, OPERATOR_LABELS, REV, World, healthy_world

from ansible_collections.meshops.istio.plugins.module_utils.actions.tag import carry_out, ensure_tag
from ansible_collections.meshops.istio.plugins.module_utils.actions.transaction import Transaction, path_to
from ansible_collections.meshops.istio.plugins.module_utils.cluster.errors import ClusterError
from ansible_collections.meshops.istio.plugins.module_utils.mesh.changes import Change, Ref
from ansible_collections.meshops.istio.plugins.module_utils.mesh.refusal import Refusal
from ansible_collections.meshops.istio.plugins.module_utils.mesh.tag_removal import plan_tag_removal
from ansible_collections.meshops.istio.plugins.module_utils.mesh.tags import TagMove, plan_tag
from ansible_collections.meshops.istio.plugins.module_utils.mesh.transition import unfinished_tags

LEGACY = World("default", "canary").default_validator("default").namespace("shop", {INJECTION: "enabled"})
MOVES = {
    "a new tag": (World("stable"), "prod", "stable"),
    "a moved tag": (healthy_world(), "prod", "canary"),
    "a split tag": (World("stable", "canary").tag("prod", "canary", service="stable"), "prod", "canary"),
    "a moved default tag": (healthy_world(), "default", "canary"),
    "the first default tag beside an install without a revision": (LEGACY, "default", "canary"),
    "a removed tag": (healthy_world(), "prod", None),
    "a removed default tag": (healthy_world(), "default", None),
}
WAYS = [(story, lost) for story in MOVES for lost in (False, True)]


def planned(cluster: MemoryCluster, name: str, revision: str | None) -> TagMove:
    mesh = cluster.mesh()
    return plan_tag(mesh, name, revision) if revision else plan_tag_removal(mesh, name, waive=["namespaces"])


def carried_out(cluster: MemoryCluster, move: TagMove) -> None:
    carry_out(move, cluster, "istio-system", wait_timeout=0)  # type: ignore[arg-type]


@pytest.mark.parametrize(("story", "lost"), WAYS)
def test_a_move_that_fails_at_any_request_leaves_the_old_state_or_the_new_one(story: str, lost: bool) -> None:
    world, name, revision = MOVES[story]
    cluster = MemoryCluster(world)
    old = cluster.state()
    carried_out(cluster, planned(cluster, name, revision))
    new, requests = cluster.state(), len(cluster.requests)
    assert old != new

    for number in range(1, requests + 1):
        cluster = MemoryCluster(world)
        move = planned(cluster, name, revision)
        cluster.fail, cluster.lost = number, lost
        moved = succeeds(cluster, move)
        assert stripped(cluster.state()) == stripped(new if moved else old), f"half moved after {cluster.requests[number - 1]} failed"


def succeeds(cluster: MemoryCluster, move: TagMove) -> bool:
    """Whether the move went through; a proof that nobody admits to ask for is inconclusive and stops nothing."""
    try:
        carried_out(cluster, move)
    except (Refusal, ClusterError):
        return False
    return True


def stripped(state: dict[str, Any]) -> dict[str, Any]:
    """An object that was deleted and put back has a new birthday."""
    for thing in state.values():
        thing["metadata"].pop("creationTimestamp", None)
    return state


@pytest.mark.parametrize("story", MOVES)
def test_a_second_run_writes_nothing(story: str) -> None:
    world, name, revision = MOVES[story]
    cluster = MemoryCluster(world)
    carried_out(cluster, planned(cluster, name, revision))

    assert not planned(cluster, name, revision).changed


@pytest.mark.parametrize("story", MOVES)
def test_a_run_that_is_killed_is_finished_or_taken_back_by_the_next_one(story: str) -> None:
    world, name, revision = MOVES[story]
    cluster = MemoryCluster(world)
    old = stripped(cluster.state())
    carried_out(cluster, first := planned(cluster, name, revision))
    new, requests = stripped(cluster.state()), len(cluster.requests)

    for number in range(1, requests + 1):
        dead = killed(world, name, revision, number)
        noted = name in unfinished_tags(dead.mesh())
        forward, back = deepcopy(dead), deepcopy(dead)
        again = planned(forward, name, revision)
        carried_out(forward, again)
        assert stripped(forward.state()) == new, f"killed at {dead.requests[-1]}"
        if revision is not None and again.changed and number > 1:
            assert noted, "a move under way carries its note"
            assert again.previous == first.previous
            carried_out(back, planned(back, name, first.previous))
            assert taken_back(back, old), f"killed at {dead.requests[-1]}"


def killed(world: World, name: str, revision: str | None, number: int) -> MemoryCluster:
    """What a run leaves behind that dies at this request."""
    cluster = MemoryCluster(world)
    move = planned(cluster, name, revision)
    cluster.kill = number
    with pytest.raises(Killed):
        carried_out(cluster, move)
    cluster.kill = None
    return cluster


def taken_back(cluster: MemoryCluster, old: dict[str, Any], *but: str) -> bool:
    """Whether everything is as it was; a tag that was split is whole now, and one that istioctl would prune is so no more."""
    split = "/api/v1/namespaces/istio-system/services/istiod-revision-tag-prod"
    states = [deepcopy(state) for state in (stripped(cluster.state()), old)]
    for state in states:
        for path in (split, *but):
            state.pop(path, None)
        for thing in state.values():
            for label in OPERATOR_LABELS:
                thing["metadata"].get("labels", {}).pop(label, None)
    return states[0] == states[1]


def test_a_run_after_a_dead_one_goes_back_when_the_target_has_died_too() -> None:
    for world, name, previous in ((healthy_world(), "prod", "stable"), (LEGACY, "default", "default")):
        old = stripped(MemoryCluster(world).state())
        dead = killed(world, name, "canary", 4)
        gone = deepcopy(world).kill("canary").find("endpoint_slices", "istiod-canary-abc")
        dead.put(gone)

        with pytest.raises(Refusal, match=r'"canary" is not ready: .* A run that died had begun to move it .* again\.'):
            ensure_tag(dead, "istio-system", name, "canary", expect_revision=None, wait_timeout=0, check_mode=False)  # type: ignore[arg-type]
        assert taken_back(dead, old, "/apis/discovery.k8s.io/v1/namespaces/istio-system/endpointslices/istiod-canary-abc")
        assert dead.mesh().default_revision == ("stable" if previous == "stable" else "default")


def test_what_moves_says_who_had_made_it_and_what_proves_it_and_the_second_run_says_what_is() -> None:
    cluster = MemoryCluster(healthy_world())
    first, second = (
        ensure_tag(cluster, "istio-system", "prod", "canary", expect_revision=None, wait_timeout=0, check_mode=False)  # type: ignore[arg-type]
        for _ in range(2)
    )

    assert (first.move.changed, first.maker) == (True, "istioctl")
    assert first.proof == 'a pod in namespace "shop" is injected by it, as a dry run shows'
    assert (second.move.changed, second.maker, second.proof) == (False, "", "its injector can be called")


def test_pods_are_injected_at_every_moment_while_the_default_changes_hands() -> None:
    cluster = MemoryCluster(LEGACY)
    seen: list[str | None] = []
    cluster.before = lambda cluster, _method, _path: seen.append(cluster.mesh().verdict("shop").revision)
    carried_out(cluster, planned(cluster, "default", "canary"))

    assert None not in seen
    assert (seen[0], cluster.mesh().verdict("shop").revision) == ("default", "canary")


def test_the_validator_follows_only_after_the_proof() -> None:
    cluster = MemoryCluster(healthy_world())
    carried_out(cluster, planned(cluster, "default", "canary"))
    proof = next(number for number, request in enumerate(cluster.requests) if request == "GET /api/v1/namespaces/pay/pods")

    assert "PUT /apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/istiod-default-validator" in cluster.requests[proof:]
    assert not any("validating" in request for request in cluster.requests[:proof] if request.startswith("PUT"))


def test_a_target_that_dies_under_way_is_refused_and_everything_put_back() -> None:
    cluster = MemoryCluster(healthy_world())
    old = cluster.state()
    move = planned(cluster, "prod", "canary")
    cluster.before = lambda cluster, method, _path: (
        method == "PUT" and cluster.put(healthy_world().kill("canary").find("endpoint_slices", "istiod-canary-abc"))
    )

    with pytest.raises(Refusal, match=r'tag "prod" cannot point at "canary": .*no ready endpoint.* Put back as it was: Service'):
        carried_out(cluster, move)
    for state in (old, now := cluster.state()):
        state.pop("/apis/discovery.k8s.io/v1/namespaces/istio-system/endpointslices/istiod-canary-abc")
    assert now == old


def change(cluster: MemoryCluster, ref: Ref, **labels: str) -> Change:
    before = cluster.get(path_to(ref))
    after = deepcopy(before)
    assert after is not None
    after["metadata"]["labels"].update(labels)
    return Change(ref, before, after)


FIRST, SECOND = Ref("Service", "istio-system", "istiod-stable"), Ref("Service", "istio-system", "istiod-canary")


def two_changes() -> tuple[MemoryCluster, list[Change]]:
    cluster = MemoryCluster(World("stable", "canary"))
    return cluster, [change(cluster, FIRST, mine="1"), change(cluster, SECOND, mine="1")]


def touch(cluster: MemoryCluster, ref: Ref, **labels: str) -> None:
    """Somebody else writes."""
    cluster.put(dict(change(cluster, ref, **labels).after or {}))


def test_what_somebody_else_changed_meanwhile_is_neither_overwritten_nor_put_back() -> None:
    cluster, changes = two_changes()
    touch(cluster, SECOND, theirs="1")

    with (
        pytest.raises(Refusal, match=r"has changed\. Put back as it was: Service istio-system/istiod-stable\.$"),
        run(cluster) as transaction,
    ):
        transaction.write(changes)
    assert "mine" not in labels(cluster, FIRST)
    assert labels(cluster, SECOND)["theirs"] == "1"
    assert "mine" not in labels(cluster, SECOND)


def run(cluster: MemoryCluster) -> Transaction:
    return Transaction(cluster)  # type: ignore[arg-type]


def write_and_fail(cluster: MemoryCluster, changes: list[Change], error: BaseException) -> None:
    with run(cluster) as transaction:
        transaction.write(changes)
        raise error


def labels(cluster: MemoryCluster, ref: Ref) -> dict[str, str]:
    return cluster.objects[path_to(ref)]["metadata"]["labels"]


def test_what_somebody_else_created_meanwhile_is_not_deleted() -> None:
    cluster = MemoryCluster(World("stable"))
    move = planned(cluster, "prod", "stable")
    theirs = healthy_world().find("mutating", "istio-revision-tag-prod")
    cluster.put(theirs)

    with pytest.raises(ClusterError, match="exists already"):
        carried_out(cluster, move)
    assert path_to(Ref("MutatingWebhookConfiguration", None, "istio-revision-tag-prod")) in cluster.objects


def test_what_somebody_else_changed_meanwhile_is_not_deleted() -> None:
    cluster = MemoryCluster(healthy_world())
    move = planned(cluster, "prod", None)
    touch(cluster, Ref("Service", "istio-system", "istiod-revision-tag-prod"), theirs="1")

    with pytest.raises(Refusal, match=r"has changed\. Put back as it was: MutatingWebhookConfiguration istio-revision-tag-prod\."):
        carried_out(cluster, move)
    assert cluster.mesh().tags["prod"].revision == "stable"


def test_a_ca_bundle_that_istiod_writes_under_way_does_not_stop_putting_back() -> None:
    cluster, changes = two_changes()
    disturbed: list[str] = []

    def istiod(cluster: MemoryCluster, method: str, path: str) -> None:
        if method == "PUT" and path == path_to(FIRST) and len(disturbed) < 2:
            disturbed.append(path)
            if len(disturbed) == 2:  # the first is ours, the second puts back
                cluster.objects[path]["metadata"]["resourceVersion"] = "999"

    cluster.before = istiod
    with pytest.raises(Refusal, match="Put back as it was: Service istio-system/istiod-stable"):
        write_and_fail(cluster, changes[:1], Refusal("No proof."))
    assert "mine" not in labels(cluster, FIRST)


def test_what_istiod_fills_in_while_a_tag_moves_is_no_conflict() -> None:
    cluster = MemoryCluster(healthy_world())
    move = planned(cluster, "prod", "canary")
    path = path_to(Ref("MutatingWebhookConfiguration", None, "istio-revision-tag-prod"))
    patched = deepcopy(cluster.objects[path])
    for entry in patched["webhooks"]:
        entry["clientConfig"]["caBundle"] = "TkVX"
    cluster.put(patched)
    carried_out(cluster, move)

    assert cluster.mesh().tags["prod"].revision == "canary"


def test_what_cannot_be_put_back_is_named_and_does_not_keep_the_rest() -> None:
    cluster, changes = two_changes()
    cluster.fail = len(cluster.requests) + 4  # two writes, a look, then putting the second back

    with pytest.raises(Refusal) as refusal:
        write_and_fail(cluster, changes, Refusal("No proof."))
    assert str(refusal.value).startswith(
        "No proof. Put back as it was: Service istio-system/istiod-stable. NOT put back, repair it by hand or run again: "
        "Service istio-system/istiod-canary ("
    )
    assert ("mine" in labels(cluster, SECOND), "mine" in labels(cluster, FIRST)) == (True, False)


def test_an_interrupt_puts_back_and_stays_an_interrupt() -> None:
    cluster, changes = two_changes()

    with pytest.raises(KeyboardInterrupt):
        write_and_fail(cluster, changes, KeyboardInterrupt())
    assert "mine" not in {**labels(cluster, FIRST), **labels(cluster, SECOND)}


def test_a_block_that_ends_well_keeps_what_it_wrote() -> None:
    cluster, changes = two_changes()
    with run(cluster) as transaction:
        transaction.write(changes)

    assert labels(cluster, FIRST)["mine"] == labels(cluster, SECOND)["mine"] == "1"
    assert REV in labels(cluster, FIRST)
