# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from dataclasses import dataclass

import pytest
from memory_cluster import MemoryCluster
from mesh_objects import World

from ansible_collections.meshops.istio.plugins.module_utils.actions.revision import install


@dataclass
class DoneIstioctl:
    """An istioctl whose install has already changed the cluster."""

    cluster: MemoryCluster
    revision: str

    def install(self, wait_timeout: float) -> None:
        pass


@pytest.mark.parametrize(("revision", "had_tag", "removed"), [("canary", False, True), ("canary", True, False), ("default", False, False)])
def test_only_a_default_tag_that_came_with_a_revision_is_taken_away_again(revision: str, had_tag: bool, removed: bool) -> None:
    before = World(revision)
    if had_tag:
        before.tag("default", revision)
    cluster = MemoryCluster(World(revision).tag("default", revision))

    install(DoneIstioctl(cluster, revision), before.mesh(), wait_timeout=0)  # type: ignore[arg-type]

    assert ("DELETE" in {write.split()[0] for write in cluster.writes()}) is removed
