# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the lab cannot run on is refused in a sentence that says what to do."""

from __future__ import annotations

import os
import sys
from collections import namedtuple
from pathlib import Path

import pytest

from meshlab import checks
from meshlab.errors import LabError

Usage = namedtuple("Usage", "total used free")


def test_other_systems(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")

    with pytest.raises(LabError, match=r"needs Linux .this is darwin."):
        checks.machine(tmp_path)


def test_missing_tools_are_named_with_their_packages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(LabError, match=r"unshare, nsenter, setpriv and ip, which are not on PATH: install iproute2 and util-linux"):
        checks.machine(tmp_path)


def test_an_ordinary_user_needs_subordinate_ids(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(LabError, match=r"as an ordinary user the lab needs newuidmap and newgidmap.*install uidmap"):
        checks.namespaces()


def test_namespaces_that_the_system_refuses(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    unshare = tmp_path / "unshare"
    unshare.write_text("#!/bin/sh\necho 'unshare: unshare failed: Operation not permitted' >&2\nexit 1\n")
    unshare.chmod(0o755)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    with pytest.raises(LabError, match=r"cannot make its namespaces: unshare: unshare failed: Operation not permitted. In a container"):
        checks.namespaces()


def test_a_full_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage(100, 99, 1 << 29))

    with pytest.raises(LabError, match=r"too little disk to run the lab: 0.5 GiB are free at .*, 1 GiB are needed. Free some, or"):
        checks.machine(tmp_path / "not" / "there" / "yet")
