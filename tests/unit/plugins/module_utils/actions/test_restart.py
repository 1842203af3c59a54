# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

import pytest
from memory_cluster import MemoryCluster
from mesh_objects import REV, World, pod

from ansible_collections.meshops.istio.plugins.module_utils.actions.restart import Restarter
from ansible_collections.meshops.istio.plugins.module_utils.mesh.refusal import Refusal
from ansible_collections.meshops.istio.plugins.module_utils.mesh.restarts import Restart, plan_restarts

NAMES = ["a", "b", "c"]


class Rollouts:
    """A cluster whose controllers replace the pods of a restarted workload some seconds later, or do not."""

    def __init__(self, *names: str, seconds: float = 3, kind: str = "Deployment") -> None:
        self.world = World("stable", "canary").namespace("shop", {REV: "canary"})
        for name in names:
            self.world.app("shop", name, "stable", "stable", kind=kind)
        mesh = self.world.mesh()
        self.restarts: list[Restart] = plan_restarts(mesh.workloads, mesh.controllers, mesh.wanted)
        self.cluster = MemoryCluster(self.world)
        self.cluster.before = self.see
        self.now = 0.0
        self.seconds = seconds
        self.born_on: str | None = "canary"
        self.stuck: dict[str, dict[str, Any]] = {}
        self.due: dict[str, float] = {}
        self.most = 0

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        for name, due in list(self.due.items()):
            if self.now >= due and name not in self.stuck:
                self.finish(name)

    def see(self, _cluster: MemoryCluster, method: str, path: str) -> None:
        if method == "PATCH":
            name = path.rsplit("/", 1)[1]
            thing = self.cluster.objects[path]
            thing["metadata"]["generation"] += 1
            self.due[name] = self.now + self.seconds
            self.most = max(self.most, len(self.due))
            for key, value in self.stuck.get(name, {}).items():
                thing["status"][key] = value

    def finish(self, name: str) -> None:
        del self.due[name]
        for path, thing in self.cluster.objects.items():
            if thing["kind"] == "Pod" and thing["metadata"]["labels"]["app"] == name:
                owner = thing["metadata"]["ownerReferences"][0]
                labels = thing["metadata"]["labels"]
                reborn = pod("shop", thing["metadata"]["name"], self.born_on, owner=(owner["kind"], owner["name"]), labels=labels)
                self.cluster.objects[path] = reborn
            elif path.endswith(f"/{name}") and thing["kind"] in ("Deployment", "StatefulSet", "DaemonSet"):
                thing["status"]["observedGeneration"] = thing["metadata"]["generation"]

    def restarter(self, max_unavailable: int = 10, wait_timeout: float = 30) -> Restarter:
        return Restarter(self.cluster, max_unavailable, wait_timeout, self.clock, self.sleep)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet"])
def test_every_workload_is_restarted_once_and_counts_when_its_pods_are_new(kind: str) -> None:
    rollouts = Rollouts(*NAMES, kind=kind)
    restarter = rollouts.restarter()
    restarter.run(rollouts.restarts)

    assert {owner.name: after for owner, (after, _when) in restarter.moved.items()} == {name: {"canary": 2} for name in NAMES}
    plural = f"{kind.lower()}s"
    assert rollouts.cluster.writes() == [f"PATCH /apis/apps/v1/namespaces/shop/{plural}/{name}" for name in NAMES]
    template = rollouts.cluster.objects[f"/apis/apps/v1/namespaces/shop/{plural}/a"]["spec"]["template"]["metadata"]
    assert "kubectl.kubernetes.io/restartedAt" in template["annotations"]


@pytest.mark.parametrize("limit", [1, 2, 3, 10])
def test_never_more_than_the_limit_are_under_way(limit: int) -> None:
    rollouts = Rollouts(*NAMES)
    rollouts.restarter(max_unavailable=limit).run(rollouts.restarts)

    assert rollouts.most == min(limit, 3)


def test_a_limit_of_none_is_refused_instead_of_waiting_for_ever() -> None:
    rollouts = Rollouts("a")

    with pytest.raises(Refusal, match="max_unavailable is 0"):
        rollouts.restarter(max_unavailable=0).run(rollouts.restarts)
    assert rollouts.cluster.writes() == []


def test_what_is_current_is_not_touched() -> None:
    rollouts = Rollouts()
    rollouts.restarter().run([Restart(restart.workload, "canary", "current", "") for restart in Rollouts("a").restarts])

    assert rollouts.cluster.requests == []


