# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who injects a pod: what the collection says beside what the API server does, for every combination of labels."""

from __future__ import annotations

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
from ansible_collections.meshops.istio.plugins.module_utils.mesh.snapshot import Mesh as Snapshot

REV, INJECTION, INJECT = "istio.io/rev", "istio-injection", "sidecar.istio.io/inject"
NAMED = (None, "stable", "canary", "edge", "prod", "default", "ghost")
"""Revisions, a tag, the default tag and a name that nobody owns."""

THREADS = 6
ROUNDS = 3
SHOWN = 20
"""Disagreements in a table."""

NOBODY, REJECTED = "nobody", "rejected"

Labels = dict[str, str]


def _combinations(choices: Mapping[str, Sequence[str | None]]) -> list[Labels]:
    """Every combination of values of some labels, None for an absent one."""
    chosen = [dict(zip(choices, values)) for values in product(*choices.values())]
    return [{key: value for key, value in labels.items() if value is not None} for labels in chosen]


NAMESPACES = {
    f"case-{number}": labels
    for number, labels in enumerate(_combinations({INJECTION: (None, "enabled", "disabled", "perhaps"), REV: NAMED}))
}
PODS = _combinations({REV: NAMED, INJECT: (None, "true", "false", "perhaps")})


@dataclass(frozen=True)
class Case:
    """A pod that might be born, and what is said and done about it: the name of a revision, "nobody" or "rejected"."""

    state: str
    namespace: str
    pod: Labels
    said: str
    why: str
    done: str


def make_namespaces(mesh: Mesh) -> None:
    """A namespace for every combination of labels, ready for pods."""
    mesh.apply(*(manifests.namespace(name, labels) for name, labels in NAMESPACES.items()))
    assert eventually(lambda: NAMESPACES.keys() <= {account["metadata"]["namespace"] for account in service_accounts()})


def service_accounts() -> list[dict[str, Any]]:
    """Those that pods without another get; Kubernetes makes them a little after the namespaces, and rejects pods until then."""
    return items("serviceaccounts", "--all-namespaces", "--field-selector=metadata.name=default")


def namespace_of(labels: Labels) -> Namespace:
    """The namespace with these labels of ours."""
    return Namespace(next(name for name, own in NAMESPACES.items() if own == labels))


class Judge:
    """Compares the collection with the API server, both asked at the same moment."""

    def __init__(self, seed: int) -> None:
        self._cluster = Cluster.from_params({})
        self._random = Random(seed)
        self._fences = 0

    def compare(self, state: str) -> list[Case]:
        """Every combination of labels, in an order of chance; again if the control plane changed meanwhile."""
        questions = list(product(NAMESPACES, PODS))
        self._random.shuffle(questions)
        for _ in range(ROUNDS):
            before = self._look()
            self._catch_up()
            with ThreadPoolExecutor(THREADS) as pool:
                births = list(pool.map(lambda question: dry_run_pod(self._cluster, *question), questions))
            if _injectors(before) == _injectors(self._look()):
                mesh = Snapshot(before)
                return [_case(state, mesh, *question, birth) for question, birth in zip(questions, births)]
        raise AssertionError(f"{state}: the control plane does not come to rest")

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
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}
    webhook = {
        "name": "fence.truth.test",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "clientConfig": {"service": {"namespace": "default", "name": "nowhere"}},
        "rules": [rule],
        "objectSelector": {"matchLabels": label},
    }
    kind = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration"}
    return {**kind, "metadata": {"name": "truth-fence"}, "webhooks": [webhook]}


def _injectors(raw: Raw) -> list[Injector]:
    """What decides about injection and must not change while the API server is asked; the fence is raised in between."""
    return Snapshot(raw).injectors


def _case(state: str, mesh: Snapshot, namespace: str, pod: Labels, birth: Birth) -> Case:
    verdict = mesh.verdict(namespace, pod)
    return Case(state, namespace, pod, _said(verdict), verdict.reason, _done(birth))


def _said(verdict: Verdict) -> str:
    return REJECTED if verdict.outcome is Outcome.REJECTED else verdict.revision or NOBODY


def _done(birth: Birth) -> str:
    if birth.pod is None:
        return REJECTED if is_injector_refusal(birth.refusal) else birth.refusal
    return revision_of(birth.pod) or NOBODY


def answer(cases: Iterable[Case], namespace: Labels) -> str:
    """What the API server does with a pod without labels in a namespace with these."""
    name = namespace_of(namespace).name
    return next(case.done for case in cases if case.namespace == name and not case.pod)


def table(cases: Sequence[Case]) -> str:
    """The first cases, for people."""
    rows = [("mesh", "namespace", "pod", "collection", "API server", "the collection's reason")]
    rows += [(case.state, _short(NAMESPACES[case.namespace]), _short(case.pod), case.said, case.done, case.why) for case in cases[:SHOWN]]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def _short(labels: Labels) -> str:
    return ", ".join(f"{key}={value}" for key, value in labels.items()) or "no labels"
