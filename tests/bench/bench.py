#!/usr/bin/env python3
# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The figures of the project, one JSON object per line: name, value, unit, and baseline and ratio where there is something to compare.

    bench.py            everything but the cold builds, on the lab, which is started anew
    bench.py --cold     first builds all programs of the lab without any cache: half an hour, and 15 GiB of disk meanwhile
Runs outside the lab. Progress goes to standard error, figures to standard output.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import at_scale
import module_calls
import scenario_a

ROOT = Path(__file__).resolve().parents[2]
LAB = ROOT / "tests" / "lab" / "lab"


def main() -> None:
    if "--cold" in sys.argv[1:]:
        figure("lab_builds_cold", cold_build_seconds(), "s")
    lab("down")
    figure("lab_warm_start", seconds(lambda: lab("up")), "s")
    figure("demo_warm", seconds(lambda: lab("exec", "--", "tests/demo/run")), "s")
    for name, value, baseline, unit in module_calls.measure(LAB):
        figure(name, value, unit, baseline)
    lab("reset")
    for name, value, baseline, unit in at_scale.measure(LAB):
        figure(name, value, unit, baseline)
    lab("reset")
    total, pods_alone = scenario_a.measure(LAB)
    figure("canary_upgrade_scenario_a_without_pod_start", total - pods_alone, "s")
    figure("canary_upgrade_scenario_a", total, "s", pods_alone)
    lab("down")


def lab(*arguments: str) -> None:
    """Run the lab tool, its output to standard error."""
    print(f"bench: lab {' '.join(arguments)}", file=sys.stderr)
    subprocess.run([LAB, *arguments], cwd=ROOT, check=True, stdout=sys.stderr)


def seconds(action) -> float:
    """How long something takes."""
    began = time.monotonic()
    action()
    return time.monotonic() - began


def cold_build_seconds() -> float:
    """How long all programs of the lab take to build when neither the lab nor Go has anything cached; downloads are left out."""
    with tempfile.TemporaryDirectory() as scratch:
        caches = {"MESHLAB_HOME": f"{scratch}/lab", "GOCACHE": f"{scratch}/go"}
        return seconds(lambda: subprocess.run([LAB, "build"], cwd=ROOT, check=True, stdout=sys.stderr, env=os.environ | caches))


def figure(name: str, value: float, unit: str, baseline: float | None = None) -> None:
    """Print one figure."""
    line: dict[str, object] = {"name": name, "value": round(value, 3), "unit": unit}
    if baseline is not None:
        line.update(baseline=round(baseline, 3), ratio=round(value / baseline, 3))
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
