# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""A control plane of one revision: as specified and ready, or gone."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..cluster.client import Cluster, Objects
from ..cluster.istiods import ask_istiods
from ..cluster.paths import PODS
from ..cluster.read import read_control_plane, read_mesh
from ..cluster.waiting import poll
from ..mesh.changes import Ref
from ..mesh.drift import differences
from ..mesh.names import ISTIOD_SELECTOR, REVISION_LABEL, is_dns_label
from ..mesh.refusal import Refusal
from ..mesh.removal import blockers, kept_objects, own_objects, refuse_if_needed
from ..mesh.revisions import Revision
from ..mesh.snapshot import Mesh
from ..mesh.tags import plan_tag_removal
from .install import Istioctl, RunCommand, customisation, differing
from .revision import existing, install, istio_crds, pinned_config, refuse_foreign, refuse_to_take_default, remove, wait_until_ready

SECOND_LOOK_SECONDS = 3.0
"""A proxy that reconnects is for a moment on no list; the guard looks twice."""


@dataclass(frozen=True)
class Wanted:
    """The options of istio_revision."""

    revision: str
    istio_namespace: str
    wait_timeout: float
    sample_size: int
    method: str
    istioctl: str
    operator_spec: Mapping[str, Any] | None
    like: str | None
    waive: Sequence[str]

    @classmethod
    def from_params(cls, params: Mapping[str, Any]) -> Wanted:
        """From module parameters.

        Raises:
            Refusal: a name that no revision can have, or options that contradict each other.
        """
        wanted = cls(**{name: params[name] for name in cls.__dataclass_fields__})
        if not is_dns_label(wanted.revision):
            raise Refusal(f'"{wanted.revision}" cannot be a revision: use lower-case letters, digits and "-", at most 63 (a DNS label).')
        if wanted.operator_spec and wanted.method == "adopt":
            raise Refusal("operator_spec contradicts method adopt, which installs nothing. Use method istioctl, or leave it out.")
        return wanted


@dataclass(frozen=True)
class Outcome:
    """What istio_revision returns."""

    changed: bool
    revision: Revision | None = None
    differences: Sequence[Mapping[str, Any]] = ()
    removed: Sequence[str] = ()
    kept: Sequence[str] = ()
    blockers: Mapping[str, Sequence[str]] = field(default_factory=dict)
    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any] = field(default_factory=dict)

    def as_result(self) -> dict[str, Any]:
        """As the module returns it."""
        return {
            "changed": self.changed,
            "revision": self.revision.as_result() if self.revision else None,
            "differences": list(self.differences),
            "removed": list(self.removed),
            "kept": list(self.kept),
            "blockers": dict(self.blockers),
        }


def ensure_present(cluster: Cluster, wanted: Wanted, *, run: RunCommand, check_mode: bool) -> Outcome:
    """The revision exists as specified and is ready.

    Raises:
        Refusal: it cannot be installed so, or does not become ready.
    """
    mesh = Mesh(read_control_plane(cluster, wanted.istio_namespace), wanted.istio_namespace)
    if wanted.revision in mesh.tags and wanted.revision not in mesh.revisions:
        raise Refusal(f'"{wanted.revision}" is a tag; labels could not tell a revision of that name apart. Choose another name.')
    if wanted.like is not None:
        mesh.require_revision(wanted.like)
    config_maps: Sequence[Mapping[str, Any]] = mesh.raw["config_maps"]
    stale: list[str] = []
    if wanted.method == "istioctl":
        istioctl = Istioctl(run, cluster, wanted.istioctl, wanted.revision, wanted.operator_spec or {}, wanted.istio_namespace)
        manifests = istioctl.render()
        stale = differing(cluster, manifests)
        config_maps = [manifest for manifest in manifests if manifest["kind"] == "ConfigMap"]
        if stale:
            refuse_to_take_default(mesh, wanted.revision)
        if stale and not check_mode:
            install(istioctl, mesh, wanted.wait_timeout)
    before = mesh.revisions.get(wanted.revision)
    if not check_mode:
        mesh = wait_until_ready(cluster, wanted.istio_namespace, wanted.revision, wanted.wait_timeout)
    return Outcome(
        changed=bool(stale),
        revision=mesh.revisions.get(wanted.revision),
        differences=_drift(config_maps, mesh, wanted),
        before={"exists": before is not None},
        after={"exists": True, "applied": stale} if stale else {"exists": before is not None},
    )


