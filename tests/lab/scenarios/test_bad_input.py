# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bad input gets one readable sentence, and nothing is changed."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import collection
import pytest
from world import Mesh, Namespace, secrets_of

UPGRADE = {"from_revision": "stable", "to_revision": "canary"}
ISTIOCTL = {"method": "istioctl", "istioctl": "istioctl-new"}

BAD_INPUT: list[tuple[str, str, dict[str, Any], str]] = [
    ("a tag for an unknown revision", "istio_tag", {"name": "prod", "revision": "nope"}, 'revision "nope" does not exist'),
    ("a label for an unknown revision", "ns_revision_label", {"namespaces": ["shop"], "to": "nope"}, '"nope" is no revision and no tag'),
    ("proxies of an unknown revision", "proxy_status", {"revision": "nope", "wait_timeout": 0}, 'revision "nope" does not exist'),
    ("a restart for an unknown revision", "workload_restart", {"revision": "nope"}, 'revision "nope" does not exist'),
    ("an upgrade from an unknown revision", "upgrade_journal", {**UPGRADE, "from_revision": "nope"}, 'revision "nope" does not exist'),
    ("a revision like an unknown one", "istio_revision", {"revision": "stable", "like": "nope"}, 'revision "nope" does not exist'),
    ("an unknown tag", "upgrade_journal", {**UPGRADE, "tags": ["nope"]}, 'tag "nope" does not exist'),
    (
        "a label on an unknown namespace",
        "ns_revision_label",
        {"namespaces": ["nowhere"], "to": "stable"},
        "namespace nowhere does not exist",
    ),
    ("a restart in an unknown namespace", "workload_restart", {"namespaces": ["nowhere"]}, "namespace nowhere does not exist"),
    ("proxies of an unknown namespace", "proxy_status", {"namespaces": ["nowhere"], "wait_timeout": 0}, "namespace nowhere does not exist"),
    ("an unknown canary namespace", "upgrade_journal", {**UPGRADE, "canary_namespaces": "nowhere"}, "namespace nowhere does not exist"),
    ("a revision that is no DNS label", "istio_revision", {"revision": "1.31", **ISTIOCTL}, '"1.31" cannot be a revision'),
    ("a removal of what is no DNS label", "istio_revision", {"revision": "Old_One", "state": "absent"}, '"Old_One" cannot be a revision'),
    ("an upgrade to what is no DNS label", "upgrade_journal", {**UPGRADE, "to_revision": "1.31"}, '"1.31" cannot be a revision'),
    ("a tag that is no DNS label", "istio_tag", {"name": "Prod Mesh", "revision": "stable"}, '"Prod Mesh" cannot be the name of a tag'),
    ("a tag named like a revision", "istio_tag", {"name": "canary", "revision": "stable"}, '"canary" cannot be a tag'),
    ("a revision named like a tag", "istio_revision", {"revision": "prod", **ISTIOCTL}, '"prod" is a tag'),
    ("a tag of a tag", "istio_tag", {"name": "staging", "revision": "prod"}, '"prod" is itself a tag'),
    ("a tag that somebody moved", "istio_tag", {"name": "prod", "revision": "canary", "expect_revision": "next"}, 'points at "stable"'),
    ("a revision that never appears", "istio_revision", {"revision": "next", "wait_timeout": 1}, 'revision "next" has not appeared'),
    ("no istioctl", "istio_revision", {"revision": "next", "method": "istioctl", "istioctl": "/nowhere/istioctl"}, "/nowhere/istioctl"),
    (
        "a specification that istioctl refuses",
        "istio_revision",
        {"revision": "next", **ISTIOCTL, "operator_spec": {"profile": "no-such-profile"}},
        "no-such-profile",
    ),
    ("a specification for nobody", "istio_revision", {"revision": "next", "operator_spec": {"profile": "minimal"}}, "contradicts"),
    (
        "namespaces by name and by selector",
        "ns_revision_label",
        {"namespaces": ["shop"], "label_selectors": ["a=b"], "to": "stable"},
        "mutually exclusive",
    ),
    ("labels to set and to restore", "ns_revision_label", {"restore": {}, "to": "stable"}, "mutually exclusive"),
    ("a tag that points nowhere", "istio_tag", {"name": "prod"}, "revision"),
    ("waves that do not grow", "upgrade_journal", {**UPGRADE, "waves": [50, 25, 100]}, "growing percentages"),
    ("an upgrade to itself", "upgrade_journal", {**UPGRADE, "to_revision": "stable"}, "two revisions"),
    ("a journal that is not there", "upgrade_journal", {"record": {"stage": "canary"}}, "no upgrade is under way"),
    ("a kubeconfig that is not there", "mesh_info", {"kubeconfig": "/nowhere/config"}, "Looked at: kubeconfig"),
    ("an unknown context", "mesh_info", {"context": "nowhere"}, "nowhere"),
]


