# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

import pytest
from mesh_objects import pod

from ansible_collections.meshops.istio.plugins.module_utils.mesh.proxies import IstiodAnswer, Judgement, attachments, judge
from ansible_collections.meshops.istio.plugins.module_utils.mesh.workloads import pods_of

CLUSTER_TYPE = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
SYNCED = {CLUSTER_TYPE: {"sent": "n2", "acked": "n2"}}


def row(proxy: str = "web.shop", version: str | None = "1.30.3", resources: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"proxy": proxy, "istio_version": version, "resources": SYNCED if resources is None else resources}


def answer(revision: str, *rows: dict[str, Any], error: str = "") -> IstiodAnswer:
    return IstiodAnswer(f"istio-system/istiod-{revision}-1", revision, rows, error)


def judged(*answers: IstiodAnswer, expected: str | None = "canary", **of_pod: Any) -> Judgement:
    revision = of_pod.pop("revision", "canary")
    return judge(pods_of([pod("shop", "web", revision, **of_pod)], []), answers, lambda _pod: expected)


def reason(*answers: IstiodAnswer, **options: Any) -> str:
    found = judged(*answers, **options)
    assert found.passed is (not found.failures and not found.doubtful)
    return found.failures[0].reason if found.failures else ""


def test_a_proxy_on_its_revision_with_everything_acknowledged_passes() -> None:
    found = judged(answer("stable"), answer("canary", row()))

    assert (found.passed, found.total, found.attached, found.by_revision) == (True, 1, 1, {"canary": 1})


def test_a_stale_pod_fails_though_it_is_attached_and_in_sync() -> None:
    assert reason(answer("stable", row()), revision="stable") == 'revision "stable" injected it, expected is "canary": restart it'


def test_a_proxy_on_the_wrong_istiod_fails() -> None:
    assert reason(answer("stable", row())) == ('it hangs on istio-system/istiod-stable-1 of revision "stable", expected is "canary"')


def test_a_pod_that_nobody_lists_fails() -> None:
    assert reason(answer("stable"), answer("canary")) == 'no istiod lists it, expected is one of revision "canary"'


def test_a_pod_that_nobody_would_inject_again_fails() -> None:
    assert reason(answer("canary", row()), expected=None) == 'revision "canary" injected it, but nobody would inject its successor'


def test_an_expected_istiod_that_does_not_answer_keeps_the_gate_shut_and_never_means_zero() -> None:
    found = judged(answer("canary", row()), answer("canary", error="timed out"))

    assert (found.passed, found.complete, found.failures) == (False, False, ())
    assert found.unanswered == found.doubtful == ("istio-system/istiod-canary-1 of canary: timed out",)


def test_another_istiod_that_does_not_answer_is_told_and_undoes_nothing() -> None:
    found = judged(answer("canary", row()), answer("stable", error="timed out"))

    assert (found.passed, found.complete, found.failures) == (True, False, ())
    assert found.unanswered == ("istio-system/istiod-stable-1 of stable: timed out",)


def test_a_proxy_listed_twice_while_it_reconnects_passes_with_the_one_that_is_right() -> None:
    late = row(resources={CLUSTER_TYPE: {"sent": "n2", "acked": "n1"}})

    assert judged(answer("stable", row()), answer("canary", row())).passed
    assert judged(answer("canary", late), answer("canary", row())).passed
    assert reason(answer("stable", row()), answer("canary", late)) == "it has not acknowledged Cluster yet"


@pytest.mark.parametrize(
    ("resources", "problem"),
    [
        ({}, ""),
        ({CLUSTER_TYPE: {}}, ""),  # watched, and nothing to send
        ({CLUSTER_TYPE: {"sent": "n1", "acked": "n1"}}, ""),
        ({CLUSTER_TYPE: {"sent": "n1"}}, "it has not acknowledged Cluster yet"),
        ({CLUSTER_TYPE: {"sent": "n2", "acked": "n1", "lastError": "bad port"}}, "it rejected Cluster: bad port"),
    ],
)
def test_what_a_proxy_has_not_accepted_is_named(resources: dict[str, Any], problem: str) -> None:
    assert reason(answer("canary", row(resources=resources))) == problem


def test_an_old_pod_that_is_still_terminating_keeps_the_gate_shut() -> None:
    found = judged(answer("stable", row()), revision="stable", terminating=True)

    assert [failure.reason for failure in found.failures] == [
        'revision "stable" injected it, expected is "canary": it is still terminating'
    ]


def test_a_new_pod_that_terminates_is_neither_counted_nor_a_failure() -> None:
    found = judged(answer("canary"), terminating=True)

    assert (found.passed, found.total) == (True, 0)


def test_trouble_of_the_pod_is_a_better_reason_than_its_absence_from_the_lists() -> None:
    assert reason(answer("canary"), waiting="ImagePullBackOff") == 'container "app" is in ImagePullBackOff'


def test_visitors_such_as_istioctl_are_no_proxies() -> None:
    assert attachments([answer("canary", row(version=None), row(version=""))]) == {}


def test_a_pod_name_may_contain_dots() -> None:
    assert list(attachments([answer("canary", row("web.v1.shop"))])) == ["shop/web.v1"]


def test_failures_are_plain_data_for_results() -> None:
    (failure,) = judged(answer("canary")).failures

    assert failure.as_result() == {"pod": "shop/web", "reason": 'no istiod lists it, expected is one of revision "canary"'}
