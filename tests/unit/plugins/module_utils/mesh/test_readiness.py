# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.meshops.istio.plugins.module_utils.mesh.readiness import Diagnosis, diagnose

Object = dict[str, Any]


def deployment(**progressing: str) -> Object:
    return {"metadata": {"name": "istiod-canary"}, "status": {"conditions": [{"type": "Progressing", "status": "True", **progressing}]}}


def replica_set(message: str) -> Object:
    condition = {"type": "ReplicaFailure", "status": "True", "message": message}
    return {"metadata": {"name": "istiod-canary-5d"}, "status": {"conditions": [condition]}}


def pod(*conditions: tuple[str, str, str], waiting: str = "", message: str = "", restarts: int = 0, ended: Object | None = None) -> Object:
    state = {"waiting": {"reason": waiting, "message": message}} if waiting else {"running": {}}
    status = {"name": "discovery", "state": state, "restartCount": restarts, "lastState": {"terminated": ended} if ended else {}}
    found = [{"type": kind, "status": value, "message": said} for kind, value, said in conditions]
    return {"metadata": {"name": "istiod-canary-5d-x"}, "status": {"conditions": found, "containerStatuses": [status]}}


def event(message: str, name: str = "istiod-canary-5d-x", kind: str = "Warning") -> Object:
    return {"type": kind, "message": message, "involvedObject": {"kind": "Pod", "name": name}}


NOT_READY = ("Ready", "False", "")
QUOTA = 'pods "istiod-canary-5d-x" is forbidden: exceeded quota: small'

CASES = {
    "an image that cannot be pulled": (
        ([], [pod(NOT_READY, waiting="ImagePullBackOff", message="not found")], []),
        ('pod istiod-canary-5d-x: container "discovery" is in ImagePullBackOff (not found)', True),
    ),
    "a crash loop, with the last words": (
        ([], [pod(NOT_READY, waiting="CrashLoopBackOff", restarts=4, ended={"exitCode": 1, "message": "no CA"})], []),
        ('pod istiod-canary-5d-x: container "discovery" is in CrashLoopBackOff, it ended with 1 no CA', True),
    ),
    "a first crash": (
        ([], [pod(NOT_READY, waiting="CrashLoopBackOff", restarts=1)], []),
        ("pod istiod-canary-5d-x is not ready", False),
    ),
    "no node": (
        ([], [pod(("PodScheduled", "False", "0/1 nodes are available"))], []),
        ("pod istiod-canary-5d-x finds no node: 0/1 nodes are available", False),
    ),
    "a probe that fails": (
        ([], [pod(NOT_READY)], [event("other", "x"), event("normal", kind="Normal"), event("Readiness probe failed: refused")]),
        ("pod istiod-canary-5d-x is not ready: Readiness probe failed: refused", False),
    ),
    "a quota": (([replica_set(QUOTA)], [], []), (f"ReplicaSet istiod-canary-5d cannot create pods: {QUOTA}", False)),
    "what is hopeless comes before what may pass": (
        ([replica_set(QUOTA)], [pod(NOT_READY), pod(NOT_READY, waiting="ImagePullBackOff")], []),
        ('pod istiod-canary-5d-x: container "discovery" is in ImagePullBackOff', True),
    ),
}


@pytest.mark.parametrize(("found", "said"), CASES.values(), ids=CASES)
def test_the_cause_is_named_by_its_object_and_whether_waiting_can_help(
    found: tuple[list[Object], list[Object], list[Object]], said: tuple[str, bool]
) -> None:
    assert diagnose(deployment(), *found) == Diagnosis(*said)


def test_a_deployment_that_has_given_up_is_told() -> None:
    assert diagnose(deployment(status="False", message="timed out"), [], [], []) == Diagnosis("Deployment istiod-canary: timed out", False)


def test_nothing_that_can_be_seen_is_nothing() -> None:
    assert diagnose(None, [], [], []) is None
    assert diagnose(deployment(), [], [pod(("Ready", "True", ""))], []) is None
