# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

import pytest
from fake_api import TOKEN, Clock, FakeApi, hang_up

from ansible_collections.meshops.istio.plugins.module_utils.cluster.client import Cluster
from ansible_collections.meshops.istio.plugins.module_utils.cluster.errors import ClusterError, Conflict, Missing
from ansible_collections.meshops.istio.plugins.module_utils.cluster.paths import DEPLOYMENTS, NAMESPACES, PODS

WEB = DEPLOYMENTS("shop", "web")


def page(*names: str, token: str = "") -> dict[str, Any]:
    return {
        "kind": "PodList",
        "apiVersion": "v1",
        "metadata": {"continue": token},
        "items": [{"metadata": {"name": name}} for name in names],
    }


def names(found: list[dict[str, Any]]) -> list[str]:
    return [item["metadata"]["name"] for item in found]


def test_a_request_carries_the_token_and_asks_for_json(api: FakeApi, cluster: Cluster) -> None:
    api.on("GET", WEB, body={"kind": "Deployment"})

    assert cluster.get(WEB) == {"kind": "Deployment"}
    assert api.requests[0].headers["authorization"] == f"Bearer {TOKEN}"
    assert api.requests[0].headers["Accept"] == "application/json"


def test_nothing_but_the_request_is_sent(api: FakeApi, cluster: Cluster) -> None:
    cluster.get(WEB)

    assert [request.path for request in api.requests] == [WEB]


def test_impersonation_is_a_header_for_every_group(api: FakeApi) -> None:
    seen: list[Any] = []

    def remember(handler: Any) -> None:
        seen.extend(handler.headers.get_all("Impersonate-Group") + handler.headers.get_all("Impersonate-User"))
        handler.answer(200, {})

    api.do("GET", WEB, remember)
    Cluster.from_params({"host": api.url, "api_key": TOKEN, "impersonate_user": "ci", "impersonate_groups": ["a", "b"]}).get(WEB)

    assert seen == ["a", "b", "ci"]


def test_an_object_that_does_not_exist_is_none(api: FakeApi, cluster: Cluster) -> None:
    api.refuse("GET", WEB, 404, "NotFound", 'deployments.apps "web" not found')

    assert cluster.get(WEB) is None


def test_a_list_is_read_page_by_page(api: FakeApi, cluster: Cluster) -> None:
    api.on("GET", PODS(), body=page("a", "b", token="next/=")).on("GET", PODS(), body=page("c"))

    found = cluster.list(PODS(), label_selector="app in (a, b)", field_selector="status.phase=Running")

    assert names(found) == ["a", "b", "c"]
    assert api.queries("continue") == [None, "next/="]
    assert api.queries("limit") == ["500", "500"]
    assert api.queries("labelSelector") == ["app in (a, b)"] * 2
    assert api.queries("fieldSelector") == ["status.phase=Running"] * 2


def test_the_items_of_a_list_know_their_kind(api: FakeApi, cluster: Cluster) -> None:
    api.on("GET", DEPLOYMENTS(), body={**page("web"), "kind": "PartialObjectMetadataList"})

    assert cluster.list(DEPLOYMENTS(), metadata_only=True)[0] == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
    }
    assert "as=PartialObjectMetadataList" in api.requests[0].headers["Accept"]


def test_a_list_that_expires_starts_over_and_counts_nothing_twice(api: FakeApi, cluster: Cluster) -> None:
    api.on("GET", PODS(), body=page("a", "b", token="old")).refuse("GET", PODS(), 410, "Expired", "too old")
    api.on("GET", PODS(), body=page("a", token="new")).on("GET", PODS(), body=page("c"))

    assert names(cluster.list(PODS())) == ["a", "c"]


def test_a_list_that_keeps_expiring_is_read_in_one_piece(api: FakeApi, cluster: Cluster) -> None:
    for _round in range(2):
        api.on("GET", PODS(), body=page("a", token="old")).refuse("GET", PODS(), 410, "Expired", "too old")
    api.on("GET", PODS(), body=page("a", "b", "c"))

    assert names(cluster.list(PODS())) == ["a", "b", "c"]
    assert api.queries("limit")[-1] is None


def test_a_list_of_a_kind_nobody_has_is_missing(api: FakeApi, cluster: Cluster) -> None:
    api.refuse("GET", "/apis/argoproj.io/v1alpha1/rollouts", 404, "NotFound", "the server could not find the requested resource")

    with pytest.raises(Missing, match="cannot read rollouts"):
        cluster.list("/apis/argoproj.io/v1alpha1/rollouts")


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_a_read_is_repeated_until_the_server_can(api: FakeApi, cluster: Cluster, clock: Clock, status: int) -> None:
    api.refuse("GET", WEB, status, "", "busy").refuse("GET", WEB, status, "", "busy").on("GET", WEB, body={"kind": "Deployment"})

    assert cluster.get(WEB) == {"kind": "Deployment"}
    assert clock.slept == [0.25, 0.5]


def test_a_broken_connection_is_repeated(api: FakeApi, cluster: Cluster) -> None:
    api.do("PATCH", WEB, hang_up).on("PATCH", WEB, body={"kind": "Deployment"})

    assert cluster.merge_patch(WEB, {}) == {"kind": "Deployment"}
    assert len(api.requests) == 2


