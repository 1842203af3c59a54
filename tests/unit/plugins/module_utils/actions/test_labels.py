# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from memory_cluster import MemoryCluster
from mesh_objects import INJECTION, REV, healthy_world

from ansible_collections.meshops.istio.plugins.module_utils.actions.labels import Labelled, foretell, trouble, write_labels
from ansible_collections.meshops.istio.plugins.module_utils.mesh.labelling import plan_labels, plan_restore


def test_one_patch_changes_both_labels_and_no_other_and_a_namespace_that_is_right_is_not_written() -> None:
    cluster = MemoryCluster(healthy_world())
    mesh = cluster.mesh()
    write_labels(plan_labels(mesh, ["pay", "lab"], "canary"), mesh, cluster)  # type: ignore[arg-type]

    assert cluster.writes() == ["PATCH /api/v1/namespaces/pay"]
    assert cluster.objects["/api/v1/namespaces/pay"]["metadata"]["labels"] == {"kubernetes.io/metadata.name": "pay", REV: "canary"}


def outcomes(labelled: list[Labelled]) -> dict[str, str]:
    return {each.change.namespace: each.outcome for each in labelled}


def test_a_namespace_whose_labels_somebody_changed_meanwhile_is_not_overwritten_and_the_others_are_labelled() -> None:
    cluster = MemoryCluster(healthy_world())
    mesh = cluster.mesh()
    theirs = cluster.objects["/api/v1/namespaces/pay"]
    cluster.put({**theirs, "metadata": {**theirs["metadata"], "labels": {INJECTION: "disabled"}}})
    labelled = write_labels(plan_labels(mesh, ["pay", "shop"], "canary"), mesh, cluster)  # type: ignore[arg-type]

    assert outcomes(labelled) == {"pay": "conflict", "shop": "changed"}
    assert "somebody changed its injection labels meanwhile, to istio-injection=disabled" in labelled[0].message
    assert cluster.objects["/api/v1/namespaces/pay"]["metadata"]["labels"] == {INJECTION: "disabled"}
    assert "namespace pay was not labelled (conflict)" in trouble(labelled, cluster, "istio-system")  # type: ignore[arg-type]


def test_another_change_of_a_namespace_meanwhile_is_no_obstacle() -> None:
    cluster = MemoryCluster(healthy_world())
    mesh = cluster.mesh()
    theirs = cluster.objects["/api/v1/namespaces/pay"]
    cluster.put({**theirs, "metadata": {**theirs["metadata"], "labels": {**theirs["metadata"]["labels"], "team": "pay"}}})
    labelled = write_labels(plan_labels(mesh, ["pay"], "canary"), mesh, cluster)  # type: ignore[arg-type]

    assert outcomes(labelled) == {"pay": "changed"}
    assert cluster.objects["/api/v1/namespaces/pay"]["metadata"]["labels"]["team"] == "pay"
    assert trouble(labelled, cluster, "istio-system") == ""  # type: ignore[arg-type]


@pytest.mark.parametrize(("lost", "outcome"), [(False, "failed"), (True, "changed")])
def test_a_write_whose_answer_is_an_error_is_looked_at_again(lost: bool, outcome: str) -> None:
    cluster = MemoryCluster(healthy_world())
    mesh = cluster.mesh()
    cluster.fail, cluster.lost = 1, lost
    (labelled,) = write_labels(plan_labels(mesh, ["pay"], "canary"), mesh, cluster)  # type: ignore[arg-type]

    assert labelled.outcome == outcome


def test_our_own_write_whose_answer_was_lost_is_no_conflict() -> None:
    cluster = MemoryCluster(healthy_world())
    mesh = cluster.mesh()
    (change,) = plan_labels(mesh, ["pay"], "canary")
    write_labels([change], mesh, cluster)  # type: ignore[arg-type]
    (again,) = write_labels([change], mesh, cluster)  # type: ignore[arg-type]

    assert (again.outcome, again.message) == ("changed", "")


def test_an_injector_that_goes_while_the_labels_are_written_is_told() -> None:
    cluster = MemoryCluster(healthy_world())
    mesh = cluster.mesh()
    labelled = write_labels(plan_labels(mesh, ["pay"], "canary"), mesh, cluster)  # type: ignore[arg-type]
    cluster.put(healthy_world().kill("canary").find("endpoint_slices", "istiod-canary-abc"))

    assert "the injector has gone while 1 namespace (pay) got the label" in trouble(labelled, cluster, "istio-system")  # type: ignore[arg-type]


def test_a_last_look_that_fails_is_a_sentence_and_loses_nothing() -> None:
    cluster = MemoryCluster(healthy_world())
    mesh = cluster.mesh()
    labelled = write_labels(plan_labels(mesh, ["pay"], "canary"), mesh, cluster)  # type: ignore[arg-type]
    cluster.fail = len(cluster.requests) + 1

    assert "is refused" in trouble(labelled, cluster, "istio-system")  # type: ignore[arg-type]


def test_what_would_come_of_it_is_foretold_without_a_write() -> None:
    cluster = MemoryCluster(healthy_world())
    labelled = foretell(plan_restore(cluster.mesh(), {"lab": {REV: "ghost"}, "pay": {REV: "canary"}, "shop": {REV: "prod"}}))

    assert outcomes(labelled) == {"lab": "refused", "pay": "changed", "shop": "unchanged"}
    assert not cluster.requests
