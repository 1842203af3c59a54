# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

import pytest
from mesh_objects import INJECT, REV, Object, World, healthy_world, pod, workload

from ansible_collections.meshops.istio.plugins.module_utils.mesh.refusal import Refusal
from ansible_collections.meshops.istio.plugins.module_utils.mesh.restarts import (
    Restart,
    plan_restarts,
    refuse_wrong_injector,
    rollout_failure,
    rollout_problem,
    why_not_restartable,
)

KINDS = ["Deployment", "StatefulSet", "DaemonSet"]


def planned(world: World, **options: Any) -> dict[str, Restart]:
    mesh = world.mesh()
    return {str(found.workload.owner): found for found in plan_restarts(mesh.workloads, mesh.controllers, mesh.wanted, **options)}


def moving_world() -> World:
    """Namespace shop has been relabelled to "canary" and nothing restarted yet."""
    return World("stable", "canary").namespace("shop", {REV: "canary"})


def test_nothing_is_due_in_a_healthy_mesh() -> None:
    assert {found.outcome for found in planned(healthy_world()).values()} == {"current"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_workload_with_one_stale_pod_is_restarted(kind: str) -> None:
    found = planned(moving_world().app("shop", "web", "canary", "stable", kind=kind))[f"{kind} shop/web"]

    assert (found.due, found.wanted, found.reason) == (True, "canary", "1 of 2 pods are stale")
    assert found.as_result() == {
        "kind": kind,
        "namespace": "shop",
        "name": "web",
        "before": {"canary": 1, "stable": 1},
        "after": {"canary": 1, "stable": 1},
        "outcome": "restart",
        "reason": "1 of 2 pods are stale",
        "moved_at": None,
    }
    done = found.as_result({"canary": 2}, "2026-11-30T20:15:00Z")
    assert (done["outcome"], done["after"], done["moved_at"]) == ("restarted", {"canary": 2}, "2026-11-30T20:15:00Z")
    assert found.expected == {"canary": 2}


def test_a_pod_that_is_terminating_has_its_successor_and_is_no_reason_to_restart_again() -> None:
    world = moving_world().app("shop", "web", "canary", "stable")
    world.find("pods", "web-1")["metadata"]["deletionTimestamp"] = "2026-11-30T20:00:00Z"

    assert planned(world)["Deployment shop/web"].outcome == "current"


def test_terminating_pods_are_not_expected_to_come_back() -> None:
    world = moving_world().app("shop", "web", "stable", "stable")
    world.find("pods", "web-1")["metadata"]["deletionTimestamp"] = "2026-11-30T20:00:00Z"

    assert planned(world)["Deployment shop/web"].expected == {"canary": 1}


def bucket(kind: str, owner: tuple[str, str] | None) -> str:
    world = moving_world()
    world.raw["pods"].append(pod("shop", "p", "stable", owner=owner))
    return planned(world)[kind].reason


@pytest.mark.parametrize(
    ("thing", "owner", "reason"),
    [
        ("Pod shop/p", None, "no controller would bring the pod back; replace it yourself"),
        ("Job shop/j", ("Job", "j"), "a Job does not replace its pods when restarted; let it finish or replace them yourself"),
        ("Rollout shop/r", ("Rollout", "r"), "a Rollout does not replace its pods when restarted; let it finish or replace them yourself"),
        ("StatefulSet shop/s", ("StatefulSet", "s"), "its StatefulSet does not exist any more"),
    ],
)
def test_every_stale_pod_is_in_a_bucket_with_a_reason(thing: str, owner: tuple[str, str] | None, reason: str) -> None:
    assert bucket(thing, owner) == reason


@pytest.mark.parametrize(
    ("kind", "spec", "reason"),
    [
        ("Deployment", {}, ""),
        ("StatefulSet", {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}}, ""),
        ("DaemonSet", {"updateStrategy": {"type": "RollingUpdate"}}, ""),
        ("Deployment", {"paused": True}, "its Deployment is paused; resume it first"),
        (
            "StatefulSet",
            {"updateStrategy": {"type": "OnDelete"}},
            "its StatefulSet replaces pods only when they are deleted (OnDelete); delete them yourself",
        ),
        (
            "DaemonSet",
            {"updateStrategy": {"type": "OnDelete"}},
            "its DaemonSet replaces pods only when they are deleted (OnDelete); delete them yourself",
        ),
        (
            "StatefulSet",
            {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}},
            "its StatefulSet keeps old pods below ordinal 2 (rollingUpdate.partition); set that to 0 first",
        ),
    ],
)
def test_a_controller_that_would_keep_old_pods_is_not_restarted(kind: str, spec: Object, reason: str) -> None:
    assert why_not_restartable(kind, workload(kind, "shop", "web", **spec)) == reason


def test_a_workload_that_would_lose_its_sidecar_is_not_restarted() -> None:
    found = planned(World("stable").namespace("shop").app("shop", "web", "stable"))["Deployment shop/web"]

    assert (found.outcome, found.wanted) == ("not_restartable", None)
    assert found.expected == {"stable": 1}


