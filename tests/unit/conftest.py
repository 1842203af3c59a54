# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""A cluster that is only told: its API server answers as a test says."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from fake_api import TOKEN, Clock, FakeApi, Handler
from kubernetes.client import Configuration

from ansible_collections.meshops.istio.plugins.module_utils.cluster.client import Cluster


@pytest.fixture
def api() -> Iterator[FakeApi]:
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.api = FakeApi(url=f"http://127.0.0.1:{server.server_port}")
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield server.api
    server.shutdown()
    server.server_close()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No kubeconfig, variable or proxy of whoever runs the tests."""
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(Configuration, "_default", None)  # a kubeconfig that was loaded becomes the default of the whole process


@pytest.fixture
def cluster(api: FakeApi, clock: Clock) -> Cluster:
    """A cluster that waits in no time."""
    cluster = Cluster.from_params({"host": api.url, "api_key": TOKEN})
    return Cluster(cluster.api_client, clock=clock, sleep=clock.sleep)
