# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands that scenarios call as a user would: kubectl, istioctl, the lab."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

LAB = Path(__file__).resolve().parent.parent / "lab"


def run(*words: str | Path, text: str = "", environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command to its end and collect what it prints, whatever its exit code."""
    return subprocess.run([str(word) for word in words], input=text, env=environment, capture_output=True, text=True, check=False)


def must(*words: str | Path, text: str = "") -> str:
    """What a command prints; AssertionError with everything it said when it fails."""
    done = run(*words, text=text)
    assert done.returncode == 0, f"{' '.join(str(word) for word in words)}\n{done.stdout}{done.stderr}"
    return done.stdout


def kubectl(*words: str, manifests: list[dict[str, Any]] | None = None) -> str:
    """What kubectl prints; manifests go to its input, for ``--filename=-``."""
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests}) if manifests else ""
    return must("kubectl", *words, text=text)


def items(*words: str) -> list[dict[str, Any]]:
    """The objects that ``kubectl get …`` finds."""
    found: list[dict[str, Any]] = json.loads(kubectl("get", *words, "--output=json"))["items"]
    return found


def lab(*words: str) -> str:
    """What ``tests/lab/lab …`` prints."""
    return must(LAB, *words)
