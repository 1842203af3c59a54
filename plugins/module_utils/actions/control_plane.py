# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""A control plane of one revision: as specified and ready."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..cluster.client import Cluster, Objects
from ..cluster.paths import AUTOSCALERS
from ..cluster.read import read_control_plane
from ..mesh.customisation import customisation
from ..mesh.drift import differences
from ..mesh.refusal import Refusal
from ..mesh.snapshot import Mesh
from .comparing import as_applied, differing, left_over
from .install import Istioctl, RunCommand
from .revision import install, refuse_to_take_default, wait_until_ready
from .wanted import Outcome, Wanted

CUSTOMISED = ("ConfigMap", "Deployment", "HorizontalPodAutoscaler")
"""The kinds that say how a control plane is configured."""


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
    rendered: Objects | None = None
    stale: list[str] = []
    if wanted.method == "istioctl":
        istioctl = Istioctl(run, cluster, wanted.istioctl, wanted.revision, wanted.operator_spec or {}, wanted.istio_namespace)
        manifests = istioctl.render()
        stale = differing(cluster, manifests) + left_over(cluster, manifests, wanted.revision, wanted.istio_namespace)
        if wanted.like and check_mode:
            rendered = [as_applied(cluster, manifest) for manifest in manifests if manifest["kind"] in CUSTOMISED]
        if stale:
            refuse_to_take_default(mesh, wanted.revision)
        if stale and not check_mode:
            install(istioctl, mesh, wanted.wait_timeout)
    before = mesh.revisions.get(wanted.revision)
    if not check_mode:
        mesh = wait_until_ready(cluster, wanted.istio_namespace, wanted.revision, wanted.wait_timeout)
    found = _drift(cluster, mesh, wanted, rendered)
    return Outcome(
        changed=bool(stale),
        revision=mesh.revisions.get(wanted.revision),
        differences=found[: wanted.sample_size],
        count_differences=len(found),
        before={"exists": before is not None},
        after={"exists": True, "applied": stale} if stale else {"exists": before is not None},
    )


def _drift(cluster: Cluster, mesh: Mesh, wanted: Wanted, rendered: Objects | None) -> list[dict[str, Any]]:
    """The differences to the revision that it shall be like; of what would be installed, in check mode."""
    ours, like = mesh.revisions.get(wanted.revision), wanted.like
    if like is None or (ours is None and rendered is None):
        return []
    live = [*mesh.raw["config_maps"], *mesh.raw["istiod_deployments"], *cluster.list(AUTOSCALERS(wanted.istio_namespace))]
    same_version = ours is not None and rendered is None and ours.version == mesh.revisions[like].version
    return differences(
        _customisation(wanted.revision, live if rendered is None else rendered),
        _customisation(like, live),
        wanted.revision,
        like,
        same_version=same_version,
    )


def _customisation(revision: str, things: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    kinds = ([thing for thing in things if thing["kind"] == kind] for kind in CUSTOMISED)
    return customisation(revision, *kinds)
