# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import time
from typing import Any

from fake_api import FakeApi, port_forward

from ansible_collections.meshops.istio.plugins.module_utils.cluster.client import Cluster
from ansible_collections.meshops.istio.plugins.module_utils.cluster.istiods import ask_istiods
from ansible_collections.meshops.istio.plugins.module_utils.cluster.paths import PODS

PROXIES = [{"proxy": f"web-{number}.shop", "istio_version": "1.31"} for number in range(2000)]


def istiod(name: str, revision: str = "stable", *, ready: bool = True, state: str = "running") -> dict[str, Any]:
    return {
        "metadata": {"namespace": "istio-system", "name": name, "labels": {"app": "istiod", "istio.io/rev": revision}},
        "spec": {"containers": [{"name": "discovery"}]},
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": str(ready)}],
            "containerStatuses": [{"name": "discovery", "state": {state: {}}}],
        },
    }


def pods(api: FakeApi, *found: dict[str, Any]) -> None:
    api.on("GET", PODS(), body={"kind": "PodList", "items": list(found)})


def forward_path(name: str) -> str:
    return PODS("istio-system", name, "portforward")


def http_answer(body: Any, status: str = "200 OK", *, chunked: bool = False) -> bytes:
    content = json.dumps(body).encode()
    if chunked:
        return b"HTTP/1.1 %s\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (status.encode(), len(content), content)
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status.encode(), len(content), content)


def test_every_istiod_says_what_hangs_on_it(api: FakeApi, cluster: Cluster) -> None:
    pods(api, istiod("istiod-b", "canary"), istiod("istiod-a"))
    asked: list[bytes] = []

    def respond(request: bytes) -> bytes:
        asked.append(request)
        return http_answer(PROXIES)

    api.do("GET", forward_path("istiod-a"), port_forward(respond))
    api.do("GET", forward_path("istiod-b"), port_forward(lambda _request: http_answer([], chunked=True)))
    first, second = ask_istiods(cluster, timeout=5)

    assert (first.istiod, first.revision, first.error) == ("istiod-a", "stable", "")
    assert list(first.proxies) == PROXIES
    assert (second.istiod, second.revision, second.proxies, second.error) == ("istiod-b", "canary", (), "")
    assert asked[0].startswith(b"GET /debug/syncz HTTP/1.1")
    assert {request.query.get("ports") for request in api.requests[1:]} == {"15014"}


def test_the_client_still_works_after_a_port_forward(api: FakeApi, cluster: Cluster) -> None:
    pods(api, istiod("istiod-a"))
    api.do("GET", forward_path("istiod-a"), port_forward(lambda _request: http_answer([])))
    ask_istiods(cluster, timeout=5)

    assert len(cluster.list(PODS())) == 1


def test_an_istiod_that_is_not_ready_is_unknown(api: FakeApi, cluster: Cluster) -> None:
    pods(api, istiod("istiod-a", ready=False))

    (answer,) = ask_istiods(cluster, timeout=5)
    assert answer.error == "it is not ready, so it was not asked"


def test_an_istiod_that_does_not_run_holds_no_proxies(api: FakeApi, cluster: Cluster) -> None:
    pods(api, istiod("istiod-a", ready=False, state="waiting"), istiod("istiod-b", ready=False, state="terminated"))

    assert ask_istiods(cluster, timeout=5) == []


def test_an_istiod_that_hangs_is_unknown_in_time(api: FakeApi, cluster: Cluster) -> None:
    pods(api, istiod("istiod-a"), istiod("istiod-b"))
    api.do("GET", forward_path("istiod-a"), port_forward(lambda _request: b""))
    api.do("GET", forward_path("istiod-b"), lambda handler: handler.rfile.read(1))  # no handshake
    start = time.monotonic()
    answers = ask_istiods(cluster, timeout=0.5)

    assert time.monotonic() - start < 2
    assert all("timed out" in answer.error or "no answer within 0.5 s" in answer.error for answer in answers)
    assert len(answers) == 2


def test_half_an_answer_is_none(api: FakeApi, cluster: Cluster) -> None:
    pods(api, istiod("istiod-a"))
    api.do("GET", forward_path("istiod-a"), port_forward(lambda _request: http_answer(PROXIES)[:5000], close=True))

    (answer,) = ask_istiods(cluster, timeout=1)
    assert answer.error
    assert answer.proxies == ()


def test_a_missing_permission_is_named(api: FakeApi, cluster: Cluster) -> None:
    pods(api, istiod("istiod-a"))
    message = (
        'pods "istiod-a" is forbidden: User "ci" cannot create resource "pods/portforward" in API group "" in the namespace "istio-system"'
    )
    api.refuse("GET", forward_path("istiod-a"), 403, "Forbidden", message)

    (answer,) = ask_istiods(cluster, timeout=5)
    assert answer.error == (
        'cannot read portforward of Pod "istiod-a" in namespace "istio-system": user "ci" may not create pods/portforward in namespace '
        '"istio-system" (403). Grant the verb "create" on "pods/portforward" in namespace "istio-system", or use other credentials.'
    )


def test_a_kubelet_that_cannot_connect_is_quoted(api: FakeApi, cluster: Cluster) -> None:
    pods(api, istiod("istiod-a"))
    api.do("GET", forward_path("istiod-a"), port_forward(lambda _request: b"", error="connection refused inside the pod"))

    (answer,) = ask_istiods(cluster, timeout=5)
    assert answer.error == "GET /debug/syncz on port 15014 failed: connection refused inside the pod"


def test_a_debug_interface_that_is_off(api: FakeApi, cluster: Cluster) -> None:
    pods(api, istiod("istiod-a"))
    api.do("GET", forward_path("istiod-a"), port_forward(lambda _request: http_answer("", "404 Not Found")))

    (answer,) = ask_istiods(cluster, timeout=5)
    assert "ENABLE_DEBUG_ON_HTTP" in answer.error
