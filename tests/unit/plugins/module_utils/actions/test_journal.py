# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

import pytest
from memory_cluster import MemoryCluster
from mesh_objects import World, healthy_world, thing

from ansible_collections.meshops.istio.plugins.module_utils.actions import journal as actions
from ansible_collections.meshops.istio.plugins.module_utils.actions.journal import (
    Journal,
    begin,
    matching_namespaces,
    names_in,
    require,
    with_record,
)
from ansible_collections.meshops.istio.plugins.module_utils.cluster.errors import Conflict
from ansible_collections.meshops.istio.plugins.module_utils.mesh.refusal import Refusal
from ansible_collections.meshops.istio.plugins.module_utils.mesh.upgrade import Wishes

WISHES = Wishes("stable", "canary")
PATH = "/api/v1/namespaces/istio-system/configmaps/meshops-istio-upgrade"


@pytest.fixture(autouse=True)
def _noon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(actions, "now", lambda: "2026-11-30T12:00:00Z")


def read(cluster: MemoryCluster) -> Journal:
    return Journal.read(cluster, "istio-system")  # type: ignore[arg-type]


def began(cluster: MemoryCluster, before: dict[str, Any] | None = None, wishes: Wishes = WISHES) -> dict[str, Any]:
    return begin(cluster, "istio-system", before, wishes)  # type: ignore[arg-type]


def test_an_upgrade_begins_with_a_plan_that_is_kept_in_the_cluster() -> None:
    cluster = MemoryCluster(healthy_world())
    journal = read(cluster)
    assert journal.entry is None
    entry = began(cluster)
    journal.write(entry)

    assert read(cluster).entry == entry
    assert (entry["started_at"], entry["plan"]["namespaces"], entry["records"]) == ("2026-11-30T12:00:00Z", ["pay", "shop"], [])


def test_the_same_upgrade_continues_with_the_frozen_plan_though_the_mesh_and_the_wishes_have_changed() -> None:
    cluster = MemoryCluster(healthy_world())
    entry = began(cluster)

    assert began(MemoryCluster(World()), entry, Wishes("stable", "canary", waves=[50, 100])) is entry


def test_another_upgrade_is_refused_while_one_is_under_way() -> None:
    entry = began(MemoryCluster(healthy_world()))

    with pytest.raises(Refusal, match='an upgrade from "stable" to "canary" is under way since 2026-11-30T12:00:00Z'):
        began(MemoryCluster(healthy_world()), entry, Wishes("canary", "stable"))


def test_a_journal_that_must_exist_is_asked_for_by_name() -> None:
    with pytest.raises(Refusal, match="no upgrade is under way: ConfigMap meshops-istio-upgrade does not exist"):
        require(None)


def test_a_record_is_added_once() -> None:
    entry = began(MemoryCluster(healthy_world()))
    once = with_record(entry, {"stage": "canary", "workloads": ["a"]})
    other = with_record(once, {"stage": "canary", "workloads": ["b"]})

    assert once["records"] == [{"stage": "canary", "workloads": ["a"], "at": "2026-11-30T12:00:00Z"}]
    assert with_record(once, {"stage": "canary", "workloads": ["a"]}) is once
    assert [record["workloads"] for record in other["records"]] == [["a"], ["b"]]
    assert entry["records"] == [], "the entry that was read stays as it was"


def test_two_runs_cannot_both_write() -> None:
    cluster = MemoryCluster(healthy_world())
    entry = began(cluster)
    first, second = read(cluster), read(cluster)
    first.write(entry)
    with pytest.raises(Conflict):
        second.write(entry)

    first, second = read(cluster), read(cluster)
    first.write(with_record(entry, {"stage": "canary"}))
    with pytest.raises(Conflict):
        second.write(entry)
    with pytest.raises(Conflict):
        second.remove()
    first.write(with_record(entry, {"stage": "promote"}))
    first.remove()
    assert PATH not in cluster.objects


@pytest.mark.parametrize("data", [{}, {"journal.json": "half a jour"}])
def test_a_config_map_that_is_no_journal_is_a_sentence_and_not_a_traceback(data: dict[str, str]) -> None:
    cluster = MemoryCluster()
    cluster.put(thing("v1", "ConfigMap", "meshops-istio-upgrade", "istio-system", data=data))

    with pytest.raises(Refusal, match="ConfigMap istio-system/meshops-istio-upgrade is not a journal any more"):
        read(cluster)


@pytest.mark.parametrize(
    ("chosen", "names"),
    [
        (None, []),
        ("", []),
        ([], []),
        (["shop", "pay"], ["shop", "pay"]),
        ("shop", ["shop"]),
        (" shop, pay ,", ["shop", "pay"]),
        ("istio.io/rev=canary", ["lab"]),
        ("kubernetes.io/metadata.name=pay", ["pay"]),
        ("istio.io/rev=ghost", []),
    ],
)
def test_namespaces_are_chosen_by_list_by_string_or_by_selector(chosen: Any, names: list[str]) -> None:
    assert matching_namespaces(MemoryCluster(healthy_world()), chosen) == names  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("chosen", "names"), [(["prod", " batch"], ["prod", "batch"]), (["", " "], []), ([], []), (None, []), ("", [])], ids=repr
)
def test_names_lose_the_blanks_that_a_survey_leaves(chosen: Any, names: list[str]) -> None:
    assert names_in(chosen) == names
