# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Moving a tag as one transaction: write, prove that the API server can call the new owner, or put everything back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..cluster.client import Cluster
from ..cluster.paths import MUTATING_WEBHOOKS
from ..cluster.read import read_control_plane, read_mesh
from ..mesh.names import TAG_LABEL, TRANSITION_ANNOTATION
from ..mesh.refusal import Refusal
from ..mesh.revisions import labels_of
from ..mesh.snapshot import Mesh
from ..mesh.tag_removal import TAG_GUARDS, plan_tag_removal
from ..mesh.tags import TagMove, TargetNotReady, is_claimed, maker_of, plan_tag
from ..mesh.transition import Transition, unfinished_tags
from .evidence import asking_pods
from .tag_proof import prove
from .transaction import Transaction


@dataclass(frozen=True)
class Moved:
    """What was moved, who had made it, and what proves that it works."""

    move: TagMove
    maker: str
    proof: str


def ensure_tag(
    cluster: Cluster, istio_namespace: str, name: str, revision: str, *, expect_revision: str | None, wait_timeout: float, check_mode: bool
) -> Moved:
    """The tag points at the revision.

    When a run that died had begun to move the tag and the target cannot inject, the tag goes back to where it was before that run.

    Raises:
        Refusal: it could not be done; everything is as it was.
    """
    mesh = Mesh(read_control_plane(cluster, istio_namespace), istio_namespace)
    try:
        move = plan_tag(mesh, name, revision, expect_revision)
        maker = taken_over_from(cluster, move)
        if check_mode:
            return Moved(move, maker, "its injector can be called")
        if not move.changed:
            return Moved(move, maker, mesh.tags[name].reason)
        return Moved(move, maker, carry_out(move, cluster, istio_namespace, wait_timeout))
    except TargetNotReady as refusal:
        unfinished = unfinished_tags(mesh).get(name)
        if check_mode or unfinished is None:
            raise
        raise Refusal(f"{refusal} {_go_back(cluster, istio_namespace, name, unfinished, wait_timeout)}") from refusal


def ensure_no_tag(
    cluster: Cluster, istio_namespace: str, name: str, *, waive: Sequence[str], wait_timeout: float, check_mode: bool
) -> Moved:
    """The tag does not exist.

    Raises:
        Refusal: somebody would lose the injector, or it could not be done; everything is as it was.
    """
    mesh = Mesh(read_mesh(cluster, istio_namespace), istio_namespace)
    move = plan_tag_removal(mesh, name, waive, asking_pods(cluster, mesh) if set(TAG_GUARDS) - {*waive} else ())
    if not check_mode:
        carry_out(move, cluster, istio_namespace, wait_timeout)
    return Moved(move, "", "it does not exist")


def carry_out(move: TagMove, cluster: Cluster, istio_namespace: str, wait_timeout: float) -> str:
    """Move the tag; the default validator follows only once pods are really injected by the new owner. What proves it, in words.

    Raises:
        TargetNotReady: pods are not injected by the new owner; everything is as it was.
        Refusal: it could not be done; everything is as it was.
    """
    with Transaction(cluster) as transaction:
        transaction.write(move.changes)
        if move.revision is None or not move.changed:
            return ""
        proof = prove(move.name, move.revision, cluster, istio_namespace, wait_timeout)
        transaction.write(move.after_proof)
        _forget_transition(cluster, move.name)
    return proof


def taken_over_from(cluster: Cluster, move: TagMove) -> str:
    """Who had made the tag that a move takes over: "istioctl", or "Helm release namespace/name"; empty for us and for nobody.

    To be asked before the move is carried out.
    """
    claimed = [
        change.before
        for change in move.changes
        if change.before and change.after and labels_of(change.before).get(TAG_LABEL) == move.name and is_claimed(change.before)
    ]
    if not claimed:
        return ""
    records = cluster.list(MUTATING_WEBHOOKS(), metadata_only=True, label_selector=f"{TAG_LABEL}={move.name}")
    managers = [str(entry.get("manager")) for record in records for entry in record["metadata"].get("managedFields") or ()]
    return maker_of(claimed[0], managers)


def _forget_transition(cluster: Cluster, tag: str) -> None:
    for thing in cluster.list(MUTATING_WEBHOOKS(), metadata_only=True, label_selector=f"{TAG_LABEL}={tag}"):
        cluster.merge_patch(MUTATING_WEBHOOKS(name=thing["metadata"]["name"]), {"metadata": {"annotations": {TRANSITION_ANNOTATION: None}}})


def _go_back(cluster: Cluster, istio_namespace: str, name: str, unfinished: Transition, wait_timeout: float) -> str:
    """Undo what a run that died has begun; what came of it, as a sentence."""
    mesh = Mesh(read_control_plane(cluster, istio_namespace), istio_namespace)
    begun = f"A run that died had begun to move it {unfinished}"
    try:
        if unfinished.previous is None:
            carry_out(plan_tag_removal(mesh, name, waive=TAG_GUARDS), cluster, istio_namespace, wait_timeout)
            return f"{begun}; the tag is removed again."
        carry_out(plan_tag(mesh, name, unfinished.previous), cluster, istio_namespace, wait_timeout)
    except Refusal as refusal:
        return f"{begun}, and the way back is barred: {refusal}"
    return f'{begun}; it points at "{unfinished.previous}" again.'
