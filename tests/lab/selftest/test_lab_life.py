# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Up, reset and down, and every way to die."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from lab_under_test import Lab, World, eventually, interfaces


def test_a_second_up_changes_nothing(lab: Lab) -> None:
    before = lab.state()

    done = lab("up")

    assert done.returncode == 0
    assert "up already" in done.stderr
    assert lab.state() == before


def test_an_up_lab_has_a_ready_node_and_lets_pods_be_created(lab: Lab) -> None:
    nodes = json.loads(lab.inside("kubectl", "get", "nodes", "-o", "json"))["items"]
    ready = [condition["status"] for node in nodes for condition in node["status"]["conditions"] if condition["type"] == "Ready"]

    assert ready == ["True"]
    assert "default" in lab.inside("kubectl", "get", "serviceaccounts", "-n", "default", "-o", "name")


def test_a_reset_leaves_nothing_of_the_cluster_and_everything_of_the_user(lab: Lab) -> None:
    lab.inside("kubectl", "create", "namespace", "shop")
    lab.inside("kubectl", "create", "deployment", "web", "-n", "shop", "--image=meshlab/app", "--replicas=2")
    lab.inside("kubectl", "rollout", "status", "deployment/web", "-n", "shop", "--timeout=60s")
    generation = lab.state()["generation"]
    session = subprocess.Popen(lab.command("exec", "--", "sleep", "600"), env=lab.environment)

    lab.must("reset")

    try:
        assert "shop" not in lab.inside("kubectl", "get", "namespaces", "-o", "name")
        assert lab.state()["generation"] == generation + 1
        assert lab.state()["ready"]
        links = {link["ifname"] for link in json.loads(lab.inside("ip", "-json", "link"))}
        assert links == {"lo", "lab0", "lab1"}
        assert list(lab.paths.pods.iterdir()) == []
        assert session.poll() is None
    finally:
        session.kill()
        session.wait()


@pytest.mark.parametrize("victim", ["maker", "first process"])
def test_kill_9_leaves_no_process_no_mount_and_no_interface(lab: Lab, victim: str) -> None:
    lab.inside("kubectl", "create", "deployment", f"web-{victim[0]}", "--image=meshlab/app")
    lab.inside("kubectl", "rollout", "status", f"deployment/web-{victim[0]}", "--timeout=60s")
    first = lab.state()["pid"]
    maker = int(Path(f"/proc/{first}/stat").read_text().rpartition(")")[2].split()[1])
    world, before = World(first), interfaces()
    assert len(world.processes()) > 5

    os.kill(maker if victim == "maker" else first, signal.SIGKILL)

    assert world.becomes_empty(), world.processes()
    assert str(lab.paths.home) not in Path("/proc/self/mountinfo").read_text()
    assert interfaces() == before
    assert lab("status").returncode == 3
    lab.must("up")


def test_a_component_that_dies_is_reported_and_started_again_only_by_up(lab: Lab) -> None:
    scheduler = lab.state()["components"]["kube-scheduler"]["pid"]
    lab.inside("kill", "-9", str(scheduler))

    assert eventually(lambda: lab("status").returncode == 3)
    assert "kube-scheduler            ended (killed by SIGKILL)" in lab("status").stdout

    done = lab("up")

    assert done.returncode == 0
    assert "had ended (killed by SIGKILL): started again" in done.stderr
    assert lab("status").returncode == 0


def test_a_lab_that_is_up_does_not_change_its_kubelet_version_by_the_way(lab: Lab) -> None:
    done = lab("up", "--kubelet-version", "v1.32.4")

    assert done.returncode == 1
    assert "tests/lab/lab reset --kubelet-version v1.32.4" in done.stderr


def test_down_ends_everything_and_may_be_said_twice(lab: Lab) -> None:
    world, before = World(lab.state()["pid"]), interfaces()

    lab.must("down")

    assert world.becomes_empty(0), world.processes()
    assert interfaces() == before
    assert str(lab.paths.home) not in Path("/proc/self/mountinfo").read_text()
    assert not lab.paths.state.exists()
    lab.must("down")
    refused = lab("exec", "--", "true")
    assert refused.returncode == 1
    assert refused.stderr == "lab: the lab is not up. Start it with: tests/lab/lab up\n"
