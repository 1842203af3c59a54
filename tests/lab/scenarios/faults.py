# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every request of a module's run goes wrong in turn: what is left then, what one more run makes of it, and who injected pods meanwhile."""

from __future__ import annotations

import os
import queue
import signal
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Union

import manifests
from faulty_api import Fault, FaultyApi
from module_forks import ModuleForks
from world import ISTIO_NAMESPACE, revision_of

from ansible_collections.meshops.istio.plugins.module_utils.cluster.client import Cluster
from ansible_collections.meshops.istio.plugins.module_utils.cluster.errors import ClusterError
from ansible_collections.meshops.istio.plugins.module_utils.cluster.paths import (
    MUTATING_WEBHOOKS,
    NAMESPACES,
    PODS,
    SERVICES,
    VALIDATING_WEBHOOKS,
    resource_of,
)

OTHERS = {
    *("caBundle", "failurePolicy"),
    *("managedFields", "resourceVersion", "uid", "creationTimestamp", "generation", "status", "clusterIP", "clusterIPs"),
}
"""What istiod and the API server write by themselves."""

KINDS = {
    "MutatingWebhookConfiguration": MUTATING_WEBHOOKS(),
    "ValidatingWebhookConfiguration": VALIDATING_WEBHOOKS(),
    "Service": SERVICES(ISTIO_NAMESPACE),
    "Namespace": NAMESPACES(),
}

KILLED, KILLED_AFTER, GONE = (
    "the process is killed, not carried out",
    "the process is killed, carried out",
    "the API server is gone from here on",
)
Mishap = Union[Fault, str]

OF_READS: list[Mishap] = [Fault.OVERLOADED, Fault.SERVER_ERROR, Fault.RESET, Fault.LATE_ANSWER, KILLED, GONE]
OF_WRITES: list[Mishap] = [*OF_READS, Fault.CONFLICT, Fault.LOST_ANSWER, KILLED_AFTER]
"""What can go wrong with a request; a read has no conflicts, and whether it was carried out makes no difference."""

PAUSE = 0.05
"""Seconds between two questions who injects pods."""

Answers = set[str]


@dataclass(frozen=True)
class Change:
    """A run of a module that is to be disturbed.

    Attributes:
        module: its name.
        params: its options.
        admitted: namespace → who may inject the pods that are born there while it goes on; "nobody" is an answer, a rejection never.
    """

    module: str
    params: Mapping[str, Any]
    admitted: Mapping[str, Answers]


@dataclass
class Outcome:
    """What a run left behind that one of its requests went wrong for.

    Attributes:
        case: which request, and how.
        at_once: "old", "new", or what is there instead, by object.
        said: what the module said, empty when it was killed.
        after_rerun: the same as at_once, after one more run.
        rerun_said: what that run said when it failed.
        answers: namespace → who injected pods, or why they were rejected, during all of it.
    """

    case: str
    at_once: str
    said: str
    failed: bool
    after_rerun: str = ""
    rerun_said: str = ""
    answers: dict[str, Answers] = field(default_factory=dict)

    def problems(self, change: Change) -> Iterator[str]:
        """What must not be, as sentences."""
        if not self.failed and self.at_once != "new":
            yield f"it said that all went well, and left {self.at_once}"
        if self.after_rerun != "new":
            yield f"it left {self.at_once}, and one more run left {self.after_rerun}: {self.rerun_said}"
        for namespace, answers in self.answers.items():
            if strange := answers - change.admitted[namespace]:
                yield f"pods born in {namespace} meanwhile got {sorted(strange)}"


