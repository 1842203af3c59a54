# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What pods can do: fail on request, say what they did, run commands, be reached, and end in good order."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import count

import pytest
from lab_under_test import Lab, eventually

NUMBERS = count(1)


@pytest.fixture
def pods(lab: Lab) -> Iterator[str]:
    """A namespace for the pods of one test; that it goes takes its time, which nobody waits for."""
    name = f"pods-{next(NUMBERS)}"
    lab.inside("kubectl", "create", "namespace", name)
    yield f"--namespace={name}"
    lab.inside("kubectl", "delete", "namespace", name, "--wait=false")


def run(lab: Lab, pods: str, name: str, *options: str) -> None:
    lab.inside("kubectl", "run", name, pods, "--image=meshlab/app", "--port=8080", *options)


def container(lab: Lab, pods: str, name: str) -> dict:
    """What the API says about the container of a pod, empty before it says anything."""
    statuses = json.loads(lab.inside("kubectl", "get", "pod", name, pods, "--output=json"))["status"].get("containerStatuses")
    return statuses[0] if statuses else {}


def pod_that_answers(lab: Lab, address: str) -> str:
    """The name of the pod that answers there, empty when nobody does."""
    ask = f"import urllib.request; print(urllib.request.urlopen('http://{address}/', timeout=2).read().decode())"
    done = lab("exec", "--", sys.executable, "-c", ask)
    return json.loads(done.stdout)["pod"] if done.returncode == 0 else ""


@pytest.mark.parametrize(("how", "reason"), [("image-pull", "ImagePullBackOff"), ("crash-loop", "CrashLoopBackOff")])
def test_a_pod_waits_for_the_reason_it_was_asked_for(lab: Lab, pods: str, how: str, reason: str) -> None:
    run(lab, pods, how, f"--labels=meshlab/fail={how}")

    def waits() -> bool:
        return container(lab, pods, how).get("state", {}).get("waiting", {}).get("reason") == reason

    assert eventually(waits, seconds=40)
    if how == "crash-loop":
        assert eventually(lambda: container(lab, pods, how)["restartCount"] > 0, seconds=30)


def test_a_pod_that_is_never_ready_runs_all_the_same(lab: Lab, pods: str) -> None:
    run(lab, pods, "never", "--labels=meshlab/fail=never-ready")

    assert eventually(lambda: "running" in container(lab, pods, "never").get("state", {}), seconds=20)
    time.sleep(2)
    assert container(lab, pods, "never")["ready"] is False


def test_a_pod_is_reached_by_exec_port_forward_and_logs(lab: Lab, pods: str) -> None:
    run(lab, pods, "web")
    lab.inside("kubectl", "wait", "pod/web", pods, "--for=condition=Ready", "--timeout=30s")

    assert lab.inside("kubectl", "exec", "web", pods, "--", "hostname").strip() == "web"
    assert lab("exec", "--", "kubectl", "exec", "web", pods, "--", "sh", "-c", "exit 7").returncode == 7
    forward = subprocess.Popen(lab.command("exec", "--", "kubectl", "port-forward", "pod/web", pods, "18080:8080"), env=lab.environment)
    try:
        assert eventually(lambda: pod_that_answers(lab, "127.0.0.1:18080") == "web", seconds=20)
    finally:
        forward.kill()
        forward.wait()
    lab.inside("kubectl", "run", "talker", pods, "--image=meshlab/app", "--command", "--", "sh", "-c", "echo hello; sleep 60")
    assert eventually(lambda: lab("exec", "--", "kubectl", "logs", "talker", pods).stdout == "hello\n", seconds=20)


def test_a_pod_that_ends_serves_until_it_is_out_of_reach(lab: Lab, pods: str) -> None:
    run(lab, pods, "web")
    lab.inside("kubectl", "wait", "pod/web", pods, "--for=condition=Ready", "--timeout=30s")
    address = lab.inside("kubectl", "get", "pod", "web", pods, "--output=jsonpath={.status.podIP}")

    lab.inside("kubectl", "delete", "pod", "web", pods, "--wait=false")
    time.sleep(1)
    assert pod_that_answers(lab, f"{address}:8080") == "web"
    assert eventually(lambda: lab("exec", "--", "kubectl", "get", "pod", "web", pods).returncode != 0, seconds=20)
    assert not pod_that_answers(lab, f"{address}:8080")
