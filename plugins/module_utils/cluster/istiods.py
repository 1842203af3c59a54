# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Asking every istiod which proxies hang on it, over the API server's port-forward.

Only so does the question come from istiod's own loopback interface, where it asks for no credentials.
"""

from __future__ import annotations

import http.client
import json
import queue
import threading
import time
from typing import Any

from ..mesh.names import DEFAULT, ISTIOD_SELECTOR, REVISION_LABEL
from ..mesh.proxies import IstiodAnswer
from .client import Cluster, Object, Objects
from .paths import PODS
from .port_forward import Forward, NoForward
from .read import trim_pod

MONITORING_PORT = 15014
SYNCZ = "/debug/syncz"

ANSWER_SECONDS = 30.0
"""For all istiods together: one answers for 10,000 proxies in half a second."""

AT_ONCE = 8
"""Istiods that are asked at the same time."""


def ask_istiods(cluster: Cluster, *, timeout: float = ANSWER_SECONDS) -> list[IstiodAnswer]:
    """What every istiod of every revision says, by name of its pod. One that gives no answer has an error, never "no proxies".

    Args:
        cluster: where to ask. Impersonation does not reach a port-forward: it happens as the user who connects.
        timeout: seconds for all of them together.

    Raises:
        ClusterError: the istiod pods cannot be listed.
    """
    pods = [pod for pod in cluster.list(PODS(), label_selector=ISTIOD_SELECTOR, trim=trim_pod) if _runs(pod)]
    answers = _ask_in_parallel(cluster, pods, timeout)
    return [answers.get(_key(pod)) or _answer(pod, error=f"it gave no answer within {timeout:g} s") for pod in sorted(pods, key=_key)]


def _ask_in_parallel(cluster: Cluster, pods: Objects, timeout: float) -> dict[tuple[str, str], IstiodAnswer]:
    """The answers that arrive in time. The threads are daemons: one that hangs in a handshake must not keep the module from ending."""
    deadline = time.monotonic() + timeout
    waiting: queue.SimpleQueue[Object] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[tuple[str, str], IstiodAnswer]] = queue.SimpleQueue()
    for pod in pods:
        waiting.put(pod)

    def work() -> None:
        while True:
            try:
                pod = waiting.get_nowait()
            except queue.Empty:
                return
            done.put((_key(pod), _ask(cluster, pod, timeout)))

    for _number in range(min(AT_ONCE, len(pods))):
        threading.Thread(target=work, daemon=True).start()
    answers: dict[tuple[str, str], IstiodAnswer] = {}
    while len(answers) < len(pods):
        try:
            key, answer = done.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            break
        answers[key] = answer
    return answers


def _ask(cluster: Cluster, pod: Object, timeout: float) -> IstiodAnswer:
    if not is_ready(pod):
        return _answer(pod, error="it is not ready, so it was not asked")
    try:
        forward = Forward(cluster, *_key(pod), MONITORING_PORT)
    except NoForward as error:
        return _answer(pod, error=str(error))
    try:
        return _answer(pod, proxies=_proxies(forward.socket, timeout))
    except (OSError, http.client.HTTPException, ValueError) as error:
        return _answer(pod, error=f"GET {SYNCZ} on port {MONITORING_PORT} failed: {forward.failure(error)}")
    finally:
        forward.close()


def _proxies(connected: Any, timeout: float) -> Objects:
    """The proxies that istiod lists; the body ends where its header says, because not every kubelet closes the connection.

    Raises:
        ValueError: an answer without a list of proxies.
    """
    connected.settimeout(timeout)
    connection = http.client.HTTPConnection("localhost", MONITORING_PORT)
    connection.sock = connected
    connection.request("GET", SYNCZ)
    response = connection.getresponse()
    if response.status == 404:
        raise ValueError("its debug interface is switched off (ENABLE_DEBUG_ON_HTTP)")
    if response.status != 200:
        raise ValueError(f"it answered {response.status}")
    if response.length is None and not response.chunked:
        raise ValueError("its answer does not say how long it is")
    listed = json.loads(response.read())
    if not isinstance(listed, list):
        raise ValueError("its answer is not a list of proxies")
    return listed


def _runs(pod: Object) -> bool:
    """Whether its process can hold connections: a pod that waits for a start or is over holds none."""
    return any("running" in (part.get("state") or {}) for part in pod["status"]["containerStatuses"])


def is_ready(pod: Object) -> bool:
    """Whether a pod counts as ready to serve."""
    return any(part["type"] == "Ready" and part["status"] == "True" for part in pod["status"].get("conditions") or ())


def _key(pod: Object) -> tuple[str, str]:
    return pod["metadata"]["namespace"], pod["metadata"]["name"]


def _answer(pod: Object, *, proxies: Objects | None = None, error: str = "") -> IstiodAnswer:
    labels = pod["metadata"].get("labels") or {}
    return IstiodAnswer(pod["metadata"]["name"], labels.get(REVISION_LABEL, DEFAULT), tuple(proxies or ()), error)
