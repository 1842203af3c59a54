# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import ssl
import subprocess
import threading
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from fake_api import TOKEN, FakeApi, Handler

from ansible_collections.meshops.istio.plugins.module_utils.cluster.client import Cluster
from ansible_collections.meshops.istio.plugins.module_utils.cluster.errors import ClusterError, Forbidden, refused, without_credentials
from ansible_collections.meshops.istio.plugins.module_utils.cluster.paths import DEPLOYMENTS, MUTATING_WEBHOOKS, NAMESPACES, PODS


def sentence(method: str, path: str, status: int, reason: str = "", message: str = "") -> str:
    return str(refused(method, path, status, json.dumps({"kind": "Status", "reason": reason, "message": message})))


def test_a_missing_permission_names_verb_resource_and_namespace() -> None:
    error = refused(
        "PATCH",
        DEPLOYMENTS("shop", "web"),
        403,
        json.dumps(
            {
                "reason": "Forbidden",
                "message": 'deployments.apps "web" is forbidden: User "ci" cannot patch resource "deployments" in API group "apps" '
                'in the namespace "shop"',
            }
        ),
    )

    assert isinstance(error, Forbidden)
    assert str(error) == (
        'cannot change Deployment "web" in namespace "shop": user "ci" may not patch deployments in namespace "shop" (403). '
        'Grant the verb "patch" on "deployments" in API group "apps" in namespace "shop", or use other credentials.'
    )


def test_a_missing_permission_on_the_whole_cluster() -> None:
    message = 'pods is forbidden: User "ci" cannot list resource "pods" in API group "" at the cluster scope'

    assert sentence("GET", PODS(), 403, "Forbidden", message) == (
        'cannot read pods: user "ci" may not list pods (403). Grant the verb "list" on "pods", or use other credentials.'
    )


def test_what_admission_forbids_is_not_a_missing_permission() -> None:
    error = refused("POST", PODS("shop"), 403, json.dumps({"message": 'pods "x" is forbidden: violates PodSecurity "restricted:latest"'}))

    assert not isinstance(error, Forbidden)
    assert 'violates PodSecurity "restricted:latest".' in str(error)


@pytest.mark.parametrize(
    ("status", "message", "expected"),
    [
        (401, "Unauthorized", "does not accept the credentials (401). Check token, certificate or kubeconfig context."),
        (404, 'namespaces "shop" not found', 'it does not exist (404). namespaces "shop" not found.'),
        (404, "", "the API server has no such kind (404)."),
        (409, "the object has been modified", "the object has been modified. Run again to work on its present state."),
        (422, "Namespace is invalid: metadata.labels: Invalid value", "finds it invalid (422). Namespace is invalid"),
        (429, "too many requests", "is overloaded (429). too many requests. Try again later."),
        (504, "", "timed out (504). the API server answered 504. Try again later."),
        (500, "etcdserver: leader changed", "answered 500. etcdserver: leader changed."),
    ],
)
def test_every_status_is_a_sentence(status: int, message: str, expected: str) -> None:
    found = sentence("PATCH", NAMESPACES(name="shop"), status, message=message)

    assert found.startswith('cannot change Namespace "shop": ')
    assert expected in found


def test_an_answer_of_a_proxy_that_is_no_json() -> None:
    error = refused("GET", MUTATING_WEBHOOKS(), 502, b"<html>Bad gateway</html>", "Bad Gateway")

    assert str(error) == "cannot read mutatingwebhookconfigurations: the API server answered 502. Bad Gateway."


def hasty(host: str, **params: Any) -> Cluster:
    return Cluster(Cluster.from_params({"host": host, "api_key": TOKEN, **params}).api_client, retry_seconds=0, timeout=(1, 1))


def test_a_server_that_is_not_there_is_named() -> None:
    with pytest.raises(ClusterError) as caught:
        hasty("http://127.0.0.1:1").get(PODS())

    assert str(caught.value) == (
        "cannot read pods: the API server at http://127.0.0.1:1 gives no answer (connection refused). "
        "Check host, proxy and network, and that the cluster is up."
    )
    assert caught.value.status is None
    assert caught.value.reason == "Unreachable"


def test_a_name_that_does_not_exist() -> None:
    with pytest.raises(ClusterError, match="its name does not resolve"):
        hasty("https://api.invalid").get(PODS())


def test_a_page_that_is_no_api_server(api: FakeApi) -> None:
    api.on("GET", PODS(), body=b"<html>Welcome</html>")

    with pytest.raises(ClusterError, match="not JSON; is this the URL of an API server"):
        hasty(api.url).get(PODS())


@pytest.fixture
def tls_api(tmp_path: Path) -> Any:
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost -days 2"
    subprocess.run([*command.split(), "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.api = FakeApi()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.handle_error = lambda *_args: None
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield f"https://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_certificate_that_nobody_trusts(tls_api: str) -> None:
    with pytest.raises(ClusterError, match=r"certificate is not trusted: self.signed certificate; see ca_cert"):
        hasty(tls_api, validate_certs=True).get(PODS())


@pytest.mark.filterwarnings("ignore:Unverified HTTPS")
def test_certificates_need_not_be_checked(tls_api: str) -> None:
    assert hasty(tls_api, validate_certs=False).get(PODS()) is None


def test_an_authority_that_is_not_there(tls_api: str) -> None:
    with pytest.raises(ClusterError, match=r"gives no answer .*no such file or directory"):
        hasty(tls_api, ca_cert="/nowhere/ca.crt").get(PODS())


def test_no_sentence_holds_the_token(api: FakeApi) -> None:
    api.refuse("GET", PODS(), 403, "Forbidden", "no")
    for host in (api.url, "http://127.0.0.1:1"):
        with pytest.raises(ClusterError) as caught:
            hasty(host).get(PODS())
        assert TOKEN not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://admin:secret@api.example:6443/k8s?token=x", "https://api.example:6443/k8s"),
        ("https://api.example", "https://api.example"),
        ("api.example:6443", "api.example:6443"),
    ],
)
def test_a_url_is_shown_without_credentials(url: str, shown: str) -> None:
    assert without_credentials(url) == shown
