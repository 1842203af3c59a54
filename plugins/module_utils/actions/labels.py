# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Writing the injection labels of namespaces."""

from __future__ import annotations

from collections.abc import Iterable

from ..cluster.client import Cluster
from ..cluster.paths import NAMESPACES
from ..mesh.labelling import Relabelling
from ..mesh.snapshot import Mesh


def write_labels(changes: Iterable[Relabelling], mesh: Mesh, cluster: Cluster) -> None:
    """One merge patch for each namespace that changes, only if it is still the one that was read.

    Raises:
        Conflict: somebody changed the namespace meanwhile.
    """
    versions = {thing["metadata"]["name"]: thing["metadata"]["resourceVersion"] for thing in mesh.raw["namespaces"]}
    for change in changes:
        if change.changed:
            metadata = {"labels": dict(change.after), "resourceVersion": versions[change.namespace]}
            cluster.merge_patch(NAMESPACES(name=change.namespace), {"metadata": metadata})
