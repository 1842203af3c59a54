# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pods whose sidecar is missing, will be, or has lost its control plane."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..finding import ERROR, WARNING, Finding
from ..injection import Outcome
from ..names import REVISION_LABEL, STATUS_ANNOTATION
from ..pod_template import PodTemplate
from ..revisions import annotations_of, labels_of
from ..snapshot import Mesh
from ..versions import Minor, dotted, minor_of
from ..words import counted, some
from ..workloads import Pod, is_over, proxy_of
from .namespaces import asks_for_injection

WITHOUT_SUCCESSOR = ("Job", "Pod")
"""Kinds of owners whose pods are not born again as they are."""

MINORS_APART = 2
"""A revision may be two minors newer than the proxies that move to it; only one is supported for long (istio.io, supported releases)."""


def pod_findings(mesh: Mesh) -> Iterator[Finding]:
    """By the pods that live now."""
    yield from _orphans(mesh)
    yield from _losing(mesh)
    yield from _without_sidecar(mesh)
    yield from _skew(mesh)


def _orphans(mesh: Mesh) -> Iterator[Finding]:
    """Proxies keep what they last got; they cannot get certificates any more.

    Where an injector can be called there is an istiod, also when its Deployment is in another cluster.
    """
    callable_now = {injector.revision for injector in mesh.injectors if injector.reachable.ok}
    alive = {labels_of(thing).get(REVISION_LABEL) for thing in mesh.raw["istiod_deployments"]} | callable_now
    staying = [pod for pod in mesh.pods if not pod.terminating]
    for revision in sorted({pod.revision for pod in staying} - alive):
        orphans = [str(pod) for pod in staying if pod.revision == revision]
        yield Finding(
            "proxies-orphaned",
            ERROR,
            f"Revision {revision}",
            f'{counted(len(orphans), "pod")} injected by revision "{revision}", which has no istiod any more: {some(orphans)}. Their '
            "proxies get no configuration and no new certificates.",
            "Restart them with workload_restart once their namespace has an injector again, or bring the revision back.",
        )


def _losing(mesh: Mesh) -> Iterator[Finding]:
    """Sidecars that no successor gets, where the namespace itself does not ask for any: there it is told already."""
    losing: dict[str, dict[str, str]] = {}
    for workload in mesh.workloads:
        namespace = workload.owner.namespace
        if namespace not in mesh.namespaces or asks_for_injection(mesh.namespaces[namespace]):
            continue
        if workload.owner.kind in WITHOUT_SUCCESSOR or _injected_by_hand(mesh.controllers.get(workload.owner)):
            continue
        for pod in workload.pods:
            verdict = mesh.verdict_of(namespace, pod.template)
            if verdict.outcome is Outcome.NONE and not pod.rendered and not pod.terminating:
                losing.setdefault(namespace, {})[str(workload.owner)] = verdict.reason
    for namespace, reasons in losing.items():
        said = list(reasons.values())
        yield Finding(
            "sidecars-not-renewed",
            ERROR,
            f"Namespace {namespace}",
            f"the pods of {some(list(reasons))} have a sidecar, and their successors get none: {said[0]}.",
            "Label the namespace with ns_revision_label before anything restarts them, or restart them to take them out of the mesh.",
        )


def _injected_by_hand(controller: Mapping[str, Any] | None) -> bool:
    """Whether the proxy stands in the pod template itself, as istioctl kube-inject writes it."""
    return controller is not None and STATUS_ANNOTATION in (controller["spec"]["template"]["metadata"].get("annotations") or {})


def _was_injected(pod: Mapping[str, Any]) -> bool:
    """Whether an injector has had a pod; a template of the user's own may give the proxy another name."""
    return STATUS_ANNOTATION in annotations_of(pod) or proxy_of(pod) is not None


def _without_sidecar(mesh: Mesh) -> Iterator[Finding]:
    """Pods born before their namespace was labelled, or while nobody injected."""
    without: dict[str, list[str]] = {}
    for pod in mesh.raw["pods"]:
        namespace = pod["metadata"]["namespace"]
        if namespace not in mesh.namespaces or is_over(pod) or pod["metadata"].get("deletionTimestamp") or _was_injected(pod):
            continue
        verdict = mesh.verdict_of(namespace, PodTemplate.parse(pod))
        if verdict.outcome is Outcome.INJECTED and verdict.certain:
            without.setdefault(namespace, []).append(pod["metadata"]["name"])
    for namespace, names in without.items():
        yield Finding(
            "pods-without-sidecar",
            WARNING,
            f"Namespace {namespace}",
            f'{counted(len(names), "pod")} in namespace "{namespace}" without a sidecar, although one would be injected today: '
            f"{some(sorted(names))}. They were born before, or while nobody injected.",
            "Restart their workloads, or label their pod templates sidecar.istio.io/inject=false if that is meant.",
        )


def _skew(mesh: Mesh) -> Iterator[Finding]:
    """Proxies and their own istiod: never newer, and not more than two minors older."""
    minors = {name: minor_of(revision.version) for name, revision in mesh.revisions.items()}
    pods: dict[tuple[str, Minor], list[Pod]] = {}
    for pod in mesh.pods:
        proxy = minor_of(pod.version)
        if proxy is not None and not pod.terminating and minors.get(pod.revision) is not None:
            pods.setdefault((pod.revision, proxy), []).append(pod)
    for (revision, proxy), found in sorted(pods.items()):
        istiod = minors[revision] or proxy
        names = [str(pod) for pod in found]
        said = f'{counted(len(found), "pod")} with a proxy of {dotted(proxy)} on revision "{revision}" of {dotted(istiod)}'
        if proxy > istiod:
            yield Finding(
                "proxies-newer-than-istiod",
                WARNING,
                f"Revision {revision}",
                f"{said}: {some(names)}. A proxy must not be newer than its istiod.",
                "Restart them with kubectl rollout restart: what istiod injects now is of its own version. Or upgrade the revision again.",
            )
        elif istiod[0] != proxy[0] or istiod[1] - proxy[1] > MINORS_APART:
            yield Finding(
                "proxies-too-old",
                WARNING,
                f"Revision {revision}",
                f"{said}: {some(names)}. More than {MINORS_APART} minor versions apart is not supported; proxies may reject what they get.",
                "Restart them, so that they get the version of their istiod.",
            )