def test_a_workload_whose_new_pods_would_be_rejected_is_not_restarted() -> None:
    assert planned(moving_world().app("shop", "web", "stable").kill("canary"))["Deployment shop/web"].outcome == "not_restartable"


def scoped_world() -> World:
    world = moving_world().app("shop", "web", "stable").app("shop", "new", "canary")
    world.raw["workloads"].append(workload("DaemonSet", "shop", "edge"))
    world.raw["pods"].append(pod("shop", "edge-0", "stable", owner=("DaemonSet", "edge"), router=True))
    return world


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({}, ["edge", "new", "web"]),
        ({"scope": "gateways"}, ["edge"]),
        ({"scope": "workloads"}, ["new", "web"]),
        ({"on_revision": "stable"}, ["edge", "web"]),
        ({"on_revision": "stable", "scope": "workloads"}, ["web"]),
        ({"on_revision": "ghost"}, []),
    ],
)
def test_scope_and_revision_choose_workloads(options: dict[str, Any], names: list[str]) -> None:
    assert [found.workload.owner.name for found in planned(scoped_world(), **options).values()] == names


def test_a_restart_that_would_bring_another_revision_is_refused() -> None:
    found = list(planned(World("stable", "canary").namespace("shop", {REV: "stable"}).app("shop", "web", "stable")).values())

    refuse_wrong_injector(found, "stable")
    with pytest.raises(
        Refusal, match='1 workloads would not get revision "canary", nothing was restarted: new pods of Deployment shop/web'
    ):
        refuse_wrong_injector(found, "canary")


def test_a_gateway_that_istiod_rolls_by_itself_does_not_stop_the_others() -> None:
    world = moving_world().app("shop", "web", "stable").app("shop", "front-istio", "stable", labels={INJECT: "false"})
    found = planned(world)

    assert {name: restart.outcome for name, restart in found.items()} == {
        "Deployment shop/front-istio": "current",
        "Deployment shop/web": "restart",
    }
    refuse_wrong_injector(found.values(), "canary")


@pytest.mark.parametrize("kind", KINDS)
def test_a_complete_rollout_waits_for_nothing(kind: str) -> None:
    assert rollout_problem(kind, workload(kind, "shop", "web", pods=3)) == ""


@pytest.mark.parametrize(
    ("kind", "status", "problem"),
    [
        ("Deployment", {"observedGeneration": 0}, "its controller has not seen the change yet"),
        ("StatefulSet", {"observedGeneration": 0}, "its controller has not seen the change yet"),
        ("DaemonSet", {"observedGeneration": 0}, "its controller has not seen the change yet"),
        ("Deployment", {"updatedReplicas": 1}, "1 of 3 pods are new"),
        ("StatefulSet", {"updatedReplicas": 1}, "1 of 3 pods are new"),
        ("DaemonSet", {"updatedNumberScheduled": 1}, "1 of 3 pods are new"),
        ("Deployment", {"replicas": 4}, "1 old pods are left"),
        ("StatefulSet", {"replicas": 4}, "1 old pods are left"),
        ("Deployment", {"availableReplicas": 2}, "2 of 3 pods are available"),
        ("StatefulSet", {"availableReplicas": 2}, "2 of 3 pods are available"),
        ("DaemonSet", {"numberAvailable": 2}, "2 of 3 pods are available"),
    ],
)
def test_a_rollout_says_what_it_waits_for(kind: str, status: Object, problem: str) -> None:
    found = workload(kind, "shop", "web", pods=3)
    found["status"].update(status)

    assert rollout_problem(kind, found) == problem


def test_a_controller_without_a_status_has_not_seen_the_change() -> None:
    assert rollout_problem("Deployment", {**workload("Deployment", "shop", "web"), "status": None}).startswith(
        "its controller has not seen"
    )


def test_a_deployment_without_replicas_written_down_has_one_and_one_with_zero_is_complete() -> None:
    found = workload("Deployment", "shop", "web", pods=0)
    assert rollout_problem("Deployment", found) == ""
    del found["spec"]["replicas"]
    assert rollout_problem("Deployment", found) == "0 of 1 pods are new"


DEADLINE = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "timed out progressing"}
QUOTA = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "exceeded quota"}


@pytest.mark.parametrize(
    ("condition", "failure"),
    [
        (DEADLINE, "its rollout makes no progress: timed out progressing"),
        (QUOTA, "its pods cannot be created: exceeded quota"),
        ({**QUOTA, "status": "False"}, ""),
        ({"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"}, ""),
    ],
)
def test_only_what_waiting_does_not_cure_is_a_failure(condition: Object, failure: str) -> None:
    found = workload("Deployment", "shop", "web")
    found["status"]["conditions"] = [condition]

    assert rollout_failure(found) == failure


def test_the_failure_of_the_rollout_before_is_not_held_against_the_new_one() -> None:
    found = workload("Deployment", "shop", "web")
    found["status"]["conditions"] = [DEADLINE]
    found["metadata"]["generation"] = 2

    assert rollout_failure(found) == ""
