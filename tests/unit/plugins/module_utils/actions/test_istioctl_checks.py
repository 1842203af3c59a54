# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""With small programs in the place of istioctl; the lab asks the real ones."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from ansible_collections.meshops.istio.plugins.module_utils.actions.istioctl_checks import istioctl_findings
from ansible_collections.meshops.istio.plugins.module_utils.cluster.connection import connect
from ansible_collections.meshops.istio.plugins.module_utils.mesh.finding import Finding

MESSAGE = json.dumps([{"code": "IST0156", "level": "Error", "origin": "Cluster", "message": "the Gateway API is too old"}])


def ask(tmp_path: Path, script: str, seconds: float = 60) -> list[Finding]:
    """Findings with a program that does as the script says; it keeps what it was called with."""
    program = tmp_path / "istioctl"
    program.write_text(f'#!/bin/sh\necho "$@" >> "{tmp_path}/calls"\n{script}\n')
    program.chmod(0o755)
    cluster = SimpleNamespace(api_client=connect({"host": "https://mesh.example:6443", "api_key": "s3cret"}))
    return istioctl_findings(cluster, str(program), ["stable", "canary"], "istio-system", seconds)  # type: ignore[arg-type]


def test_precheck_is_asked_once_and_analyze_for_each_revision_by_the_own_connection(tmp_path: Path) -> None:
    script = f'for word; do case $word in --kubeconfig=*) cat "${{word#*=}}" > {tmp_path}/kubeconfig;; esac; done'

    assert ask(tmp_path, script) == []
    calls = (tmp_path / "calls").read_text().splitlines()
    assert [call.split(" --output")[0] for call in calls] == [
        "x precheck",
        "analyze --all-namespaces --revision=stable",
        "analyze --all-namespaces --revision=canary",
    ]
    assert '"https://mesh.example:6443"' in (tmp_path / "kubeconfig").read_text()
    assert not any(Path(word.partition("=")[2]).exists() for word in calls[0].split() if word.startswith("--kubeconfig="))
    assert "s3cret" not in "".join(calls)


def test_precheck_that_found_something_has_not_failed(tmp_path: Path) -> None:
    found = ask(tmp_path, f"[ $1 = analyze ] && exit 0; echo '{MESSAGE}'; echo Error: issues found >&2; exit 1")

    assert [(finding.code, finding.severity) for finding in found] == [("istioctl-precheck", "error")]


@pytest.mark.parametrize(
    ("script", "seconds", "reason"),
    [
        ("echo Error: namespaces is forbidden. >&2; exit 1", 60, "Error: namespaces is forbidden"),
        ("echo all is well", 60, "an answer that cannot be read: all is well"),
        ("exec sleep 30", 0.2, "no answer within 0.2 s"),
    ],
)
def test_no_answer_is_told_once_and_stops_nobody(tmp_path: Path, script: str, seconds: float, reason: str) -> None:
    (found,) = ask(tmp_path, script, seconds)

    assert (found.code, found.severity) == ("istioctl-silent", "info")
    assert reason in found.message
    assert found.message.count("analyze --all-namespaces") == 2


def test_a_program_that_is_not_there_is_told_once_and_stops_nobody(tmp_path: Path) -> None:
    cluster = SimpleNamespace(api_client=connect({"host": "https://mesh.example:6443", "api_key": "s3cret"}))

    (found,) = istioctl_findings(cluster, str(tmp_path / "nowhere"), ["stable"], "istio-system")  # type: ignore[arg-type]

    assert (found.code, found.severity) == ("istioctl-silent", "info")
    assert "No such file or directory" in found.message
