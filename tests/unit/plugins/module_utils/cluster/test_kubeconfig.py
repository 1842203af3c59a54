# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.meshops.istio.plugins.module_utils.cluster.connection import connect
from ansible_collections.meshops.istio.plugins.module_utils.cluster.kubeconfig import kubeconfig_of

HOST = "https://mesh.example.test:6443"


def kubeconfig(**params: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Cluster and user of the kubeconfig for a connection with these options."""
    made = kubeconfig_of(connect({"host": HOST, **params}))
    return made["clusters"][0]["cluster"], made["users"][0]["user"]


def test_a_token_arrives_without_its_prefix_and_nothing_else_is_invented() -> None:
    cluster, user = kubeconfig(api_key="s3cret", validate_certs=True)

    assert cluster == {"server": HOST}
    assert user == {"token": "s3cret"}


def test_an_authority_is_named_only_while_certificates_are_checked() -> None:
    assert kubeconfig(api_key="x", ca_cert="/ca.crt")[0]["certificate-authority"] == "/ca.crt"
    assert kubeconfig(api_key="x", ca_cert="/ca.crt", validate_certs=False)[0] == {"server": HOST, "insecure-skip-tls-verify": True}


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"username": "ci", "password": "pw"}, {"username": "ci", "password": "pw"}),
        ({"client_cert": "/c.crt", "client_key": "/c.key"}, {"client-certificate": "/c.crt", "client-key": "/c.key"}),
    ],
)
def test_other_credentials_arrive_as_they_are(params: dict[str, Any], expected: dict[str, str]) -> None:
    assert kubeconfig(**params)[1] == expected


def test_the_impersonated_user_and_all_groups_arrive() -> None:
    _cluster, user = kubeconfig(api_key="x", impersonate_user="ann", impersonate_groups=["ops", "mesh"])

    assert user == {"token": "x", "as": "ann", "as-groups": ["ops", "mesh"]}


def test_a_proxy_is_handed_on() -> None:
    assert kubeconfig(api_key="x", proxy="http://proxy.example.test:3128")[0]["proxy-url"] == "http://proxy.example.test:3128"
