# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Looking until every proxy is where it should be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..cluster.client import Cluster
from ..cluster.istiods import ask_istiods
from ..cluster.read import read_mesh
from ..cluster.waiting import poll
from ..mesh.proxies import Judgement, judge
from ..mesh.snapshot import Mesh


@dataclass(frozen=True)
class Scope:
    """Which pods, and the revision that they shall hang on (None: what would inject their successors)."""

    namespaces: Sequence[str] | None = None
    revision: str | None = None
    kind: str = "all"


def wait_for_proxies(cluster: Cluster, istio_namespace: str, scope: Scope, wait_timeout: float) -> Judgement:
    """The first judgement that passes, or the last one when the time is over."""
    return poll(lambda: _look(cluster, istio_namespace, scope), lambda seen: seen.passed, timeout=wait_timeout, longest_pause=3)


def _look(cluster: Cluster, istio_namespace: str, scope: Scope) -> Judgement:
    mesh = Mesh(read_mesh(cluster, istio_namespace), istio_namespace)
    if scope.revision is not None:
        mesh.require_revision(scope.revision)
    namespaces = None if scope.namespaces is None else set(mesh.require_namespaces(scope.namespaces))
    pods = [
        pod
        for pod in mesh.pods
        if (namespaces is None or pod.namespace in namespaces) and (scope.kind == "all" or pod.gateway == (scope.kind == "gateways"))
    ]
    answers = ask_istiods(cluster)
    return judge(pods, answers, mesh.wanted if scope.revision is None else lambda _pod: scope.revision)


def failure_message(judgement: Judgement, sample_size: int) -> str:
    """One paragraph: how many pods are wrong, which, why, and what to do."""
    parts = []
    if judgement.failures:
        sample = "; ".join(f"{failure.pod}: {failure.reason}" for failure in judgement.failures[:sample_size])
        parts.append(f"{len(judgement.failures)} of {judgement.total} proxies are not where they should be. {sample}.")
    if judgement.unanswered:
        parts.append(f"The answer is incomplete, these istiods did not answer: {'; '.join(judgement.unanswered)}.")
    return " ".join([*parts, "Look at these, then run again."])
