# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Proving that pods are really injected through a tag, by dry-run pods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..cluster.client import Cluster
from ..cluster.dry_run import dry_run_pod_if_allowed
from ..cluster.read import read_control_plane
from ..cluster.waiting import poll
from ..mesh.injectors import is_injector_refusal
from ..mesh.names import REVISION_LABEL
from ..mesh.snapshot import Mesh
from ..mesh.tags import TargetNotReady, witnesses
from ..mesh.workloads import revision_of_pod


@dataclass(frozen=True)
class Look:
    """What was found: what keeps pods from being injected (empty for nothing), and what is known otherwise."""

    problem: str = ""
    known: str = ""


def prove(tag: str, revision: str, cluster: Cluster, istio_namespace: str, wait_timeout: float) -> str:
    """Wait until pods of a tag are injected by a revision; what proves it, in words, or why nobody could be asked.

    Raises:
        TargetNotReady: they are not when the time is over.
    """
    seen = poll(lambda: _look(tag, revision, cluster, istio_namespace), lambda look: not look.problem, timeout=wait_timeout)
    if seen.problem:
        raise TargetNotReady(f'tag "{tag}" cannot point at "{revision}": {seen.problem} after {wait_timeout:g} s.')
    return seen.known


def _look(tag: str, revision: str, cluster: Cluster, istio_namespace: str) -> Look:
    mesh = Mesh(read_control_plane(cluster, istio_namespace), istio_namespace)
    moved = mesh.tags.get(tag)
    if moved is None:
        return Look("the tag has gone again")
    if moved.revision != revision or not moved.ready:
        return Look(f'it points at "{moved.revision}", {moved.reason}')
    silent = "no namespace can be asked for a pod"
    for namespace, labels in witnesses(mesh, tag):
        look = _birth(cluster, namespace, labels, revision)
        if look.problem or look.known:
            return look
        silent = "somebody else than the injector refuses dry-run pods, or you may not create pods"
    return Look(known=f"its injector can be called; that it injects could not be tried: {silent}")


def _birth(cluster: Cluster, namespace: str, labels: Mapping[str, str], revision: str) -> Look:
    """What a dry-run pod shows; nothing at all when somebody else than the injector refuses it."""
    where = f'a pod in namespace "{namespace}"' + (f" with the label {REVISION_LABEL}={labels[REVISION_LABEL]}" if labels else "")
    birth = dry_run_pod_if_allowed(cluster, namespace, labels)
    if birth is None:
        return Look()
    if birth.pod is None:
        return Look(f"{where} is rejected: {birth.refusal}") if is_injector_refusal(birth.refusal) else Look()
    injected_by = revision_of_pod(birth.pod)
    if injected_by == revision:
        return Look(known=f"{where} is injected by it, as a dry run shows")
    return Look(f'{where} would be injected by "{injected_by}"')
