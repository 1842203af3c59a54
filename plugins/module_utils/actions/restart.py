# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Restarting workloads, a few at a time, until each has moved or one fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..cluster.client import Cluster
from ..cluster.paths import PODS, REPLICA_SETS, resource_of
from ..cluster.read import trim_pod, without_managed_fields
from ..mesh.names import RESTARTED_AT_ANNOTATION
from ..mesh.refusal import Refusal
from ..mesh.restarts import Restart, pods_wanted, rollout_failure, rollout_problem
from ..mesh.workloads import Owner, Pod, pods_of
from .clock import now


@dataclass
class Restarter:
    """Restarts what is due, never more than max_unavailable workloads at a time.

    Attributes:
        wait_timeout: seconds that one workload may take.
        moved: owner → (revisions after, when), of the workloads that are done.
    """

    cluster: Cluster
    max_unavailable: int
    wait_timeout: float
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    moved: dict[Owner, tuple[dict[str, int], str]] = field(default_factory=dict)

    def run(self, restarts: Sequence[Restart]) -> None:
        """Restart everything that is due and wait until it has moved.

        Raises:
            Refusal: max_unavailable allows none, or a rollout failed or took too long; nothing more is restarted, and what was done is
                in ``moved``.
        """
        if self.max_unavailable < 1:
            raise Refusal(f"max_unavailable is {self.max_unavailable}, so nothing could ever be restarted. Name at least 1.")
        waiting = [restart for restart in restarts if restart.due]
        flying: dict[Owner, tuple[Restart, float]] = {}
        suspects: set[Owner] = set()
        while waiting or flying:
            while waiting and len(flying) < self.max_unavailable:
                restart = waiting.pop(0)
                self._touch(restart.workload.owner)
                flying[restart.workload.owner] = (restart, self.clock() + self.wait_timeout)
            self.sleep(1)
            pods = self._pods(sorted({owner.namespace for owner in flying}))
            stuck = []
            for owner, (restart, deadline) in list(flying.items()):
                own = [pod for pod in pods if pod.owner == owner]
                problem, hopeless = self._problem(owner, own, restart.wanted)
                if not problem:
                    self.moved[owner] = (_count(own), now())
                    del flying[owner]
                elif hopeless and owner in suspects:
                    stuck.append(f"{owner} does not come up on {restart.wanted}: {problem}")
                elif self.clock() > deadline:
                    stuck.append(f"{owner} has not moved within {self.wait_timeout:g} s: {problem}")
                # A failure counts when two looks see it: the last one of an old ReplicaSet shows for a moment.
                suspects = suspects | {owner} if hopeless else suspects - {owner}
            if stuck:
                raise Refusal(f"{'; '.join(stuck)}. {self._left(waiting, flying)}")

    def _touch(self, owner: Owner) -> None:
        annotations = {RESTARTED_AT_ANNOTATION: now()}
        patch = {"spec": {"template": {"metadata": {"annotations": annotations}}}}
        self.cluster.merge_patch(resource_of(owner.kind)(owner.namespace, owner.name), patch)

    def _pods(self, namespaces: Sequence[str]) -> list[Pod]:
        pods = [pod for namespace in namespaces for pod in self.cluster.list(PODS(namespace), trim=trim_pod)]
        replica_sets = [
            thing
            for namespace in namespaces
            for thing in self.cluster.list(REPLICA_SETS(namespace), metadata_only=True, trim=without_managed_fields)
        ]
        return pods_of(pods, replica_sets)

    def _problem(self, owner: Owner, pods: Sequence[Pod], wanted: str | None) -> tuple[str, bool]:
        """What a workload still waits for, empty when it has moved, and whether waiting is hopeless."""
        controller = self.cluster.get(resource_of(owner.kind)(owner.namespace, owner.name))
        if controller is None:
            return "", False  # deleted meanwhile: nothing old can come back
        new = [pod for pod in pods if pod.revision == wanted and not pod.terminating]
        failure = rollout_failure(controller) or next((pod.trouble for pod in new if pod.trouble), "")
        if failure:
            return failure, True
        old = sum(1 for pod in pods if pod.revision != wanted)
        problem = rollout_problem(owner.kind, controller) or (f"{old} old pods are left" if old else "")
        if not problem and not new and pods_wanted(owner.kind, controller):
            problem = f"none of its new pods has a proxy of {wanted}"
        return problem, False

    @staticmethod
    def _left(waiting: Sequence[Restart], flying: Mapping[Owner, Any]) -> str:
        return f"{len(flying)} workloads are being restarted, {len(waiting)} have not been touched. Look at new pods, then run again."


def _count(pods: Sequence[Pod]) -> dict[str, int]:
    revisions = sorted({pod.revision for pod in pods})
    return {revision: sum(1 for pod in pods if pod.revision == revision) for revision in revisions}
