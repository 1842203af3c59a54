# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenarios run inside the lab: ``tests/lab/lab exec -- pytest tests/lab/scenarios -k NAME``. Every story starts from an empty cluster."""

from __future__ import annotations

import os

import pytest
from kubectl import lab
from traffic import Traffic
from world import Mesh


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if items and "MESHLAB_RUN" not in os.environ:
        raise pytest.UsageError("scenarios need the lab: make test-lab K=name, or tests/lab/lab exec -- pytest tests/lab/scenarios -k name")


@pytest.fixture(scope="module")
def mesh(tmp_path_factory: pytest.TempPathFactory) -> Mesh:
    """A mesh for all tests of a file, empty at first."""
    lab("reset")
    return Mesh(tmp_path_factory.mktemp("mesh"))


@pytest.fixture
def fresh_mesh(tmp_path_factory: pytest.TempPathFactory) -> Mesh:
    """A mesh for one test alone, empty at first."""
    lab("reset")
    return Mesh(tmp_path_factory.mktemp("mesh"))


@pytest.fixture(scope="module")
def traffic(mesh: Mesh) -> Traffic:  # noqa: ARG001
    """Clients in the mesh of a file."""
    return Traffic()
