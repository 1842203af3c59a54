# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Removing a control plane: two looks for anything that needs it, its own objects deleted one by one, and the proof afterwards."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..cluster.client import Cluster, Object, Objects
from ..cluster.paths import PODS
from ..cluster.read import read_mesh
from ..cluster.waiting import poll
from ..mesh.changes import Ref
from ..mesh.names import ISTIOD_SELECTOR, REVISION_LABEL
from ..mesh.ownership import is_of, kept_objects, own_leases, own_objects, refuse_foreign
from ..mesh.refusal import Refusal
from ..mesh.removal import blockers, refuse_if_needed, sampled, witnesses
from ..mesh.snapshot import Mesh
from ..mesh.tag_removal import TAG_GUARDS, plan_tag_removal
from .evidence import custom_resources, evidence, istio_crds
from .proof import births_before, prove_births, prove_config
from .transaction import path_to
from .wanted import Outcome, Wanted

SECOND_LOOK_SECONDS = 3.0
"""A proxy that reconnects is for a moment on no list; the guard looks twice."""


@dataclass(frozen=True)
class Look:
    """What there is to remove, and what was around it.

    Attributes:
        mesh: everything at one time.
        crds: the definitions of Istio's own configuration.
        needs: what still needs the revision and is waived, by guard.
        own: the objects to delete, in this order, as they are.
        others: what has a name of the revision's own, and belongs to somebody else.
        leases: locks that the revision leaves behind; empty when they are not asked for.
    """

    mesh: Mesh
    crds: Objects
    needs: Mapping[str, Sequence[str]]
    own: Sequence[tuple[Ref, Object]]
    others: Sequence[Ref]
    leases: Sequence[tuple[Ref, Object]]


def ensure_absent(cluster: Cluster, wanted: Wanted, *, check_mode: bool, sleep: Callable[[float], None] = time.sleep) -> Outcome:
    """The revision's own objects are gone; shared ones stay.

    Raises:
        Refusal: something still needs it, or somebody else owns it; nothing was deleted. Or everything is, and the proof that the mesh
            works without it fails.
    """
    look = _look(cluster, wanted)
    proof: list[str] = []
    if not check_mode:
        if look.own:
            sleep(SECOND_LOOK_SECONDS)
            look = _look(cluster, wanted)
        proof = _carry_out(cluster, wanted, look)
    removed = [str(ref) for ref, _thing in [*look.own, *look.leases]]
    return Outcome(
        changed=bool(removed),
        removed=removed,
        kept=[name for name in kept_objects(look.mesh, look.crds) if name not in removed] + [f"{ref}, not of Istio" for ref in look.others],
        proof=proof,
        **sampled(look.needs, wanted.sample_size),
        before={"objects": removed},
        after={"objects": []},
    )


def _look(cluster: Cluster, wanted: Wanted) -> Look:
    """A fresh look at everything.

    Raises:
        Refusal: something that is not waived still needs the revision, also when only a remnant of it is left, such as a tag that points
            nowhere; or somebody else owns it.
    """
    mesh = Mesh(read_mesh(cluster, wanted.istio_namespace), wanted.istio_namespace)
    definitions = custom_resources(cluster)
    tags = _tags_left(mesh, wanted)
    named = own_objects(mesh, wanted.revision)
    existing = _existing(cluster, [*named[:1], *tags, *named[1:]])
    own = [(ref, thing) for ref, thing in existing if ref in tags or is_of(thing, wanted.revision)]
    needs: dict[str, list[str]] = {}
    if own:
        needs = blockers(mesh, wanted.revision, evidence(cluster, definitions, wanted.revision, wanted.istio_namespace))
        refuse_if_needed(wanted.revision, needs, wanted.waive, wanted.sample_size)
        refuse_foreign(wanted.revision, [thing for _ref, thing in own])
    return Look(
        mesh=mesh,
        crds=istio_crds(definitions),
        needs=needs,
        own=own,
        others=[ref for ref, thing in existing if (ref, thing) not in own],
        leases=_existing(cluster, own_leases(mesh, wanted.revision)) if wanted.sweep_leases else [],
    )


def _tags_left(mesh: Mesh, wanted: Wanted) -> list[Ref]:
    """The tags that the user's waiver leaves to the revision."""
    left = [tag.name for tag in mesh.tags.values() if tag.revision == wanted.revision]
    changes = [change for tag in left for change in plan_tag_removal(mesh, tag, waive=TAG_GUARDS).changes]
    return [change.ref for change in changes if change.after is None]


def _existing(cluster: Cluster, refs: Iterable[Ref]) -> list[tuple[Ref, Object]]:
    found = ((ref, cluster.get(path_to(ref))) for ref in refs)
    return [(ref, thing) for ref, thing in found if thing is not None]


def _remove(cluster: Cluster, things: Iterable[tuple[Ref, Object]]) -> None:
    """Delete these very objects, and none that somebody has put in their place meanwhile."""
    for ref, thing in things:
        cluster.delete(path_to(ref), uid=thing["metadata"].get("uid", ""))


def _wait_until_gone(cluster: Cluster, wanted: Wanted) -> None:
    """An istiod that outlives its objects keeps injecting over the API server's open connection, and takes its locks again."""
    selector = f"{ISTIOD_SELECTOR},{REVISION_LABEL}={wanted.revision}"
    left = poll(
        lambda: cluster.list(PODS(), metadata_only=True, label_selector=selector), lambda pods: not pods, timeout=wanted.wait_timeout
    )
    if left:
        names = ", ".join(pod["metadata"]["name"] for pod in left)
        raise Refusal(f'the objects of revision "{wanted.revision}" are deleted, but its pods {names} are still there. Look why they stay.')


def _carry_out(cluster: Cluster, wanted: Wanted, look: Look) -> list[str]:
    """Delete everything, and prove that the mesh works without it."""
    expected = births_before(cluster, witnesses(look.mesh), wanted.revision) if look.own else {}
    _remove(cluster, look.own)
    if look.own or look.leases:
        _wait_until_gone(cluster, wanted)
    _remove(cluster, look.leases)
    proof = prove_births(cluster, wanted.revision, expected, wanted.wait_timeout)
    if look.own and "validator" not in wanted.waive:
        proof += prove_config(cluster, wanted.revision, look.crds, wanted.istio_namespace, wanted.wait_timeout)
    return proof
