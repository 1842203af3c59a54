# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

import pytest
from mesh_objects import World, healthy_world

from ansible_collections.meshops.istio.plugins.module_utils.mesh.room import Room, room_findings

Object = dict[str, Any]
SCOPE = ["shop", "pay", "lab"]


def pod(cpu: str, namespace: str = "shop", node: str = "one") -> Object:
    containers = [{"resources": {"requests": {"cpu": cpu}}}]
    return {
        "metadata": {"namespace": namespace, "name": "x"},
        "spec": {"nodeName": node, "containers": containers},
        "status": {"phase": "Running"},
    }


def node(cpu: str, name: str = "one", *, ready: str = "True", cordoned: bool = False) -> Object:
    status = {"allocatable": {"cpu": cpu, "pods": "10"}, "conditions": [{"type": "Ready", "status": ready}]}
    return {"metadata": {"name": name}, "spec": {"unschedulable": cordoned}, "status": status}


def quota(hard: dict[str, str], used: dict[str, str]) -> Object:
    return {"metadata": {"namespace": "shop", "name": "small"}, "status": {"hard": hard, "used": used}}


def budget(allowed: int, expected: int = 2) -> Object:
    status = {"disruptionsAllowed": allowed, "expectedPods": expected, "currentHealthy": 1, "desiredHealthy": 1}
    return {"metadata": {"namespace": "shop", "name": "web"}, "status": status}


def codes(room: Room, world: World | None = None) -> list[str]:
    return [found.code for found in room_findings((world or healthy_world()).mesh(), room, SCOPE)]


@pytest.mark.parametrize(
    ("room", "found"),
    [
        (Room(), []),
        (Room(nodes=[node("2")], pods=[pod("1")]), []),
        (Room(nodes=[node("1900m")], pods=[pod("1")]), ["no-room-to-surge"]),
        (
            Room(nodes=[node("1"), node("4", "two", cordoned=True), node("4", "three", ready="False")], pods=[pod("1")]),
            ["no-room-to-surge"],
        ),
        (Room(nodes=[node("1"), node("1", "two")], pods=[pod("1")]), []),
        (Room(nodes=[node("1")], pods=[pod("1", "elsewhere")]), []),
        (Room(quotas=[quota({"pods": "3"}, {"pods": "2"})]), []),
        (Room(quotas=[quota({"pods": "3"}, {"pods": "3"})]), ["quota-without-room"]),
        (Room(quotas=[quota({"requests.cpu": "2"}, {"requests.cpu": "1500m"})], pods=[pod("400m")]), []),
        (Room(quotas=[quota({"requests.cpu": "2"}, {"requests.cpu": "1500m"})], pods=[pod("600m")]), ["quota-without-room"]),
        (Room(quotas=[quota({"services": "1"}, {"services": "1"})]), []),
        (Room(budgets=[budget(1)]), []),
        (Room(budgets=[budget(0)]), ["budget-without-room"]),
        (Room(budgets=[budget(0, expected=0)]), []),
    ],
)
def test_what_leaves_no_room_for_a_rolling_restart(room: Room, found: list[str]) -> None:
    world = healthy_world()
    world.find("workloads", "db")["spec"]["replicas"] = 2
    assert codes(room, world) == found


def workload(world: World, name: str) -> Object:
    spec: Object = world.find("workloads", name)["spec"]
    return spec


def test_what_will_not_move_and_what_is_interrupted_is_told_in_the_scope_only() -> None:
    world = healthy_world()
    workload(world, "db")["replicas"] = 2
    workload(world, "web")["paused"] = True
    workload(world, "api").update(strategy={"type": "Recreate"})
    found = {each.code: each for each in room_findings(world.mesh(), Room(), ["shop", "pay"])}

    assert found.keys() == {"workload-will-not-move", "restart-interrupts"}
    assert "Deployment shop/web: its Deployment is paused" in found["workload-will-not-move"].message
    assert found["restart-interrupts"].object == "Deployment pay/api"
    assert list(room_findings(world.mesh(), Room(), ["lab"])) == []


def test_a_stateful_set_of_one_pod_is_interrupted() -> None:
    world = healthy_world()
    workload(world, "db")["replicas"] = 1

    assert codes(Room(), world) == ["restart-interrupts"]


@pytest.mark.parametrize(("at_once", "found"), [(1, []), (2, []), (3, ["no-room-to-surge"]), (99, ["no-room-to-surge"])])
def test_as_many_new_pods_need_room_as_workloads_restart_at_the_same_time(at_once: int, found: list[str]) -> None:
    world = healthy_world()
    workload(world, "db")["replicas"] = 2
    room = Room(nodes=[node("4"), node("1", "two")], pods=[pod("1"), pod("1"), pod("1")])

    assert [each.code for each in room_findings(world.mesh(), room, SCOPE, at_once)] == found
