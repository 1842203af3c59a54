# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Moving a tag as one transaction: write, prove that the API server can call the new owner, or put everything back."""

from __future__ import annotations

from ..cluster.client import Cluster
from ..cluster.dry_run import dry_run_pod
from ..cluster.read import read_control_plane
from ..cluster.waiting import poll
from ..mesh.injectors import is_injector_refusal
from ..mesh.refusal import Refusal
from ..mesh.snapshot import Mesh
from ..mesh.tags import TagMove, users_of
from ..mesh.workloads import revision_of_pod
from .transaction import Transaction


def carry_out(move: TagMove, cluster: Cluster, istio_namespace: str, wait_timeout: float) -> None:
    """Move the tag; the default validator follows only once pods are really injected by the new owner.

    Raises:
        Refusal: it could not be done; everything is as it was.
    """
    with Transaction(cluster) as transaction:
        transaction.write(move.changes)
        if move.revision is not None:
            _wait_for_proof(move.name, move.revision, cluster, istio_namespace, wait_timeout)
        transaction.write(move.after_proof)


def _wait_for_proof(tag: str, revision: str, cluster: Cluster, istio_namespace: str, wait_timeout: float) -> None:
    problem = poll(lambda: _problem(tag, revision, cluster, istio_namespace), lambda found: not found, timeout=wait_timeout)
    if problem:
        raise Refusal(f'tag "{tag}" cannot point at "{revision}": {problem} after {wait_timeout:g} s.')


def _problem(tag: str, revision: str, cluster: Cluster, istio_namespace: str) -> str:
    """What keeps pods of this tag from being injected by this revision, empty when a dry-run pod was."""
    mesh = Mesh(read_control_plane(cluster, istio_namespace), istio_namespace)
    moved = mesh.tags.get(tag)
    if moved is None:
        return "the tag has gone again"
    if moved.revision != revision or not moved.ready:
        return f'it points at "{moved.revision}", {moved.reason}'
    for namespace in users_of(mesh, tag)[:1]:
        answer = dry_run_pod(cluster, namespace)
        injected_by = revision_of_pod(answer.pod) if answer.pod else None
        if answer.pod and injected_by != revision:
            return f'a pod in namespace "{namespace}" would be injected by "{injected_by}"'
        if is_injector_refusal(answer.refusal):
            return f'a pod in namespace "{namespace}" is rejected: {answer.refusal}'
    return ""
