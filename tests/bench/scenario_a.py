# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long the upgrade of scenario A takes, and how long its pods alone need. Run as a program it measures inside the lab."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SCENARIOS = Path(__file__).resolve().parents[1] / "lab" / "scenarios"


def measure(lab: Path) -> tuple[float, float]:
    """Seconds of the whole canary_upgrade, and of restarting the same namespaces in the same groups with kubectl."""
    done = subprocess.run([lab, "exec", "--", sys.executable, __file__], check=True, stdout=subprocess.PIPE, text=True)
    measured = json.loads(done.stdout.splitlines()[-1])
    return measured["upgrade"], measured["pods"]


def inside() -> None:
    """Make the world of the scenario, measure, print one JSON object."""
    sys.path.insert(0, str(SCENARIOS))
    import test_upgrade as scenario
    from kubectl import kubectl
    from world import Mesh, Namespace, settle

    mesh = Mesh(Path(tempfile.mkdtemp()))
    mesh.revisions("stable")
    for tag in sorted(scenario.TAGS):
        mesh.tag(tag, "stable")
    for name, labels in scenario.NAMESPACES.items():
        mesh.namespace(name, labels, scenario.WORKLOADS[name], wait=False)
    settle()
    mesh.playbook("canary_upgrade", ["precheck"], **scenario.UPGRADE)
    journal = kubectl("get", "configmap", "meshops-istio-upgrade", "--namespace=istio-system", "--output=json")
    plan = json.loads(json.loads(journal)["data"]["journal.json"])["plan"]
    groups = [plan["canary"]["namespaces"], *(wave["namespaces"] for wave in plan["waves"])]

    began = time.monotonic()
    for group in groups:
        for name in group:
            kubectl("rollout", "restart", "deployment", f"--namespace={name}")
        for name in group:
            settle(name)
    pods = time.monotonic() - began

    began = time.monotonic()
    play = mesh.playbook("canary_upgrade", **scenario.UPGRADE)
    upgrade = time.monotonic() - began
    if play.code != 0:
        sys.exit(play.output)
    if {revision for name in scenario.NAMESPACES for counts in Namespace(name).revisions().values() for revision in counts} != {"canary"}:
        sys.exit("the upgrade did not move everything, so its time says nothing")
    print(json.dumps({"upgrade": upgrade, "pods": pods}))


if __name__ == "__main__":
    inside()
