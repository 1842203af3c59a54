# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who injects a pod: what the collection says beside what the API server does, for combinations of all that decides."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import Any

import manifests
from kubectl import items, kubectl
from waiting import eventually
from world import ISTIO_NAMESPACE, Mesh, Namespace, revision_of

from ansible_collections.meshops.istio.plugins.module_utils.cluster.client import Cluster
from ansible_collections.meshops.istio.plugins.module_utils.cluster.dry_run import Birth, dry_run_pod
from ansible_collections.meshops.istio.plugins.module_utils.cluster.read import Raw, read_control_plane
from ansible_collections.meshops.istio.plugins.module_utils.mesh.injection import Outcome, Verdict
from ansible_collections.meshops.istio.plugins.module_utils.mesh.injectors import Injector, is_injector_refusal
from ansible_collections.meshops.istio.plugins.module_utils.mesh.pod_template import PodTemplate
from ansible_collections.meshops.istio.plugins.module_utils.mesh.snapshot import Mesh as Snapshot

REV, INJECTION, INJECT = "istio.io/rev", "istio-injection", "sidecar.istio.io/inject"
TEMPLATES, DATAPLANE = "inject.istio.io/templates", "istio.io/dataplane-mode"
NAMED = (None, "stable", "canary", "edge", "prod", "default", "ghost")
"""Revisions, a tag, the default tag and a name that nobody owns at first."""

SELECTORS = (
    "values.sidecarInjectorWebhook.neverInjectSelector[0].matchLabels.app=never",
    "values.sidecarInjectorWebhook.alwaysInjectSelector[0].matchLabels.app=always",
)
"""Settings of the istiods, about pods that are in DRESSED."""

THREADS = 6
ROUNDS = 3
SHOWN = 20
"""Disagreements in a table."""

DRAWN = int(os.environ.get("TRUTH_DRAWN") or 450)
"""How many of all questions are asked in each state of the mesh; TRUTH_DRAWN=9999 asks every one."""

NOBODY, REJECTED = "nobody", "rejected"

Labels = dict[str, str]
Question = tuple[str, PodTemplate]
"""A namespace, and a pod that might be born there."""


def _combinations(choices: Mapping[str, Sequence[str | None]]) -> list[Labels]:
    """Every combination of values of some labels, None for an absent one."""
    chosen = [dict(zip(choices, values)) for values in product(*choices.values())]
    return [{key: value for key, value in labels.items() if value is not None} for labels in chosen]


LABELLED = {
    f"case-{number}": labels
    for number, labels in enumerate(_combinations({INJECTION: (None, "enabled", "disabled", "perhaps"), REV: NAMED}))
}
ODD = {
    "kube-public": {INJECTION: "enabled"},
    "kube-node-lease": {REV: "canary"},
    "local-path-storage": {REV: "prod"},
    "ambient": {DATAPLANE: "ambient"},
    "ambient-canary": {DATAPLANE: "ambient", REV: "canary"},
}
"""Namespaces that istiods ignore, and such as ambient meshes have."""

NAMESPACES = {**LABELLED, **ODD}

PLAIN = PodTemplate()
PODS = [PodTemplate(labels) for labels in _combinations({REV: NAMED, INJECT: (None, "true", "false", "perhaps")})]
DRESSED = [
    *(PodTemplate(annotations={INJECT: word}) for word in ("true", "false", "yes", "perhaps")),
    PodTemplate({INJECT: "true"}, {INJECT: "false"}),
    PodTemplate({INJECT: "perhaps"}, {INJECT: "false"}),
    PodTemplate({INJECT: "false"}, {INJECT: "true"}),
    PodTemplate({REV: "canary"}, {INJECT: "false"}),
    PodTemplate(host_network=True),
    PodTemplate({INJECT: "true"}, host_network=True),
    PodTemplate({REV: "stable"}, {INJECT: "true"}, host_network=True),
    *(PodTemplate({"app": app, **labels}) for app in ("never", "always") for labels in ({}, {INJECT: "true"}, {REV: "edge"})),
    PodTemplate({"app": "never"}, {INJECT: "true"}),
    PodTemplate({"app": "always"}, {INJECT: "false"}),
    *(PodTemplate(annotations={TEMPLATES: names}) for names in ("sidecar", "gateway", "sidecar,mine")),
    PodTemplate({INJECT: "true", REV: "canary"}, {TEMPLATES: "mine"}),
    PodTemplate(annotations={TEMPLATES: "mine"}, host_network=True),
    PodTemplate(annotations={"readiness.status.sidecar.istio.io/periodSeconds": "10s"}),
    PodTemplate(annotations={"sidecar.istio.io/interceptionMode": "tproxy"}),
    PodTemplate(annotations={"sidecar.istio.io/interceptionMode": "TPROXY"}),
    PodTemplate(annotations={"prometheus.istio.io/merge-metrics": "yes"}),
    PodTemplate({DATAPLANE: "ambient"}),
]
"""Pods about which their istiod has a word to say, or that are dressed as if."""


def questions(chance: Random) -> list[Question]:
    """What chance draws of all namespaces and pods, in its order; a pod that says nothing is asked about everywhere."""
    others = [question for question in product(NAMESPACES, [*PODS, *DRESSED]) if question[1] != PLAIN]
    asked = [*product(NAMESPACES, [PLAIN]), *chance.sample(others, min(DRAWN, len(others)))]
    chance.shuffle(asked)
    return asked


