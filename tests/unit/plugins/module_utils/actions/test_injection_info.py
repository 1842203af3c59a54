# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Looking at who injects pods: what is said, and what becomes of it when the API server says something else."""

from __future__ import annotations

from typing import Any

import pytest
from memory_cluster import MemoryCluster
from mesh_objects import INJECT, REV, Object, World, healthy_world, pod

from ansible_collections.meshops.istio.plugins.module_utils.actions.injection import Question, look
from ansible_collections.meshops.istio.plugins.module_utils.actions.render import NOT_RENDERED
from ansible_collections.meshops.istio.plugins.module_utils.cluster.errors import ClusterError, Forbidden
from ansible_collections.meshops.istio.plugins.module_utils.mesh.refusal import Refusal


def ask(cluster: MemoryCluster, **changed: Any) -> dict[str, Any]:
    question = {"namespaces": None, "template": None, "verify": False, "under": None, "sample_size": 20, **changed}
    return look(cluster, "istio-system", Question(**question))  # type: ignore[arg-type]


class Contrary(MemoryCluster):
    """An API server that makes of every pod something else than it should, or refuses it."""

    def __init__(self, world: World, answer: Object | ClusterError) -> None:
        super().__init__(world)
        self.answer = answer

    def _birth(self, _path: str, _body: Object) -> Object:
        if isinstance(self.answer, ClusterError):
            raise self.answer
        return self.answer


def test_every_namespace_and_workload_is_judged_and_counted() -> None:
    found = ask(MemoryCluster(healthy_world()), verify=True)

    assert found["count_injections"] == 11
    assert found["by_outcome"] == {"injected": 8, "none": 3, "rejected": 0}
    assert found["by_verification"] == {"agrees": 11, "disagrees": 0, "inconclusive": 0}
    assert (found["disagreements"], found["count_disagreements"]) == ([], 0)
    web = next(entry for entry in found["injections"] if entry["name"] == "web")
    assert web == {
        "namespace": "shop",
        "kind": "Deployment",
        "name": "web",
        "outcome": "injected",
        "revision": "stable",
        "version": "1.30.3",
        "tag": "prod",
        "reason": 'injected by tag "prod" of revision "stable"',
        "certain": True,
        "verified": "agrees",
        "answer": 'injected by revision "stable"',
        **NOT_RENDERED,
    }


def test_without_verify_nothing_is_asked_and_the_keys_are_the_same() -> None:
    cluster = MemoryCluster(healthy_world())
    plain = ask(cluster)

    assert plain.keys() == ask(MemoryCluster(healthy_world()), verify=True).keys()
    assert not [request for request in cluster.requests if request.endswith("/pods")]
    assert {entry["verified"] for entry in plain["injections"]} == {None}


def test_a_list_is_bounded_and_the_most_telling_come_first() -> None:
    world = healthy_world().kill("canary")
    found = ask(MemoryCluster(world), sample_size=3)

    assert [(entry["namespace"], entry["outcome"]) for entry in found["injections"]] == [
        ("lab", "rejected"),
        ("lab", "rejected"),
        ("pay", "injected"),
    ]
    assert (found["count_injections"], found["by_outcome"]["rejected"]) == (11, 2)


def test_an_api_server_that_does_something_else_is_a_disagreement_with_everything_to_report() -> None:
    world = World("canary").namespace("shop", {REV: "canary"})
    cluster = Contrary(world, pod("shop", "x", None))
    found = ask(cluster, namespaces=["shop"], template={"metadata": {"annotations": {"istio.io/x": "1", "secret": "2"}}}, verify=True)

    assert (found["by_verification"], found["count_disagreements"]) == ({"agrees": 0, "disagrees": 1, "inconclusive": 0}, 1)
    assert found["disagreements"] == [
        {
            "namespace": "shop",
            "workload": "",
            "namespace_labels": {"kubernetes.io/metadata.name": "shop", REV: "canary"},
            "labels": {},
            "annotations": {"istio.io/x": "1"},
            "host_network": False,
            "said": 'injected: injected by revision "canary"',
            "answer": "no sidecar",
            "injectors": ["istio-sidecar-injector-canary/rev.namespace.sidecar-injector.istio.io"],
        }
    ]
    assert len([request for request in cluster.requests if request.endswith("/pods")]) == 2, "asked again before it is called a bug"


def test_a_mesh_that_changes_meanwhile_is_no_disagreement() -> None:
    cluster = MemoryCluster(World("stable", "canary").namespace("shop", {REV: "canary"}))

    def relabel(changing: MemoryCluster, _method: str, path: str) -> None:
        if path.endswith("/pods"):
            changing.put({"kind": "Namespace", "metadata": {"name": "shop", "labels": {REV: "stable"}}})

    cluster.before = relabel
    found = ask(cluster, namespaces=["shop"], template={}, verify=True)

    assert found["by_verification"] == {"agrees": 1, "disagrees": 0, "inconclusive": 0}
    assert found["injections"][0]["revision"] == "stable"


@pytest.mark.parametrize(
    ("message", "status", "answer"),
    [
        ("exceeded quota: small", "inconclusive", "refused by somebody else than an injector: exceeded quota: small"),
        (
            'admission webhook "rev.namespace.sidecar-injector.istio.io" denied the request: bad annotation',
            "disagrees",
            'rejected: admission webhook "rev.namespace.sidecar-injector.istio.io" denied the request: bad annotation',
        ),
    ],
)
def test_somebody_elses_refusal_proves_nothing_about_injection(message: str, status: str, answer: str) -> None:
    world = World("canary").namespace("shop", {REV: "canary"})
    found = ask(Contrary(world, ClusterError("refused", status=403, detail=message)), namespaces=["shop"], template={}, verify=True)

    assert (found["injections"][0]["verified"], found["injections"][0]["answer"]) == (status, answer)


def test_where_not_everything_could_be_seen_another_answer_is_no_bug() -> None:
    world = World("canary").namespace("shop", {REV: "canary"})
    for entry in world.raw["mutating"][0]["webhooks"]:
        entry["matchConditions"] = [{"name": "mine", "expression": "false"}]
    found = ask(Contrary(world, pod("shop", "x", None)), namespaces=["shop"], template={}, verify=True)

    assert (found["injections"][0]["certain"], found["injections"][0]["verified"]) == (False, "inconclusive")


def test_not_being_allowed_to_ask_is_said_and_not_taken_for_an_answer() -> None:
    world = World("canary").namespace("shop", {REV: "canary"})

    with pytest.raises(Forbidden, match="may not create pods"):
        ask(Contrary(world, Forbidden('user "ci" may not create pods', status=403)), namespaces=["shop"], template={}, verify=True)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"namespaces": ["shop", "gone"]}, "namespace gone does not exist"),
        ({"under": "gone"}, '"gone" is no revision and no tag'),
        ({"namespaces": ["shop"], "template": {"kind": "Deployment"}}, 'template has "kind"; a pod template has'),
        ({"namespaces": ["shop"], "template": {"metadata": "x"}}, "template.metadata is no dictionary"),
        ({"namespaces": ["shop"], "template": {"metadata": {"labels": ["a"]}}}, "template.metadata.labels is no dictionary"),
        ({"namespaces": ["shop"], "template": {"metadata": {"labels": {INJECT: True}}}}, f"the value of {INJECT} is no string"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_asked(changed: dict[str, Any], why: str) -> None:
    cluster = MemoryCluster(healthy_world())

    with pytest.raises(Refusal, match=why):
        ask(cluster, verify=True, **changed)
    assert not [request for request in cluster.requests if request.endswith("/pods")]