@pytest.fixture(scope="module", autouse=True)
def shop(mesh: Mesh) -> Namespace:
    mesh.revisions("stable", "canary")
    mesh.tag("prod", "stable")
    return mesh.namespace("shop", {"istio.io/rev": "prod"}, ["web"])


@pytest.fixture(scope="module")
def reader(mesh: Mesh) -> str:
    """A kubeconfig that may read everything and change nothing."""
    return mesh.user("reader", {"apiGroups": [""], "resources": ["pods/portforward", "pods"], "verbs": ["create"]})


@pytest.mark.parametrize(("module", "params", "expected"), [case[1:] for case in BAD_INPUT], ids=[case[0] for case in BAD_INPUT])
def test_bad_input_gets_one_sentence_and_nothing_is_changed(mesh: Mesh, module: str, params: dict[str, Any], expected: str) -> None:
    with mesh.unchanged():
        said = mesh.refusal(module, **params)

    assert expected in said
    assert_readable(said)


def test_an_api_server_that_does_not_answer_is_named(mesh: Mesh) -> None:
    said = mesh.refusal("mesh_info", host="https://127.0.0.1:1", api_key="none-of-your-business", environment={"KUBECONFIG": ""})

    assert "https://127.0.0.1:1" in said
    assert "connection refused" in said
    assert_readable(said)


@pytest.mark.parametrize(
    ("module", "params", "verb", "resource", "namespace"),
    [
        ("ns_revision_label", {"namespaces": ["shop"], "to": "canary"}, "patch", "namespaces", "shop"),
        ("istio_tag", {"name": "prod", "revision": "canary"}, "update", "mutatingwebhookconfigurations", ""),
        ("workload_restart", {"namespaces": ["shop"]}, "patch", "deployments", "shop"),
        ("upgrade_journal", UPGRADE, "create", "configmaps", "istio-system"),
        ("istio_revision", {"revision": "canary", "state": "absent"}, "delete", "mutatingwebhookconfigurations", ""),
    ],
)
def test_a_missing_permission_names_verb_resource_and_namespace(
    mesh: Mesh, shop: Namespace, reader: str, module: str, params: dict[str, Any], verb: str, resource: str, namespace: str
) -> None:
    if module == "workload_restart":
        shop.label("istio.io/rev=canary")
    with mesh.unchanged():
        said = mesh.refusal(module, kubeconfig=reader, **params)
    shop.label("istio.io/rev=prod")

    assert f'"{verb}"' in said
    assert f'"{resource}"' in said
    assert (f' in namespace "{namespace}"' in said) if namespace else (" in namespace " not in said)
    assert_readable(said)


def test_nothing_prints_a_token_or_key(mesh: Mesh, reader: str, tmp_path: Path) -> None:
    secrets = list(secrets_of(reader))
    config = json.loads(Path(reader).read_text())
    cluster, token = config["clusters"][0]["cluster"], config["users"][0]["user"]["token"]
    authority = tmp_path / "ca.crt"
    authority.write_text(base64.b64decode(cluster["certificate-authority-data"]).decode())
    by_option = {"host": cluster["server"], "api_key": token, "ca_cert": str(authority)}
    assert secrets

    for name, params in (
        ("mesh_info", {"kubeconfig": reader}),
        ("mesh_info", by_option),
        ("proxy_status", {**by_option, "wait_timeout": 0}),
        ("ns_revision_label", {**by_option, "namespaces": ["shop"], "to": "canary"}),
        ("istio_revision", {**by_option, "revision": "next", **ISTIOCTL, "operator_spec": {"profile": "minimal"}}),
        ("mesh_info", {**by_option, "api_key": token + "x"}),
    ):
        printed = json.dumps(collection.module(name, params, diff=True))
        assert not [secret for secret in secrets if secret in printed], name

    play = mesh.playbook(
        "canary_upgrade", mesh_from="stable", mesh_to="canary", mesh_host=cluster["server"], mesh_api_key=token, mesh_ca_cert=str(authority)
    )
    assert play.failed == 1
    assert not [secret for secret in secrets if secret in play.output]


def test_the_playbook_refuses_what_makes_no_sense_before_it_changes_anything(mesh: Mesh) -> None:
    for wrong, expected in (
        ({"mesh_from": "stable", "mesh_to": "stable"}, "two different revisions"),
        ({"mesh_from": "nope", "mesh_to": "canary"}, 'revision "nope" does not exist'),
        ({"mesh_from": "stable", "mesh_to": "canary", "mesh_operator_spec": {"profile": "minimal"}}, "mesh_install_method"),
    ):
        with mesh.unchanged():
            play = mesh.playbook("canary_upgrade", **wrong)
        assert (play.changed, play.failed) == (0, 1), play.output
        assert expected in " ".join(play.output.split())


def assert_readable(said: str) -> None:
    """One line for people, not a dump."""
    assert "\n" not in said.strip()
    assert len(said) < 700
    assert not [mark for mark in ("Traceback", "HTTPHeaderDict", "{'", '{"') if mark in said]
