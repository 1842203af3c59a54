# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The process node's own tests and format, with the Go that builds it."""

from __future__ import annotations

import os
import subprocess

from meshlab import fetch
from meshlab.build import ENVIRONMENT
from meshlab.components import FAMILIES
from meshlab.paths import Paths
from meshlab.progress import Progress

NODE = next(family.directory for family in FAMILIES if family.name == "node")


def test_the_node_passes_its_own_tests_and_is_formatted() -> None:
    go = fetch.go(Paths.from_environment().cache, Progress())
    # Without vet, which would work through all of client-go.
    command = [go, "test", "-trimpath", "-vet=off", "./..."]
    tests = subprocess.run(command, cwd=NODE, env={**os.environ, **ENVIRONMENT}, capture_output=True, text=True, check=False)
    assert tests.returncode == 0, tests.stdout + tests.stderr

    unformatted = subprocess.run([go.with_name("gofmt"), "-l", "."], cwd=NODE, capture_output=True, text=True, check=True).stdout
    assert not unformatted, f"gofmt would change {unformatted}"
