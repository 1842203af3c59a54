# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from fake_api import TOKEN, FakeApi

from ansible_collections.meshops.istio.plugins.module_utils.cluster.client import Cluster
from ansible_collections.meshops.istio.plugins.module_utils.cluster.connection import IMPORT_ERRORS, auth_options
from ansible_collections.meshops.istio.plugins.module_utils.cluster.errors import ClusterError

KUBECONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "a",
    "clusters": [{"name": "a", "cluster": {"server": "http://a.example"}}, {"name": "b", "cluster": {"server": "http://b.example"}}],
    "users": [{"name": "me", "user": {"token": TOKEN}}],
    "contexts": [{"name": name, "context": {"cluster": name, "user": "me"}} for name in ("a", "b")],
}


@pytest.fixture
def kubeconfig(tmp_path: Path) -> str:
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(KUBECONFIG))
    return str(path)


def test_what_kubernetes_core_offers_is_there() -> None:
    assert not IMPORT_ERRORS
    assert auth_options()["api_key"]["no_log"] is True


def test_a_kubeconfig_and_one_of_its_contexts(kubeconfig: str) -> None:
    assert Cluster.from_params({"kubeconfig": kubeconfig}).host == "http://a.example"
    assert Cluster.from_params({"kubeconfig": kubeconfig, "context": "b"}).host == "http://b.example"


def test_a_kubeconfig_as_data() -> None:
    assert Cluster.from_params({"kubeconfig": KUBECONFIG}).host == "http://a.example"


def test_the_four_variables_of_an_awx_credential(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"HOST": api.url, "API_KEY": TOKEN, "VERIFY_SSL": "False"}.items():
        monkeypatch.setenv(f"K8S_AUTH_{name}", value)
    Cluster.from_params({}).get("/version")

    assert api.requests[0].headers["authorization"] == f"Bearer {TOKEN}"


def test_an_option_wins_over_the_environment(kubeconfig: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("K8S_AUTH_CONTEXT", "b")

    assert Cluster.from_params({"kubeconfig": kubeconfig, "context": "a"}).host == "http://a.example"


def test_a_kubeconfig_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match=r"cannot connect to a cluster: .*Looked at: kubeconfig\. Set kubeconfig and context"):
        Cluster.from_params({"kubeconfig": str(tmp_path / "nowhere")})


def test_a_context_that_is_not_there(kubeconfig: str) -> None:
    with pytest.raises(ClusterError, match=r"cannot connect to a cluster: .*prod"):
        Cluster.from_params({"kubeconfig": kubeconfig, "context": "prod"})


def test_a_kubeconfig_as_data_is_not_shown() -> None:
    with pytest.raises(ClusterError, match=r"Looked at: context, kubeconfig\.") as caught:
        Cluster.from_params({"kubeconfig": KUBECONFIG, "context": "prod"})
    assert TOKEN not in str(caught.value)


def test_nothing_given_at_all() -> None:
    with pytest.raises(ClusterError, match="Looked at: no option"):
        Cluster.from_params({})


def test_a_broken_kubeconfig_is_not_quoted(tmp_path: Path) -> None:
    path = tmp_path / "broken"
    path.write_text(f"users: [{{token: {TOKEN}, ]")

    with pytest.raises(ClusterError, match="cannot be read") as caught:
        Cluster.from_params({"kubeconfig": str(path)})
    assert TOKEN not in str(caught.value)
