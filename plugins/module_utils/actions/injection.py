# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Looking at who injects pods: what the mesh says, and what the API server does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..cluster.client import Cluster, Object
from ..cluster.dry_run import dry_run_pod
from ..cluster.parallel import in_parallel
from ..cluster.read import read_control_plane, read_templates
from ..mesh.births import (
    AGREES,
    DISAGREES,
    INCONCLUSIVE,
    Candidate,
    Judgement,
    candidates_of,
    compare,
    evidence,
    most_telling_first,
    refuse_odd_template,
)
from ..mesh.injection import Outcome
from ..mesh.snapshot import Mesh
from .render import NOT_RENDERED, Renderer


@dataclass(frozen=True)
class Question:
    """What the user wants to know.

    Attributes:
        namespaces: about pods in which, None for all.
        template: about a pod of this template, None for what is there.
        verify: whether to ask the API server too.
        under: the revision or tag under which to see the pods, None for not at all.
        sample_size: how many to tell of.
    """

    namespaces: Sequence[str] | None
    template: Object | None
    verify: bool
    under: str | None
    sample_size: int


def look(cluster: Cluster, istio_namespace: str, question: Question) -> dict[str, Any]:
    """Everything that injection_info returns.

    Raises:
        Refusal: a namespace or revision does not exist, or the template is none.
        ClusterError: something cannot be read, or no pod may be created, not even as a dry run.
    """
    refuse_odd_template(question.template)
    mesh = Mesh(read_control_plane(cluster, istio_namespace), istio_namespace)
    under = mesh.resolve(question.under).name if question.under else None
    namespaces = mesh.require_namespaces(question.namespaces) if question.namespaces is not None else mesh.namespaces
    workloads = read_templates(cluster, question.namespaces) if question.template is None else []
    judgements = _judge(mesh, candidates_of(namespaces, workloads, question.template))
    if question.verify:
        mesh, judgements = verified(cluster, mesh, judgements)
    shown = most_telling_first(judgements)[: question.sample_size]
    renderings: Sequence[dict[str, Any]] = [NOT_RENDERED] * len(shown)
    if under:
        with Renderer(cluster, mesh, under) as renderer:
            renderings = [renderer.compare(judgement) for judgement in shown]
    outcomes = Counter(judgement.verdict.outcome for judgement in judgements)
    statuses = Counter(judgement.comparison.status for judgement in judgements if judgement.comparison)
    wrong = [judgement for judgement in judgements if judgement.disagrees]
    return {
        "injections": [{**judgement.as_result(), **rendering} for judgement, rendering in zip(shown, renderings)],
        "count_injections": len(judgements),
        "by_outcome": {outcome.value: outcomes[outcome] for outcome in Outcome},
        "by_verification": {status: statuses[status] for status in (AGREES, DISAGREES, INCONCLUSIVE)},
        "disagreements": [evidence(mesh, judgement) for judgement in wrong[: question.sample_size]],
        "count_disagreements": len(wrong),
    }


def _judge(mesh: Mesh, candidates: Sequence[Candidate]) -> list[Judgement]:
    return [Judgement(candidate, mesh.verdict_of(candidate.namespace, candidate.pod)) for candidate in candidates]


def verified(cluster: Cluster, mesh: Mesh, judgements: Sequence[Judgement]) -> tuple[Mesh, list[Judgement]]:
    """The judgements beside what the API server does, and the mesh that they are about.

    Where it disagrees everything is read, judged and asked once more: the mesh may have changed in between.
    """
    found = _ask(cluster, judgements)
    if any(judgement.disagrees for judgement in found):
        mesh = Mesh(read_control_plane(cluster, mesh.istio_namespace), mesh.istio_namespace)
        again = iter(_ask(cluster, _judge(mesh, [judgement.candidate for judgement in found if judgement.disagrees])))
        found = [next(again) if judgement.disagrees else judgement for judgement in found]
    return mesh, found


def _ask(cluster: Cluster, judgements: Sequence[Judgement]) -> list[Judgement]:
    def ask(judgement: Judgement) -> Judgement:
        pod = judgement.candidate.pod
        birth = dry_run_pod(cluster, judgement.candidate.namespace, pod.labels, pod.annotations, host_network=pod.host_network)
        return Judgement(judgement.candidate, judgement.verdict, compare(judgement.verdict, birth.pod, birth.refusal))

    return in_parallel(ask, judgements)
