# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from mesh_objects import World, pod

from ansible_collections.meshops.istio.plugins.module_utils.mesh.proxy import newest_with_proxy, proxy_differences, proxy_facts
from ansible_collections.meshops.istio.plugins.module_utils.mesh.refusal import Refusal
from ansible_collections.meshops.istio.plugins.module_utils.mesh.rendering import Endpoint, endpoint_of, pod_after, pod_from, review_of
from ansible_collections.meshops.istio.plugins.module_utils.mesh.selectors import Selector

PROXY = {
    "name": "istio-proxy",
    "image": "registry.example:5000/istio/proxyv2:1.31.0-distroless@sha256:abc",
    "env": [{"name": "PROXY_CONFIG", "value": '{"discoveryAddress":"istiod-canary.istio-system.svc:15012"}\n'}],
    "resources": {"requests": {"cpu": "100m"}},
}


def with_proxy(place: str = "initContainers", **changed: Any) -> dict[str, Any]:
    found = pod("shop", "web", "canary")
    found["spec"] = {"containers": [{"name": "app"}], place: [{**PROXY, **changed}]}
    return found


def test_the_facts_of_a_proxy_are_those_that_an_upgrade_changes() -> None:
    assert proxy_facts(with_proxy()) == {
        "revision": "canary",
        "proxy_image": PROXY["image"],
        "proxy_version": "1.31.0-distroless",
        "discovery_address": "istiod-canary.istio-system.svc:15012",
        "resources": {"requests": {"cpu": "100m"}},
        "native_sidecar": True,
    }
    assert proxy_facts(pod("shop", "web", None)) is None


@pytest.mark.parametrize(
    ("changed", "field", "value"),
    [
        ({"env": []}, "discovery_address", "istiod.istio-system.svc:15012"),  # istiod leaves out what is usual
        ({"env": [{"name": "PROXY_CONFIG", "value": "{}"}]}, "discovery_address", "istiod.istio-system.svc:15012"),
        ({"env": [{"name": "PROXY_CONFIG", "value": "not json"}]}, "discovery_address", "istiod.istio-system.svc:15012"),
        ({"env": [{"name": "PROXY_CONFIG", "value": "[]"}]}, "discovery_address", "istiod.istio-system.svc:15012"),
        ({"image": "proxyv2@sha256:abc"}, "proxy_version", None),
        ({"image": "registry.example:5000/proxyv2"}, "proxy_version", None),
        ({"resources": None}, "resources", {}),
    ],
)
def test_what_a_proxy_does_not_say_is_what_is_usual(changed: dict[str, Any], field: str, value: Any) -> None:
    facts = proxy_facts(with_proxy("containers", **changed))

    assert facts is not None
    assert (facts[field], facts["native_sidecar"]) == (value, False)


def test_two_proxies_differ_field_by_field() -> None:
    now, then = proxy_facts(with_proxy()), proxy_facts(with_proxy("containers"))

    assert proxy_differences(now, then) == [{"field": "native_sidecar", "now": True, "then": False}]
    assert proxy_differences(now, None) == [{"field": "revision", "now": "canary", "then": None}]
    assert proxy_differences(None, then) == [{"field": "revision", "now": None, "then": "canary"}]
    assert proxy_differences(None, None) == proxy_differences(now, now) == []


def test_the_newest_pod_of_a_workload_that_stays_speaks_for_it() -> None:
    def born(name: str, when: str, **options: Any) -> dict[str, Any]:
        found = pod("shop", name, "stable", labels={"app": "web"}, **options)
        found["metadata"]["creationTimestamp"] = when
        return found

    pods = [
        born("old", "2026-11-30T10:00:00Z"),
        born("new", "2026-11-30T11:00:00Z"),
        born("leaving", "2026-11-30T12:00:00Z", terminating=True),
        pod("shop", "bare", None, labels={"app": "web"}),
        pod("shop", "other", "stable", labels={"app": "db"}),
    ]
    found = newest_with_proxy(pods, Selector.parse({"matchLabels": {"app": "web"}}))

    assert found is not None
    assert found["metadata"]["name"] == "new"
    assert newest_with_proxy([], Selector()) is None


def test_an_istiod_is_asked_where_its_own_injector_asks_it() -> None:
    world = World("stable", "canary").tag("prod", "canary")
    world.find("services", "istiod-canary")["spec"]["ports"][0]["targetPort"] = 25017

    assert endpoint_of(world.mesh(), "canary") == Endpoint(
        revision="canary",
        namespace="istio-system",
        port=25017,
        path="/inject",
        server_name="istiod-canary.istio-system.svc",
        ca_bundle="CA",
    )


@pytest.mark.parametrize(
    ("client", "why"),
    [
        (None, "it has no injector"),
        ({"url": "https://istiod.example/inject"}, "its istiod is outside this cluster"),
        ({"service": {"namespace": "istio-system", "name": "istiod-canary"}}, "its injector has no caBundle"),
        ({"service": {"namespace": "istio-system", "name": "istiod-canary"}, "caBundle": "???"}, "its injector has no caBundle"),
    ],
)
def test_an_istiod_that_cannot_be_asked_is_refused(client: dict[str, Any] | None, why: str) -> None:
    world = World("canary")
    for entry in world.raw["mutating"][0]["webhooks"]:
        entry["clientConfig"] = client
    if client is None:
        world.raw["mutating"].clear()

    with pytest.raises(Refusal, match=why):
        endpoint_of(world.mesh(), "canary")


def test_a_pod_is_made_of_a_template_as_a_controller_does() -> None:
    template = {"metadata": {"labels": {"app": "web"}, "creationTimestamp": None}, "spec": {"hostNetwork": True}}

    assert pod_from(template, "shop", "web") == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"labels": {"app": "web"}, "generateName": "web-", "namespace": "shop"},
        "spec": {"containers": [{"name": "app", "image": "app"}], "hostNetwork": True},
    }
    assert review_of(pod_from({}, "shop", "web"))["request"]["dryRun"] is True


def test_an_answer_is_a_patch_or_nothing_to_do() -> None:
    born = pod_from({}, "shop", "web")
    patch = base64.b64encode(json.dumps([{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}]).encode()).decode()

    assert pod_after(born, {"response": {"allowed": True}}) == born
    assert pod_after(born, {"response": {"allowed": True, "patch": patch}})["metadata"]["labels"] == {"a": "b"}


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({}, "no admission review"),
        ({"response": {"status": {"message": "bad template"}}}, "bad template"),
        ({"response": {}}, "it refuses the pod"),
    ],
)
def test_a_refusal_is_an_error_with_the_words_of_istiod(answer: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        pod_after(pod_from({}, "shop", "web"), answer)