@dataclass(frozen=True)
class Case:
    """A pod that might be born, and what is said and done about it: the name of a revision, "nobody" or "rejected".

    What is not certain is said so, and cannot be wrong.
    """

    state: str
    namespace: str
    pod: PodTemplate
    said: str
    certain: bool
    why: str
    done: str

    @property
    def wrong(self) -> bool:
        return self.certain and self.said != self.done


def make_namespaces(mesh: Mesh) -> None:
    """A namespace for every combination of labels, and the odd ones, ready for pods."""
    mesh.apply(*(manifests.namespace(name, labels) for name, labels in NAMESPACES.items()))
    assert eventually(lambda: NAMESPACES.keys() <= {account["metadata"]["namespace"] for account in service_accounts()})


def service_accounts() -> list[dict[str, Any]]:
    """Those that pods without another get; Kubernetes makes them a little after the namespaces, and rejects pods until then."""
    return items("serviceaccounts", "--all-namespaces", "--field-selector=metadata.name=default")


def namespace_of(labels: Labels) -> Namespace:
    """The namespace with these labels of ours."""
    return Namespace(next(name for name, own in LABELLED.items() if own == labels))


class Judge:
    """Compares the collection with the API server, both asked at the same moment."""

    def __init__(self, seed: int) -> None:
        self._cluster = Cluster.from_params({})
        self._random = Random(seed)
        self._fences = 0

    def compare(self, state: str) -> list[Case]:
        """What is said and done about pods, asked again if the control plane changed meanwhile."""
        asked = questions(self._random)
        for _ in range(ROUNDS):
            before = self._look()
            self._catch_up()
            with ThreadPoolExecutor(THREADS) as pool:
                births = list(pool.map(lambda question: self._birth(*question), asked))
            if _injectors(before) == _injectors(self._look()):
                mesh = Snapshot(before)
                return [_case(state, mesh, *question, birth) for question, birth in zip(asked, births)]
        raise AssertionError(f"{state}: the control plane does not come to rest")

    def _birth(self, namespace: str, pod: PodTemplate) -> Birth:
        return dry_run_pod(self._cluster, namespace, pod.labels, pod.annotations, host_network=pod.host_network)

    def _look(self) -> Raw:
        return read_control_plane(self._cluster, ISTIO_NAMESPACE)

    def _catch_up(self) -> None:
        """Wait until the API server acts on the webhooks that it has stored: it sees a last one only after all others."""
        self._fences += 1
        label = {"fence": str(self._fences)}
        kubectl("apply", "--filename=-", manifests=[_fence(label)])
        assert eventually(lambda: bool(dry_run_pod(self._cluster, "default", label).refusal), pause=0.05)


def _fence(label: Labels) -> dict[str, Any]:
    """A webhook that makes the API server reject the pods with a label."""
    client = {"service": {"namespace": "default", "name": "nowhere"}}
    return mutating("truth-fence", {}, entry("fence.truth.test", client, objectSelector={"matchLabels": label}))


def mutating(name: str, labels: Labels, *entries: dict[str, Any]) -> dict[str, Any]:
    """A configuration of webhooks."""
    kind = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration"}
    return {**kind, "metadata": {"name": name, "labels": labels}, "webhooks": list(entries)}


def entry(name: str, client: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """A webhook that is called about new pods."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}
    usual = {"admissionReviewVersions": ["v1"], "sideEffects": "None"}
    return {"name": name, **usual, "clientConfig": dict(client), "rules": [rule], **more}


def _injectors(raw: Raw) -> list[Injector]:
    """What decides about injection and must not change while the API server is asked; the fence is raised in between."""
    return Snapshot(raw).injectors


def _case(state: str, mesh: Snapshot, namespace: str, pod: PodTemplate, birth: Birth) -> Case:
    verdict = mesh.verdict_of(namespace, pod)
    return Case(state, namespace, pod, _said(verdict), verdict.certain, verdict.reason, _done(birth))


def _said(verdict: Verdict) -> str:
    return REJECTED if verdict.outcome is Outcome.REJECTED else verdict.revision or NOBODY


def _done(birth: Birth) -> str:
    if birth.pod is None:
        return REJECTED if is_injector_refusal(birth.refusal) else birth.refusal
    return revision_of(birth.pod) or NOBODY


def answer(cases: Iterable[Case], namespace: Labels) -> str:
    """What the API server does with a pod without labels in a namespace with these."""
    name = namespace_of(namespace).name
    return next(case.done for case in cases if case.namespace == name and case.pod == PLAIN)


def table(cases: Sequence[Case]) -> str:
    """The first cases, for people."""
    rows = [("mesh", "namespace", "pod", "collection", "API server", "the collection's reason")]
    rows += [(case.state, _short(NAMESPACES[case.namespace]), _pod(case.pod), case.said, case.done, case.why) for case in cases[:SHOWN]]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def _pod(pod: PodTemplate) -> str:
    more = [f"annotations {_short(pod.annotations)}"] * bool(pod.annotations) + ["hostNetwork"] * pod.host_network
    return "; ".join([_short(pod.labels), *more])


def _short(labels: Mapping[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in labels.items()) or "no labels"
