# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pods that might be born: what is said about them, beside what the API server says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .injection import Outcome, Verdict
from .injectors import is_injector_refusal
from .names import ISTIO_DOMAIN
from .pod_template import PodTemplate
from .refusal import Refusal
from .selectors import Selector
from .snapshot import Mesh
from .workloads import Owner, revision_of_pod

Object = Mapping[str, Any]

AGREES, DISAGREES, INCONCLUSIVE = "agrees", "disagrees", "inconclusive"

EVERYTHING = Selector()


@dataclass(frozen=True)
class Candidate:
    """A pod that might be born in a namespace: of a workload, or of nobody in particular (owner None).

    Attributes:
        template: the pod template as the API server or the user has it.
        selector: of the workload, for its living pods.
    """

    namespace: str
    template: Object
    owner: Owner | None = None
    selector: Selector = EVERYTHING

    @property
    def pod(self) -> PodTemplate:
        """What of it decides."""
        return PodTemplate.parse(self.template)


@dataclass(frozen=True)
class Comparison:
    """How what was said compares with what the API server does: agrees, disagrees or inconclusive, and what the API server does."""

    status: str
    answer: str


@dataclass(frozen=True)
class Judgement:
    """What is said about a pod that might be born, and how that compares when the API server was asked."""

    candidate: Candidate
    verdict: Verdict
    comparison: Comparison | None = None

    @property
    def disagrees(self) -> bool:
        return self.comparison is not None and self.comparison.status == DISAGREES

    def as_result(self) -> dict[str, Any]:
        """As modules return it."""
        owner = self.candidate.owner
        return {
            "namespace": self.candidate.namespace,
            "kind": owner.kind if owner else None,
            "name": owner.name if owner else None,
            "outcome": self.verdict.outcome.value,
            "revision": self.verdict.revision,
            "version": self.verdict.version,
            "tag": self.verdict.tag,
            "reason": self.verdict.reason,
            "certain": self.verdict.certain,
            "verified": self.comparison.status if self.comparison else None,
            "answer": self.comparison.answer if self.comparison else None,
        }


def candidates_of(namespaces: Iterable[str], workloads: Iterable[Object], template: Object | None) -> list[Candidate]:
    """The pods to judge: the given template in every namespace, or else a pod that says nothing and the pods of every workload there."""
    if template is not None:
        return [Candidate(namespace, template) for namespace in sorted(namespaces)]
    found = {namespace: [Candidate(namespace, {})] for namespace in sorted(namespaces)}
    for workload in workloads:
        metadata = workload["metadata"]
        if metadata["namespace"] in found:
            owner = Owner(workload["kind"], metadata["namespace"], metadata["name"])
            found[metadata["namespace"]].append(
                Candidate(metadata["namespace"], workload["spec"]["template"], owner, Selector.parse(workload["spec"].get("selector")))
            )
    return [candidate for group in found.values() for candidate in group]


def refuse_odd_template(template: Object | None) -> None:
    """Stop before something is judged that Kubernetes would not take for a pod template.

    Raises:
        Refusal: it is something else, or a label or annotation is no string.
    """
    if template is None:
        return
    odd = sorted(template.keys() - {"metadata", "spec"})
    if odd:
        raise Refusal(f'template has "{odd[0]}"; a pod template has "metadata" and "spec", as in spec.template of a Deployment.')
    for part in ("metadata", "spec"):
        if not isinstance(template.get(part) or {}, Mapping):
            raise Refusal(f"template.{part} is no dictionary; write it as in spec.template of a Deployment.")
    for part in ("labels", "annotations"):
        found = (template.get("metadata") or {}).get(part) or {}
        if not isinstance(found, Mapping):
            raise Refusal(f"template.metadata.{part} is no dictionary; write it as in spec.template of a Deployment.")
        wrong = next((key for key, value in found.items() if not isinstance(value, str)), None)
        if wrong:
            raise Refusal(f"template.metadata.{part}: the value of {wrong} is no string, and Kubernetes takes no other; put it in quotes.")


def compare(verdict: Verdict, pod: Object | None, refusal: str) -> Comparison:
    """What was said beside the answer to a dry run: the pod as it would be stored, or why it would not be (pod None)."""
    if pod is None and not is_injector_refusal(refusal):
        return Comparison(INCONCLUSIVE, f"refused by somebody else than an injector: {refusal}")
    done = Outcome.REJECTED if pod is None else Outcome.NONE if revision_of_pod(pod) is None else Outcome.INJECTED
    revision = revision_of_pod(pod) if pod is not None else None
    if done is verdict.outcome and revision == verdict.revision:
        return Comparison(AGREES, _answer(done, revision, refusal))
    return Comparison(DISAGREES if verdict.certain else INCONCLUSIVE, _answer(done, revision, refusal))


def _answer(done: Outcome, revision: str | None, refusal: str) -> str:
    if done is Outcome.REJECTED:
        return f"rejected: {refusal}"
    return f'injected by revision "{revision}"' if done is Outcome.INJECTED else "no sidecar"


def evidence(mesh: Mesh, judgement: Judgement) -> dict[str, Any]:
    """Everything that a report about a wrong verdict needs, and nothing of the pod that does not decide."""
    candidate, pod = judgement.candidate, judgement.candidate.pod
    labels = mesh.namespaces.get(candidate.namespace, {})
    return {
        "namespace": candidate.namespace,
        "workload": str(candidate.owner or ""),
        "namespace_labels": dict(labels),
        "labels": dict(pod.labels),
        "annotations": {key: value for key, value in pod.annotations.items() if ISTIO_DOMAIN in key},
        "host_network": pod.host_network,
        "said": f"{judgement.verdict.outcome.value}: {judgement.verdict.reason}",
        "answer": judgement.comparison.answer if judgement.comparison else "",
        "injectors": [f"{injector.configuration}/{injector.entry}" for injector in mesh.injectors if injector.acts_on(labels, pod.labels)],
    }


def most_telling_first(judgements: Iterable[Judgement]) -> list[Judgement]:
    """In the order of their interest: wrong verdicts, rejected pods, doubts, injected pods, and at last those that nobody injects."""
    ranks = {Outcome.REJECTED: 1, Outcome.INJECTED: 3, Outcome.NONE: 4}

    def rank(judgement: Judgement) -> int:
        verdict = judgement.verdict
        return 0 if judgement.disagrees else ranks[verdict.outcome] if verdict.certain else min(2, ranks[verdict.outcome])

    return sorted(judgements, key=rank)
