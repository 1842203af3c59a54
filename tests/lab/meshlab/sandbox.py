# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Making the sandbox and getting into it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from meshlab import checks, messages
from meshlab.errors import LabError
from meshlab.paths import LAB, Paths

BORN_WITHIN = 20.0
"""Seconds until the supervisor must listen."""


def pid(paths: Paths) -> int:
    """The first process of the running lab as this process sees it; 0 when the lab is not up, 1 when we are inside."""
    return messages.listener(paths.socket)


def create(paths: Paths) -> int:
    """Start the supervisor in namespaces of its own and return its process id. It outlives the command and its terminal."""
    paths.log.mkdir(parents=True, exist_ok=True)
    paths.socket.unlink(missing_ok=True)
    log = paths.log / "supervisor.log"
    command = ["unshare", *checks.unshare_flags(), sys.executable, "-m", "meshlab.supervisor", str(paths.home)]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(LAB), "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8"}
    with log.open("wb") as output:
        maker = subprocess.Popen(
            command, cwd=paths.run, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
    deadline = time.monotonic() + BORN_WITHIN
    while not (born := pid(paths)):
        if maker.poll() is not None or time.monotonic() > deadline:
            maker.kill()
            why = log.read_text(errors="replace").strip() or f"it ended with {maker.returncode} and said nothing"
            raise LabError(f"the lab's supervisor did not start: {why}")
        time.sleep(0.02)
    return born


def entering(paths: Paths, command: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """What to execute, with which environment, so that the command runs inside the lab, in the directory where we are now."""
    target = pid(paths)
    if not target:
        raise LabError("the lab is not up. Start it with: tests/lab/lab up")
    environment = {
        **os.environ,
        "PATH": f"{paths.bin}{os.pathsep}{os.environ.get('PATH', '')}",
        "KUBECONFIG": str(paths.kubeconfig("admin")),
        "MESHLAB_HOME": str(paths.home),
        "MESHLAB_RUN": str(paths.run),
    }
    if target == 1:
        return list(command), environment
    user = [] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]
    enter = ["nsenter", f"--target={target}", *user, "--net", "--mount", "--pid"]
    # A command whose nsenter is killed must not live on; entering a mount namespace forgets the working directory.
    run = ["setpriv", "--pdeathsig", "KILL", "sh", "-c", 'cd -- "$1" && shift && exec "$@"', "sh", os.getcwd()]
    return [*enter, *run, *command], environment


def run_inside(paths: Paths, words: Sequence[str], text: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command inside the lab with `text` on its input, and collect what it prints."""
    command, environment = entering(paths, words)
    return subprocess.run(command, env=environment, input=text, capture_output=True, text=True, check=False)


def destroy(paths: Paths, timeout: float) -> None:
    """End the lab and everything in it; by force when it does not within `timeout` seconds."""
    target = pid(paths)
    if not target:
        return
    for number, patience in ((signal.SIGTERM, timeout), (signal.SIGKILL, 10.0)):
        os.kill(target, number)
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            if not Path(f"/proc/{target}").exists():
                return
            time.sleep(0.05)
    raise LabError(f"the lab's first process {target} does not end, even when killed. Look at what it waits for: /proc/{target}/stack")