def _drift(config_maps: Sequence[Mapping[str, Any]], mesh: Mesh, wanted: Wanted) -> list[dict[str, Any]]:
    if wanted.like is None or (wanted.method == "adopt" and wanted.revision not in mesh.revisions):
        return []
    ours, theirs = customisation(config_maps, wanted.revision), customisation(mesh.raw["config_maps"], wanted.like)
    return differences(ours, theirs, wanted.revision, wanted.like)


def ensure_absent(cluster: Cluster, wanted: Wanted, *, check_mode: bool, sleep: Callable[[float], None] = time.sleep) -> Outcome:
    """The revision's own objects are gone; shared ones stay.

    Raises:
        Refusal: something still needs it, or somebody else owns it; nothing was deleted.
    """
    mesh, crds = _look(cluster, wanted)
    refs = existing(cluster, _removable(mesh, wanted))
    if refs:
        _refuse_if_needed(cluster, mesh, crds, wanted)
    if refs and not check_mode:
        sleep(SECOND_LOOK_SECONDS)
        _refuse_if_needed(cluster, *_look(cluster, wanted), wanted)
        remove(cluster, refs)
        _wait_until_gone(cluster, wanted)
    removed = [str(ref) for ref in refs]
    return Outcome(
        changed=bool(refs),
        removed=removed,
        kept=[name for name in kept_objects(mesh, crds) if name not in removed],
        before={"objects": removed},
        after={"objects": []},
    )


def _look(cluster: Cluster, wanted: Wanted) -> tuple[Mesh, Objects]:
    """A fresh look at everything, and at the definitions of Istio's configuration."""
    return Mesh(read_mesh(cluster, wanted.istio_namespace), wanted.istio_namespace), istio_crds(cluster)


def _refuse_if_needed(cluster: Cluster, mesh: Mesh, crds: Objects, wanted: Wanted) -> None:
    """Stop while anything needs the revision; also when only a remnant of it is left, such as a tag that points nowhere.

    Raises:
        Refusal: something that is not waived still needs the revision, or somebody else owns it.
    """
    if wanted.revision in mesh.revisions:
        refuse_foreign(mesh.revisions[wanted.revision])
    found = blockers(mesh, wanted.revision, ask_istiods(cluster), pinned_config(cluster, crds, wanted.revision))
    refuse_if_needed(wanted.revision, found, wanted.waive, wanted.sample_size)


def _removable(mesh: Mesh, wanted: Wanted) -> list[Ref]:
    """The revision's own objects, and the tags that the user's waiver leaves to it."""
    own = own_objects(mesh, wanted.revision)
    left = [tag.name for tag in mesh.tags.values() if tag.revision == wanted.revision]
    return own[:1] + [change.ref for tag in left for change in plan_tag_removal(mesh, tag, waive=["namespaces"]).changes] + own[1:]


def _wait_until_gone(cluster: Cluster, wanted: Wanted) -> None:
    """An istiod that outlives its objects keeps injecting over the API server's open connection."""
    selector = f"{ISTIOD_SELECTOR},{REVISION_LABEL}={wanted.revision}"
    left = poll(
        lambda: cluster.list(PODS(), metadata_only=True, label_selector=selector), lambda pods: not pods, timeout=wanted.wait_timeout
    )
    if left:
        names = ", ".join(pod["metadata"]["name"] for pod in left)
        raise Refusal(f'the objects of revision "{wanted.revision}" are deleted, but its pods {names} are still there. Look why they stay.')