def test_the_server_says_how_long_to_wait(api: FakeApi, cluster: Cluster, clock: Clock) -> None:
    api.refuse("GET", WEB, 429, "TooManyRequests", "busy", Retry_After="7").on("GET", WEB)
    cluster.get(WEB)

    assert clock.slept == [7.0]


def test_repeating_ends_with_the_time(api: FakeApi, cluster: Cluster, clock: Clock) -> None:
    api.refuse("GET", WEB, 503, "ServiceUnavailable", "etcd is away")

    with pytest.raises(ClusterError, match="etcd is away"):
        cluster.get(WEB)
    assert 50 < clock.now <= 60


def test_a_server_that_never_answered_is_given_up_sooner(clock: Clock) -> None:
    nowhere = Cluster(Cluster.from_params({"host": "http://127.0.0.1:1", "api_key": TOKEN}).api_client, clock=clock, sleep=clock.sleep)

    with pytest.raises(ClusterError, match="connection refused"):
        nowhere.get(WEB)
    assert 2 < clock.now <= 5


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_create_that_may_have_arrived_is_not_repeated(api: FakeApi, cluster: Cluster, status: int) -> None:
    api.refuse("POST", PODS("shop"), status, "", "who knows")

    with pytest.raises(ClusterError):
        cluster.create(PODS("shop"), {})
    assert len(api.requests) == 1


def test_a_create_that_was_turned_away_is_repeated(api: FakeApi, cluster: Cluster) -> None:
    api.refuse("POST", PODS("shop"), 429, "TooManyRequests", "busy").on("POST", PODS("shop"), 201, {"kind": "Pod"})

    assert cluster.create(PODS("shop"), {}) == {"kind": "Pod"}


def test_a_create_after_a_broken_connection_is_not_repeated(api: FakeApi, cluster: Cluster) -> None:
    api.do("POST", PODS("shop"), hang_up)

    with pytest.raises(ClusterError, match="closed the connection"):
        cluster.create(PODS("shop"), {})
    assert len(api.requests) == 1


def test_a_webhook_that_fails_a_change_is_not_called_again(api: FakeApi, cluster: Cluster) -> None:
    api.refuse("PATCH", WEB, 500, "InternalError", 'failed calling webhook "x": no endpoints')

    with pytest.raises(ClusterError, match='failed calling webhook "x"'):
        cluster.merge_patch(WEB, {})
    assert len(api.requests) == 1


def test_every_write_names_its_manager(api: FakeApi, cluster: Cluster) -> None:
    for method, path in (("POST", PODS("shop")), ("PUT", WEB), ("PATCH", WEB)):
        api.on(method, path)
    cluster.create(PODS("shop"), {"a": 1})
    cluster.replace(WEB, {"a": 1})
    cluster.merge_patch(WEB, {"a": None})
    cluster.apply(WEB, {"a": 1})

    assert api.queries("fieldManager") == ["meshops.istio"] * 4
    assert api.queries("dryRun") == [None] * 4


def test_a_merge_patch_removes_with_null(api: FakeApi, cluster: Cluster) -> None:
    api.on("PATCH", NAMESPACES(name="shop"))
    cluster.merge_patch(NAMESPACES(name="shop"), {"metadata": {"labels": {"istio-injection": None}}}, dry_run=True)

    assert api.requests[0].body == {"metadata": {"labels": {"istio-injection": None}}}
    assert api.requests[0].headers["Content-Type"] == "application/merge-patch+json"
    assert api.queries("dryRun") == ["All"]


def test_server_side_apply(api: FakeApi, cluster: Cluster) -> None:
    api.on("PATCH", WEB)
    cluster.apply(WEB, {"kind": "Deployment"}, field_manager="somebody", force=True, dry_run=True)

    request = api.requests[0]
    assert request.headers["Content-Type"] == "application/apply-patch+yaml"
    assert request.body == {"kind": "Deployment"}
    assert request.query == {"fieldManager": "somebody", "force": "true", "dryRun": "All"}


def test_a_field_of_somebody_else_is_a_conflict(api: FakeApi, cluster: Cluster) -> None:
    api.refuse("PATCH", WEB, 409, "Conflict", 'Apply failed with 1 conflict: conflict with "helm": .spec.replicas')

    with pytest.raises(Conflict, match='conflict with "helm"'):
        cluster.apply(WEB, {})


def test_a_delete_can_insist_on_the_very_object(api: FakeApi, cluster: Cluster) -> None:
    api.on("DELETE", WEB)

    assert cluster.delete(WEB, uid="u-1", resource_version="7", dry_run=True) is True
    assert api.requests[0].body["preconditions"] == {"uid": "u-1", "resourceVersion": "7"}
    assert api.requests[0].body["dryRun"] == ["All"]
    assert api.requests[0].body["propagationPolicy"] == "Background"


def test_deleting_nothing_is_fine(cluster: Cluster) -> None:
    assert cluster.delete(WEB) is False


def test_a_server_that_is_slow_is_given_up(api: FakeApi) -> None:
    patient = Cluster.from_params({"host": api.url, "api_key": TOKEN})
    hasty = Cluster(patient.api_client, retry_seconds=0, timeout=(1, 0.2))
    api.do("GET", WEB, lambda handler: handler.rfile.read(1))

    with pytest.raises(ClusterError, match="timed out"):
        hasty.get(WEB)