def test_a_workload_that_takes_too_long_stops_the_rest() -> None:
    rollouts = Rollouts(*NAMES)
    rollouts.stuck = {"b": {}}
    restarter = rollouts.restarter(max_unavailable=1, wait_timeout=20)

    with pytest.raises(
        Refusal, match=r"Deployment shop/b has not moved within 20 s: its controller has not seen the change yet\. 1 workloads"
    ):
        restarter.run(rollouts.restarts)
    assert [owner.name for owner in restarter.moved] == ["a"]
    assert len(rollouts.cluster.writes()) == 2, "c is not touched any more"
    assert rollouts.now < 30


def test_a_rollout_that_cannot_succeed_stops_at_the_second_look_and_what_is_done_counts() -> None:
    rollouts = Rollouts("a", "b")
    deadline = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "timed out"}
    rollouts.stuck = {"a": {"observedGeneration": 2, "conditions": [deadline]}}
    rollouts.seconds = 1
    restarter = rollouts.restarter()

    with pytest.raises(Refusal, match="Deployment shop/a does not come up on canary: its rollout makes no progress: timed out"):
        restarter.run(rollouts.restarts)
    assert [owner.name for owner in restarter.moved] == ["b"]
    assert rollouts.now == 2


def test_a_failure_that_shows_for_a_moment_does_not_stop_the_restart() -> None:
    rollouts = Rollouts("a")
    refused = {"type": "ReplicaFailure", "status": "True", "message": "webhook refused"}
    status = rollouts.cluster.objects["/apis/apps/v1/namespaces/shop/deployments/a"]["status"]
    sleep = rollouts.sleep

    def passing(seconds: float) -> None:
        sleep(seconds)
        status["conditions"] = [refused] if rollouts.now == 1 else []

    rollouts.sleep = passing  # type: ignore[method-assign]
    restarter = rollouts.restarter()
    restarter.run(rollouts.restarts)

    assert [owner.name for owner in restarter.moved] == ["a"]


def test_the_failure_of_the_rollout_before_does_not_stop_the_restart_that_cures_it() -> None:
    rollouts = Rollouts("a")
    thing = rollouts.cluster.objects["/apis/apps/v1/namespaces/shop/deployments/a"]
    thing["status"]["conditions"] = [{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}]
    finish = rollouts.finish

    def cured(name: str) -> None:
        thing = rollouts.cluster.objects["/apis/apps/v1/namespaces/shop/deployments/a"]
        thing["status"]["conditions"] = []
        finish(name)

    rollouts.finish = cured  # type: ignore[method-assign]
    restarter = rollouts.restarter()
    restarter.run(rollouts.restarts)

    assert [owner.name for owner in restarter.moved] == ["a"]


def test_a_new_pod_that_crashes_stops_the_rest_and_an_old_one_does_not() -> None:
    rollouts = Rollouts("a")
    rollouts.cluster.put(pod("shop", "a-0", "stable", owner=("ReplicaSet", "a-7d9c"), labels={"app": "a"}, waiting="CrashLoopBackOff"))
    rollouts.restarter().run(rollouts.restarts)

    rollouts = Rollouts("a")
    rollouts.cluster.put(pod("shop", "a-9", "canary", owner=("ReplicaSet", "a-7d9c"), labels={"app": "a"}, waiting="CrashLoopBackOff"))
    with pytest.raises(Refusal, match='does not come up on canary: container "app" is in CrashLoopBackOff'):
        rollouts.restarter().run(rollouts.restarts)


def test_an_old_pod_that_is_still_terminating_is_waited_for() -> None:
    rollouts = Rollouts("a")
    lingering = pod("shop", "a-old", "stable", owner=("ReplicaSet", "a-7d9c"), labels={"app": "other"}, terminating=True)
    rollouts.cluster.put(lingering)

    with pytest.raises(Refusal, match="has not moved within 30 s: 1 old pods are left"):
        rollouts.restarter().run(rollouts.restarts)


def test_new_pods_without_a_proxy_are_no_success() -> None:
    rollouts = Rollouts("a")
    rollouts.born_on = None

    with pytest.raises(Refusal, match="has not moved within 30 s: none of its new pods has a proxy of canary"):
        rollouts.restarter().run(rollouts.restarts)


def test_a_workload_that_is_deleted_meanwhile_is_done() -> None:
    rollouts = Rollouts("a")
    patched = rollouts.see

    def deleting(cluster: MemoryCluster, method: str, path: str) -> None:
        patched(cluster, method, path)
        if method == "GET" and path.endswith("/deployments/a"):
            cluster.objects.pop(path, None)

    rollouts.cluster.before = deleting
    restarter = rollouts.restarter()
    restarter.run(rollouts.restarts)

    assert [owner.name for owner in restarter.moved] == ["a"]
