# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Asking istioctl what it thinks of a mesh. It only reads; when it has no answer, that is told and stops nobody."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence

from ..cluster.client import Cluster
from ..cluster.kubeconfig import kubeconfig_file
from ..mesh.finding import INFO, Finding
from ..mesh.istioctl_report import Message, analyze_findings, messages_of, precheck_findings
from ..mesh.words import some

SECONDS = 60
"""How long istioctl may take for one answer; seen: a second or two."""


def istioctl_findings(
    cluster: Cluster, binary: str, revisions: Sequence[str], istio_namespace: str, seconds: float = SECONDS
) -> list[Finding]:
    """What precheck says, and analyze for each revision: it sees only the configuration of one at a time."""
    with kubeconfig_file(cluster.api_client) as kubeconfig:
        options = ["--output=json", "--output-threshold=Warning", f"--kubeconfig={kubeconfig}", f"--istioNamespace={istio_namespace}"]
        checks = {"": ["x", "precheck"], **{revision: ["analyze", "--all-namespaces", f"--revision={revision}"] for revision in revisions}}
        answers = {name: _ask([binary, *check, *options], seconds) for name, check in checks.items()}
    heard = {name: answer for name, answer in answers.items() if not isinstance(answer, str)}
    return [
        *precheck_findings(heard.pop("", [])),
        *analyze_findings(heard),
        *_silent({" ".join(checks[name]): answer for name, answer in answers.items() if isinstance(answer, str)}, binary),
    ]


def _ask(command: Sequence[str], seconds: float) -> list[Message] | str:
    """The messages, or why there are none."""
    try:
        done = _run(command, seconds)
    except subprocess.TimeoutExpired:
        return f"no answer within {seconds:g} s"
    except OSError as error:
        return str(error.strerror or error)
    try:
        messages = messages_of(done.stdout)
    except ValueError:
        return f"an answer that cannot be read: {_short(done.stdout)}"
    # precheck exits with 1 when it has found something; without any message it has failed
    return messages if messages or done.returncode == 0 else _short(done.stderr)


def version_of_istioctl(binary: str, seconds: float = SECONDS) -> str | None:
    """The version of an istioctl, None when it cannot be run or does not say."""
    try:
        return str(json.loads(_run([binary, "version", "--remote=false", "--output=json"], seconds).stdout)["clientVersion"]["version"])
    except (OSError, subprocess.TimeoutExpired, ValueError, KeyError, TypeError):
        return None


def _run(command: Sequence[str], seconds: float) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds, check=False)


def _silent(failures: dict[str, str], binary: str) -> Iterator[Finding]:
    for reason in dict.fromkeys(failures.values()):
        checks = [f'"{check}"' for check, why in failures.items() if why == reason]
        yield Finding(
            "istioctl-silent",
            INFO,
            f"istioctl {binary}",
            f"{some(checks)} of {binary} did not check the mesh: {reason}.",
            "Run it by hand to see more. Nothing else depends on it.",
        )


def _short(said: str) -> str:
    return " ".join(said.split())[-500:].rstrip(".")
