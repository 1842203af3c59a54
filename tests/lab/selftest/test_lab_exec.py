# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands inside the lab behave like commands outside."""

from __future__ import annotations

import subprocess
from pathlib import Path

from lab_under_test import Lab, World, eventually


def test_exit_codes_pass(lab: Lab) -> None:
    assert lab("exec", "--", "sh", "-c", "exit 7").returncode == 7


def test_arguments_pass_as_they_are(lab: Lab) -> None:
    assert lab.inside("printf", "%s|", "a b", "--", "-x", "$HOME", "") == "a b|--|-x|$HOME||"


def test_input_working_directory_and_environment_pass(lab: Lab, tmp_path: Path) -> None:
    done = lab("exec", "--", "sh", "-c", "cat; pwd; echo $MINE", input="in\n", cwd=tmp_path, env={"MINE": "kept"})

    assert done.stdout == f"in\n{tmp_path}\nkept\n"


def test_the_lab_is_first_in_the_environment(lab: Lab) -> None:
    run = lab.paths.run

    assert lab.inside("sh", "-c", 'echo "$KUBECONFIG $MESHLAB_RUN ${PATH%%:*}"') == f"{run}/admin.kubeconfig {run} {run}/bin\n"


def test_nothing_of_the_tool_itself_leaks_into_the_environment(lab: Lab) -> None:
    names = {line.partition("=")[0] for line in lab.inside("env").splitlines()}

    assert names - set(lab.environment) <= {"KUBECONFIG", "MESHLAB_RUN", "PWD", "OLDPWD", "SHLVL", "_"}


def test_a_command_whose_caller_is_killed_does_not_live_on(lab: Lab) -> None:
    world = World(lab.state()["pid"])
    session = subprocess.Popen(lab.command("exec", "--", "sleep", "4711"), env=lab.environment)
    assert eventually(lambda: any("sleep 4711" in command for command in world.processes()))

    session.kill()
    session.wait()

    assert eventually(lambda: not any("sleep 4711" in command for command in world.processes()))


def test_the_tool_works_inside_the_lab_too(lab: Lab) -> None:
    assert lab.inside(*lab.command("exec", "--", "echo", "here")) == "here\n"


def test_logs_are_found_by_name(lab: Lab) -> None:
    assert "kube-apiserver" in lab.must("logs", "kube-apiserver")
    assert 'there is no log "nothing"' in lab("logs", "nothing").stderr
