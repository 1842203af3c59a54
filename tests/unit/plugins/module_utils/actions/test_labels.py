# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from memory_cluster import MemoryCluster
from mesh_objects import INJECTION, REV, healthy_world

from ansible_collections.meshops.istio.plugins.module_utils.actions.labels import write_labels
from ansible_collections.meshops.istio.plugins.module_utils.cluster.errors import Conflict
from ansible_collections.meshops.istio.plugins.module_utils.mesh.labelling import plan_labels


def test_one_patch_changes_both_labels_and_no_other_and_a_namespace_that_is_right_is_not_written() -> None:
    cluster = MemoryCluster(healthy_world())
    mesh = cluster.mesh()
    write_labels(plan_labels(mesh, ["pay", "lab"], "canary"), mesh, cluster)  # type: ignore[arg-type]

    assert cluster.writes() == ["PATCH /api/v1/namespaces/pay"]
    assert cluster.objects["/api/v1/namespaces/pay"]["metadata"]["labels"] == {"kubernetes.io/metadata.name": "pay", REV: "canary"}


def test_a_namespace_that_somebody_changed_meanwhile_is_not_overwritten() -> None:
    cluster = MemoryCluster(healthy_world())
    mesh = cluster.mesh()
    cluster.put({**cluster.objects["/api/v1/namespaces/pay"]})

    with pytest.raises(Conflict):
        write_labels(plan_labels(mesh, ["pay"], "canary"), mesh, cluster)  # type: ignore[arg-type]
    assert cluster.objects["/api/v1/namespaces/pay"]["metadata"]["labels"][INJECTION] == "enabled"
