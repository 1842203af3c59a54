# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What another revision would make of a pod, beside what it is now."""

from __future__ import annotations

from contextlib import suppress
from types import TracebackType
from typing import Any

from ..cluster.client import Cluster, Object, Objects
from ..cluster.injector_call import InjectorCall, RenderError
from ..cluster.read import read_proxies
from ..mesh.births import Judgement
from ..mesh.proxy import newest_with_proxy, proxy_differences, proxy_facts
from ..mesh.refusal import Refusal
from ..mesh.rendering import endpoint_of, pod_from
from ..mesh.snapshot import Mesh

NOT_RENDERED: dict[str, Any] = {"now": None, "then": None, "then_reason": None, "differences": []}


class Renderer:
    """Asks the istiods themselves, each over one connection that stays open until the end.

    Raises:
        Refusal: the revision cannot be asked, in principle or at the moment.
    """

    def __init__(self, cluster: Cluster, mesh: Mesh, revision: str) -> None:
        self._cluster = cluster
        self._mesh = mesh
        self._calls: dict[str, InjectorCall] = {}
        self._pods: dict[str, Objects] = {}
        try:
            self._then = self._call(revision)
        except RenderError as error:
            raise Refusal(f"{error} See proxy_status and mesh_info.") from error

    def __enter__(self) -> Renderer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for call in self._calls.values():
            call.close()

    def compare(self, judgement: Judgement) -> dict[str, Any]:
        """The facts of the proxy now and then, and where they differ. Keys: those of NOT_RENDERED."""
        candidate = judgement.candidate
        pod = pod_from(candidate.template, candidate.namespace, candidate.owner.name if candidate.owner else "pod")
        try:
            then, reason = proxy_facts(self._then.render(pod)), ""
        except RenderError as error:
            then, reason = None, str(error)
        now = self._now(judgement, pod)
        if then is None and not reason:
            reason = "its istiod leaves the pod alone"
        return {"now": now, "then": then, "then_reason": reason, "differences": proxy_differences(now, then)}

    def _now(self, judgement: Judgement, pod: Object) -> dict[str, Any] | None:
        """Of the newest pod that lives, or else as its injector would make it now; None when neither can be seen."""
        candidate = judgement.candidate
        if candidate.owner:
            if candidate.namespace not in self._pods:
                self._pods[candidate.namespace] = read_proxies(self._cluster, candidate.namespace)
            living = newest_with_proxy(self._pods[candidate.namespace], candidate.selector)
            if living is not None:
                return proxy_facts(living)
        if judgement.verdict.revision:
            with suppress(RenderError, Refusal):
                return proxy_facts(self._call(judgement.verdict.revision).render(pod))
        return None

    def _call(self, revision: str) -> InjectorCall:
        if revision not in self._calls:
            self._calls[revision] = InjectorCall(self._cluster, endpoint_of(self._mesh, revision))
        return self._calls[revision]
