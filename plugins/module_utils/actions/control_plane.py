# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""A control plane of one revision: as specified and ready."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..cluster.client import Cluster
from ..cluster.read import read_control_plane
from ..mesh.drift import differences
from ..mesh.refusal import Refusal
from ..mesh.snapshot import Mesh
from .comparing import differing, left_over
from .install import Istioctl, RunCommand, customisation
from .revision import install, refuse_to_take_default, wait_until_ready
from .wanted import Outcome, Wanted


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
        stale = differing(cluster, manifests) + left_over(cluster, manifests, wanted.revision, wanted.istio_namespace)
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
