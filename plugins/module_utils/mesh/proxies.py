# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which istiod each proxy hangs on, and whether it has what istiod sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .workloads import Pod


@dataclass(frozen=True)
class IstiodAnswer:
    """What one istiod says about its proxies (GET /debug/syncz); an error means that its proxies are unknown, not that it has none."""

    istiod: str
    revision: str
    proxies: Sequence[Mapping[str, Any]] = ()
    error: str = ""


@dataclass(frozen=True)
class Attachment:
    """One proxy as an istiod sees it."""

    pod: str
    istiod: str
    revision: str
    problem: str


@dataclass(frozen=True)
class Failure:
    """A pod that is not where it should be, and why."""

    pod: str
    reason: str

    def as_result(self) -> dict[str, str]:
        """As modules return it."""
        return {"pod": self.pod, "reason": self.reason}


@dataclass(frozen=True)
class Judgement:
    """Whether every proxy in scope is where it should be.

    Attributes:
        unanswered: istiods that did not answer.
        doubtful: those of them that belong to an expected revision. The others cannot undo what an expected one has confirmed, and a
            broken new control plane must not keep a rollback from ending.
    """

    total: int
    attached: int
    by_revision: Mapping[str, int]
    unanswered: tuple[str, ...]
    failures: tuple[Failure, ...]
    doubtful: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether every istiod has answered."""
        return not self.unanswered

    @property
    def passed(self) -> bool:
        return not self.doubtful and not self.failures


def attachments(answers: Iterable[IstiodAnswer]) -> dict[str, list[Attachment]]:
    """Every proxy that some istiod lists, by pod ("namespace/name"); a proxy that reconnects can be listed twice for a moment."""
    found: dict[str, list[Attachment]] = {}
    for answer in answers:
        for row in answer.proxies:
            if row.get("istio_version"):  # others are visitors, such as istioctl itself
                name, _dot, namespace = str(row["proxy"]).rpartition(".")
                pod = f"{namespace}/{name}"
                found.setdefault(pod, []).append(Attachment(pod, answer.istiod, answer.revision, _problem(row)))
    return found


def _problem(row: Mapping[str, Any]) -> str:
    """What a proxy has not accepted yet, empty when it is in sync (pilot/pkg/xds/debug.go, SyncStatus)."""
    for type_url, state in sorted((row.get("resources") or {}).items()):
        kind = type_url.rpartition(".")[2]
        if state.get("lastError"):
            return f"it rejected {kind}: {state['lastError']}"
        if state.get("sent") and state.get("sent") != state.get("acked"):
            return f"it has not acknowledged {kind} yet"
    return ""


def judge(pods: Iterable[Pod], answers: Sequence[IstiodAnswer], expected: Callable[[Pod], str | None]) -> Judgement:
    """Compare pods, the revision each should have, and what every istiod says."""
    listed = attachments(answers)
    silent = {f"{answer.istiod} of {answer.revision}: {answer.error}": answer.revision for answer in answers if answer.error}
    targets = [(pod, expected(pod)) for pod in pods]
    checked = [(pod, _failure(pod, listed.get(str(pod), []), target)) for pod, target in targets]
    checked = [(pod, reason) for pod, reason in checked if not (pod.terminating and not reason)]
    return Judgement(
        total=len(checked),
        attached=sum(1 for pod, _reason in checked if str(pod) in listed),
        by_revision=dict(sorted(Counter(listed[str(pod)][0].revision for pod, _reason in checked if str(pod) in listed).items())),
        unanswered=tuple(silent),
        failures=tuple(Failure(str(pod), reason) for pod, reason in checked if reason),
        doubtful=tuple(sentence for sentence, revision in silent.items() if revision in {target for _pod, target in targets}),
    )


def _failure(pod: Pod, attached: Sequence[Attachment], expected: str | None) -> str:
    if expected is None:
        return f'revision "{pod.revision}" injected it, but nobody would inject its successor'
    if pod.revision != expected:
        leaving = "it is still terminating" if pod.terminating else "restart it"
        return f'revision "{pod.revision}" injected it, expected is "{expected}": {leaving}'
    if pod.terminating:
        return ""
    if pod.trouble:
        return pod.trouble
    if not attached:
        return f'no istiod lists it, expected is one of revision "{expected}"'
    if all(attachment.revision != expected for attachment in attached):
        return f'it hangs on {attached[0].istiod} of revision "{attached[0].revision}", expected is "{expected}"'
    problems = [attachment.problem for attachment in attached if attachment.revision == expected]
    return "" if "" in problems else problems[0]
