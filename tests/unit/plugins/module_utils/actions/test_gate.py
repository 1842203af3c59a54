# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from memory_cluster import MemoryCluster
from mesh_objects import healthy_world, pod

from ansible_collections.meshops.istio.plugins.module_utils.actions import gate
from ansible_collections.meshops.istio.plugins.module_utils.actions.gate import Scope, failure_message, wait_for_proxies
from ansible_collections.meshops.istio.plugins.module_utils.mesh.proxies import Failure, IstiodAnswer, Judgement
from ansible_collections.meshops.istio.plugins.module_utils.mesh.refusal import Refusal

ON_STABLE = ["web-0.shop", "web-1.shop", "db-0.shop", "edge-0.shop", "api-0.pay", "agent-0.pay"]


def answer(revision: str, *proxies: str) -> IstiodAnswer:
    return IstiodAnswer(f"istio-system/istiod-{revision}-1", revision, [{"proxy": name, "istio_version": "1"} for name in proxies])


@pytest.fixture(autouse=True)
def _istiods(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "ask_istiods", lambda _cluster: [answer("stable", *ON_STABLE), answer("canary", "try-0.lab")])


def looked(scope: Scope) -> Judgement:
    cluster = MemoryCluster(healthy_world())
    cluster.put(pod("shop", "edge-0", "stable", router=True))
    return wait_for_proxies(cluster, "istio-system", scope, wait_timeout=0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("scope", "total"),
    [
        (Scope(), 7),
        (Scope(namespaces=["shop"]), 4),
        (Scope(namespaces=["shop"], kind="gateways"), 1),
        (Scope(namespaces=["shop"], kind="workloads"), 3),
        (Scope(namespaces=["shop", "pay"], revision="stable"), 6),
        (Scope(namespaces=["istio-system"]), 0),
    ],
)
def test_the_gate_judges_exactly_the_pods_in_scope(scope: Scope, total: int) -> None:
    seen = looked(scope)

    assert (seen.passed, seen.total, seen.attached) == (True, total, total)


def test_a_revision_that_is_asked_for_counts_for_every_pod() -> None:
    seen = looked(Scope(revision="canary"))

    assert (seen.passed, len(seen.failures)) == (False, 6)


@pytest.mark.parametrize("scope", [Scope(revision="ghost"), Scope(namespaces=["ghost"])])
def test_a_name_that_does_not_exist_is_refused_instead_of_passing_with_nothing_to_judge(scope: Scope) -> None:
    with pytest.raises(Refusal, match="ghost"):
        looked(scope)


def test_the_failure_is_one_paragraph_with_a_sample_and_what_did_not_answer() -> None:
    failures = tuple(Failure(f"shop/web-{number}", "restart it") for number in range(3))
    seen = Judgement(5, 2, {"stable": 2}, ("istiod-b of canary: timed out",), failures)

    assert failure_message(seen, 1) == (
        "3 of 5 proxies are not where they should be. shop/web-0: restart it. The answer is incomplete, these istiods did not answer: "
        "istiod-b of canary: timed out. Look at these, then run again."
    )
