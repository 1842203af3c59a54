# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Running the collection: a module as Ansible runs it, a playbook as a user does."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


class Result(dict[str, Any]):
    """What a module returned, by attribute: ``result.changed``."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f'the module returned no "{name}", but {", ".join(self)}') from None


def module(
    name: str, params: Mapping[str, Any], *, check: bool = False, diff: bool = False, environment: Mapping[str, str] | None = None
) -> Result:
    """Run one module in a process of its own, without the seconds that a playbook takes."""
    arguments = {**params, "_ansible_check_mode": check, "_ansible_diff": diff}
    done = subprocess.run(
        [sys.executable, str(HERE / "run_module.py"), name],
        input=json.dumps({"ANSIBLE_MODULE_ARGS": arguments}),
        env={**os.environ, **(environment or {}), "PYTHONPATH": os.environ["ANSIBLE_COLLECTIONS_PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        return Result(json.loads(done.stdout))
    except ValueError:
        raise AssertionError(f"{name} returned no result:\n{done.stdout}{done.stderr}") from None


@dataclass(frozen=True)
class Play:
    """What a run of ansible-playbook printed, and how it ended."""

    code: int
    output: str

    @property
    def changed(self) -> int:
        """How many tasks changed something."""
        return self._count("changed")

    @property
    def failed(self) -> int:
        """How many tasks failed and were not rescued."""
        return self._count("failed")

    def _count(self, word: str) -> int:
        found = re.search(rf"^localhost\s.*\b{word}=(\d+)", self.output, re.MULTILINE)
        assert found, self.output
        return int(found.group(1))


def playbook_command(name: str, extra_vars: Mapping[str, Any], tags: Sequence[str] = (), *, check: bool = False) -> list[str]:
    """How a user runs a playbook of the collection."""
    options = (["--tags", ",".join(tags)] if tags else []) + (["--check", "--diff"] if check else [])
    return ["ansible-playbook", f"meshops.istio.{name}", *options, "--extra-vars", json.dumps(extra_vars)]


def playbook_environment() -> dict[str, str]:
    """No colours and no cows in what we read; the implicit localhost is meant."""
    return {**os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_NOCOWS": "1", "ANSIBLE_LOCALHOST_WARNING": "false"}


def playbook(name: str, extra_vars: Mapping[str, Any], tags: Sequence[str] = (), *, check: bool = False) -> Play:
    """Run a playbook to its end."""
    command = playbook_command(name, extra_vars, tags, check=check)
    done = subprocess.run(command, env=playbook_environment(), capture_output=True, text=True, check=False)
    return Play(done.returncode, done.stdout + done.stderr)


def playbook_killed(name: str, extra_vars: Mapping[str, Any], when: Callable[[], bool]) -> None:
    """Start a playbook, and kill it with all its children as soon as something holds; AssertionError when it ends before."""
    process = subprocess.Popen(
        playbook_command(name, extra_vars), env=playbook_environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    while not when():
        if process.poll() is not None:
            raise AssertionError(f"the playbook ended too early:\n{process.communicate()[0]}")
        time.sleep(0.3)
    for pid in [process.pid, *_descendants(process.pid)]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.communicate()


def _descendants(pid: int) -> list[int]:
    """The children of a process, and theirs: Ansible's workers have sessions of their own, so no group holds them all."""
    children = [int(child) for task in Path(f"/proc/{pid}/task").glob("*") for child in (task / "children").read_text().split()]
    return children + [grandchild for child in children for grandchild in _descendants(child)]
