# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who injects a pod, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from operator import attrgetter

from .ambient import is_ambient
from .injectors import Injector, Reachability
from .names import INJECT_LABEL, INJECTION_LABEL, NAMESPACE_NAME_LABEL, REVISION_LABEL
from .pod_template import PodTemplate
from .policy import doubt, why_declined, why_refused
from .selectors import Labels

SILENT = PodTemplate()
"""A pod that says nothing about injection: what a namespace does by itself."""


class Outcome(Enum):
    """What happens to a pod born now."""

    INJECTED = "injected"
    NONE = "none"
    REJECTED = "rejected"


@dataclass(frozen=True)
class Verdict:
    """What happens to a pod born now, by whom, and why in one sentence.

    Attributes:
        injector: who injects, or else whom the API server calls in vain: one that leaves the pod as it is, refuses it, or does not answer.
        certain: whether everything that decides was seen; the reason says what was not.
    """

    outcome: Outcome
    reason: str
    injector: Injector | None = None
    certain: bool = True

    @property
    def revision(self) -> str | None:
        """The revision that injects, None when nobody does."""
        return self.injector.revision if self.injector and self.outcome is Outcome.INJECTED else None

    @property
    def unheard(self) -> bool:
        """Whether what asks for a sidecar gets none because nobody answers, not because an istiod that was asked says no."""
        return self.outcome is Outcome.NONE and not (self.injector and self.injector.reachable.ok)

    @property
    def version(self) -> str | None:
        """The version of the istiod that injects, None when nobody does, or when it cannot be seen."""
        return self.injector.version if self.injector and self.outcome is Outcome.INJECTED else None

    @property
    def tag(self) -> str | None:
        """The tag through which it injects, if through one."""
        return self.injector.tag if self.injector and self.outcome is Outcome.INJECTED else None


def verdict(injectors: Iterable[Injector], namespace: Labels, pod: PodTemplate = SILENT) -> Verdict:
    """Who injects a pod born now in a namespace with these labels, and why.

    The API server calls every injector whose selectors match, in order of configuration name; one that cannot be called stops the birth,
    or is passed over where its failurePolicy is Ignore. Each istiod then decides by itself whether it injects; a second one replaces what
    the first put in, so the last one wins (istio: pkg/kube/inject/inject.go, reinjection).
    """
    ordered = sorted(injectors, key=attrgetter("configuration"))
    acting = [injector for injector in ordered if injector.acts_on(namespace, pod.labels)]
    name = namespace.get(NAMESPACE_NAME_LABEL, "")
    doubts = list(dict.fromkeys(_doubts(acting, pod)))

    def say(outcome: Outcome, reason: str, injector: Injector | None) -> Verdict:
        return Verdict(outcome, "; ".join([reason, *doubts]), injector, certain=not doubts)

    if not acting:
        return say(Outcome.NONE, why_nobody(namespace, pod), None)
    for injector in acting:
        problem = _problem(injector, name, pod)
        if problem:
            return say(Outcome.REJECTED, f"{injector.name} {problem}", injector)
    declined = {injector: _declined(injector, name, pod) for injector in acting}
    injecting = [injector for injector in acting if not declined[injector]]
    if not injecting:
        return say(Outcome.NONE, f"{acting[-1].name} is called, but {declined[acting[-1]]}{_ambient(namespace, pod)}", acting[-1])
    return say(Outcome.INJECTED, _why(injecting, namespace), injecting[-1])


def _problem(injector: Injector, namespace: str, pod: PodTemplate) -> str:
    """Why the call to an injector ends the birth of a pod, empty when it does not."""
    if not injector.reachable.ok:
        return "" if injector.optional else f"cannot be called: {injector.reachable.value} ({injector.service})"
    if why_declined(namespace, pod, injector.policy, injector.version):
        return ""
    refusal = why_refused(pod, injector.policy)
    return f"refuses the pod: {refusal}" if refusal else ""


def _declined(injector: Injector, namespace: str, pod: PodTemplate) -> str:
    """Why an injector that is called does not inject a pod, empty when it does."""
    if not injector.reachable.ok:
        return f"{injector.reachable.value} ({injector.service}), and its failurePolicy is Ignore"
    return why_declined(namespace, pod, injector.policy, injector.version)


def _doubts(acting: Sequence[Injector], pod: PodTemplate) -> Iterator[str]:
    """What decides and cannot be seen from here."""
    for injector in acting:
        if injector.conditional:
            yield f"{injector.name} has matchConditions ({injector.configuration}), which were not evaluated"
        if injector.reachable is Reachability.EXTERNAL:
            yield f"{injector.name} is called outside this cluster, at {injector.service}, so whether it answers cannot be seen from here"
        elif injector.reachable.ok and injector.policy is None:
            yield f"the injection policy of {injector.name} cannot be read, so the usual one is assumed"
        if unknown := doubt(pod, injector.version):
            yield unknown


def _why(acting: Sequence[Injector], namespace: Labels) -> str:
    reason = f"injected by {acting[-1].name}"
    if namespace.get(INJECTION_LABEL) == "enabled" and REVISION_LABEL in namespace:
        reason += f": {INJECTION_LABEL}=enabled wins over {REVISION_LABEL}={namespace[REVISION_LABEL]}"
    for overwritten in acting[:-1]:
        reason += f"; {overwritten.name} acts too and is overwritten"
    return reason


def why_nobody(namespace: Labels, pod: PodTemplate) -> str:
    """Why no injector acts on such a pod."""
    return _why_nobody(namespace, pod.labels) + _ambient(namespace, pod)


def _ambient(namespace: Labels, pod: PodTemplate) -> str:
    return "; no sidecar: ztunnel carries it (ambient)" if is_ambient(namespace, pod) else ""


def _why_nobody(namespace: Labels, pod: Labels) -> str:
    injection, revision = namespace.get(INJECTION_LABEL), namespace.get(REVISION_LABEL)
    ignored = f"; {REVISION_LABEL}={revision} is ignored beside it" if revision is not None else ""
    if pod.get(INJECT_LABEL) == "false":
        return f"the pod label {INJECT_LABEL}=false switches injection off"
    if injection is not None and injection != "enabled":
        return f"the namespace label {INJECTION_LABEL}={injection} switches injection off{ignored}"
    if injection == "enabled":
        return f"{INJECTION_LABEL}=enabled asks for the default tag, and no revision owns it{ignored}"
    if revision is not None:
        return f"the namespace label {REVISION_LABEL}={revision} names no revision and no tag"
    if pod.get(REVISION_LABEL) is not None:
        return f"the pod label {REVISION_LABEL}={pod[REVISION_LABEL]} names no revision and no tag"
    if pod.get(INJECT_LABEL) == "true":
        return f"the pod label {INJECT_LABEL}=true asks for the default tag, and no revision owns it"
    return "neither the namespace nor the pod asks for injection"