class Disturbance:
    """Runs one change over and over, each time with another mishap, from the same state of the cluster."""

    def __init__(self, api: FaultyApi, forks: ModuleForks, change: Change) -> None:
        self._api, self._forks, self._change = api, forks, change
        self._cluster = Cluster.from_params({})
        self._old = self._state()
        assert not self._run().get("failed"), "the change works when nothing is wrong"
        self.requests = list(api.requests)
        self._new = self._state()
        assert self._new != self._old
        self._put_back()

    def outcomes(self) -> Iterator[Outcome]:
        """One for each request and mishap."""
        for number, request in enumerate(self.requests, 1):
            for mishap in OF_READS if request.startswith("GET ") else OF_WRITES:
                how = mishap.value if isinstance(mishap, Fault) else mishap
                with self._births() as answers:
                    outcome = self._disturbed(number, mishap, f"{number}. {request}: {how}")
                    outcome.answers = answers
                self._put_back()
                yield outcome

    def _disturbed(self, number: int, mishap: Mishap, case: str) -> Outcome:
        result = self._run(number, mishap)
        outcome = Outcome(case, self._name(), str(result.get("msg", "")), failed=bool(result.get("failed", not result)))
        again = self._run()
        outcome.after_rerun, outcome.rerun_said = self._name(), str(again.get("msg", ""))
        return outcome

    def _run(self, number: int = 0, mishap: Mishap | None = None) -> dict[str, Any]:
        pids: queue.Queue[int] = queue.Queue()

        def kill() -> None:
            os.kill(pids.get(), signal.SIGKILL)

        if isinstance(mishap, Fault):
            self._api.tell(mishap, number)
        elif mishap is None:
            self._api.tell(None)
        elif mishap == GONE:
            self._api.tell(Fault.RESET, number, lasting=True)
        else:
            self._api.tell(Fault.RESET if mishap == KILLED else Fault.LOST_ANSWER, number, then=kill)
        params = {"host": self._api.url, **self._change.params}
        return self._forks.run(self._change.module, params, patient=mishap != GONE, born=pids.put)

    def _state(self) -> dict[tuple[str, str], Any]:
        """Everything that the changes may touch, by kind and name, as the API server has it."""
        return {
            (kind, thing["metadata"]["name"]): thing
            for kind, path in KINDS.items()
            for thing in self._cluster.list(path)
            if not thing["metadata"].get("deletionTimestamp")
        }

    def _name(self) -> str:
        state = _lasting(self._state())
        for name, known in (("old", self._old), ("new", self._new)):
            if state == _lasting(known):
                return name
        return "a mixture: " + ", ".join(f"{kind} {name}" for kind, name in _different(state, _lasting(self._new)))

    def _put_back(self) -> None:
        now = self._state()
        for kind, name in _different(_lasting(now), _lasting(self._old)):
            resource = resource_of(kind)
            namespace = ISTIO_NAMESPACE if kind == "Service" else ""
            wanted, there = self._old.get((kind, name)), now.get((kind, name))
            if wanted is None:
                self._cluster.delete(resource(namespace, name))
            elif there is None:
                metadata = {key: value for key, value in wanted["metadata"].items() if key not in ("resourceVersion", "uid")}
                self._cluster.create(resource(namespace), {**wanted, "metadata": metadata})
            else:
                metadata = {**wanted["metadata"], "resourceVersion": there["metadata"]["resourceVersion"], "uid": there["metadata"]["uid"]}
                self._cluster.replace(resource(namespace, name), {**wanted, "metadata": metadata})

    @contextmanager
    def _births(self) -> Iterator[dict[str, Answers]]:
        """Ask for pods all the time, by dry run; who injected them, by namespace."""
        answers: dict[str, Answers] = {namespace: set() for namespace in self._change.admitted}
        over = threading.Event()

        def ask() -> None:
            while not over.wait(PAUSE):
                for namespace, seen in answers.items():
                    seen.add(born(self._cluster, namespace))

        thread = threading.Thread(target=ask)
        thread.start()
        try:
            yield answers
        finally:
            over.set()
            thread.join()


def born(cluster: Cluster, namespace: str) -> str:
    """Who injects a pod born now: a revision, "nobody", or the sentence of its rejection."""
    try:
        pod = cluster.create(PODS(namespace), manifests.pod("born-now", namespace, {}), dry_run=True)
    except ClusterError as error:
        return str(error)
    return revision_of(pod) or "nobody"


def _lasting(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _lasting(part) for key, part in value.items() if key not in OTHERS}
    return [_lasting(part) for part in value] if isinstance(value, list) else value


def _different(one: Mapping[Any, Any], other: Mapping[Any, Any]) -> Iterable[Any]:
    return sorted(key for key in one.keys() | other.keys() if one.get(key) != other.get(key))
