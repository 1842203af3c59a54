# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab of its own for testing the tool: its state is temporary, its programs are the user's cached ones."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from lab_under_test import Lab

from meshlab.paths import Paths


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("meshlab")
    cache = Paths.from_environment().cache
    cache.mkdir(parents=True, exist_ok=True)
    (home / "cache").symlink_to(cache)
    return home


@pytest.fixture(scope="session")
def some_lab(home: Path) -> Iterator[Lab]:
    lab = Lab(home)
    yield lab
    lab("down")


@pytest.fixture
def lab(some_lab: Lab) -> Lab:
    """A lab that is up; what earlier tests did to it is their business."""
    some_lab.must("up")
    return some_lab
