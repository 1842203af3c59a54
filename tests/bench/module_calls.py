# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What one call of each module costs on the mesh of the demo, beside ansible.builtin.ping and kubernetes.core.k8s_info."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

CALLS = 5
"""Calls of a module in one playbook; the cost of the playbook itself is taken off."""

BASELINES = {
    "ping": {"ansible.builtin.ping": {}},
    "k8s_info": {"kubernetes.core.k8s_info": {"kind": "Pod", "api_version": "v1"}},
}
# The mesh is what the demo left: revision "next" owns the default tag; nothing here changes it.
MODULES = {
    "mesh_info": {},
    "proxy_status": {"wait_timeout": 0},
    "workload_restart": {},
    "ns_revision_label": {"namespaces": ["shop"], "to": "next"},
    "istio_tag": {"name": "default", "revision": "next"},
    "istio_revision": {"revision": "next"},
}


def measure(lab: Path) -> Iterator[tuple[str, float, float, str]]:
    """Name, seconds per call, seconds per call of the baseline, unit."""
    empty = _playbook_seconds(lab, None)
    baselines = {name: _per_call(lab, task, empty) for name, task in BASELINES.items()}
    for module, options in MODULES.items():
        value = _per_call(lab, {f"meshops.istio.{module}": options}, empty)
        for name, baseline in baselines.items():
            yield f"{module}_against_{name}", value, baseline, "s"


def _per_call(lab: Path, task: dict, empty: float) -> float:
    return (_playbook_seconds(lab, task) - empty) / CALLS


def _playbook_seconds(lab: Path, task: dict | None) -> float:
    play = {"hosts": "localhost", "gather_facts": False, "tasks": [task] * CALLS if task else []}
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
        json.dump([play], file)
        file.flush()
        began = time.monotonic()
        subprocess.run([lab, "exec", "--", "ansible-playbook", file.name], check=True, capture_output=True)
        return time.monotonic() - began
