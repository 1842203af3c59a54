# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

import pytest
from memory_cluster import MemoryCluster
from mesh_objects import REV, World, healthy_world

from ansible_collections.meshops.istio.plugins.module_utils.actions import control_plane
from ansible_collections.meshops.istio.plugins.module_utils.actions.control_plane import Outcome, Wanted, ensure_absent
from ansible_collections.meshops.istio.plugins.module_utils.actions.revision import refuse_to_take_default
from ansible_collections.meshops.istio.plugins.module_utils.mesh.proxies import IstiodAnswer
from ansible_collections.meshops.istio.plugins.module_utils.mesh.refusal import Refusal

DEFAULTS = {
    "istio_namespace": "istio-system",
    "wait_timeout": 0,
    "sample_size": 20,
    "method": "adopt",
    "istioctl": "istioctl",
    "operator_spec": None,
    "like": None,
    "waive": [],
}


def wanted(revision: str, **options: Any) -> Wanted:
    return Wanted.from_params({**DEFAULTS, "revision": revision, **options})


def absent(cluster: MemoryCluster, revision: str, *, check_mode: bool = False, **options: Any) -> Outcome:
    return ensure_absent(cluster, wanted(revision, **options), check_mode=check_mode, sleep=lambda _seconds: None)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def answers(monkeypatch: pytest.MonkeyPatch) -> list[IstiodAnswer]:
    """What the istiods say; a test adds to it."""
    told: list[IstiodAnswer] = []
    monkeypatch.setattr(control_plane, "ask_istiods", lambda _cluster: list(told))
    return told


def test_a_revision_that_nothing_needs_goes_and_what_is_shared_stays() -> None:
    cluster = MemoryCluster(healthy_world().revision("old"))
    outcome = absent(cluster, "old")

    assert outcome.removed[0] == "MutatingWebhookConfiguration istio-sidecar-injector-old"
    assert "Deployment istio-system/istiod-old" in outcome.removed
    assert not [path for path in cluster.objects if "old" in path.rsplit("/", 1)[1] and "endpointslices" not in path]
    assert sorted(cluster.mesh().revisions) == ["canary", "stable"]
    assert "MutatingWebhookConfiguration istio-revision-tag-prod" in outcome.kept
    assert outcome.changed


def test_a_second_removal_changes_nothing() -> None:
    cluster = MemoryCluster(healthy_world().revision("old"))
    absent(cluster, "old")
    writes = len(cluster.writes())

    assert (absent(cluster, "old").changed, len(cluster.writes())) == (False, writes)


def test_check_mode_names_the_same_objects_and_deletes_nothing() -> None:
    cluster = MemoryCluster(healthy_world().revision("old"))
    foreseen = absent(cluster, "old", check_mode=True)

    assert cluster.writes() == []
    assert absent(cluster, "old").removed == foreseen.removed


@pytest.mark.parametrize("check_mode", [False, True])
def test_a_needed_revision_keeps_every_object_and_check_mode_says_so_too(check_mode: bool) -> None:
    cluster = MemoryCluster(healthy_world())

    with pytest.raises(Refusal, match='revision "canary" is kept, nothing was deleted'):
        absent(cluster, "canary", check_mode=check_mode)
    assert cluster.writes() == []


def test_a_proxy_that_comes_back_between_the_two_looks_keeps_it(answers: list[IstiodAnswer], monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = MemoryCluster(healthy_world().revision("old"))
    returning = IstiodAnswer("istio-system/istiod-old-1", "old", [{"proxy": "web.shop", "istio_version": "1"}])
    monkeypatch.setattr(control_plane, "SECOND_LOOK_SECONDS", 0)

    with pytest.raises(Refusal, match="proxy shop/web hangs on istio-system/istiod-old-1"):
        ensure_absent(cluster, wanted("old"), check_mode=False, sleep=lambda _seconds: answers.append(returning))  # type: ignore[arg-type]
    assert cluster.writes() == []


def test_a_tag_that_points_at_a_revision_long_gone_is_not_swept_away_with_it() -> None:
    cluster = MemoryCluster(World("stable").tag("prod", "gone").namespace("shop", {REV: "prod"}))

    with pytest.raises(Refusal, match="tag prod points at it"):
        absent(cluster, "gone")
    assert cluster.writes() == []


def test_a_waived_tag_goes_right_after_the_injector_and_is_not_reported_as_kept() -> None:
    cluster = MemoryCluster(World("old", "new").tag("prod", "old"))
    outcome = absent(cluster, "old", waive=["tags"])

    assert outcome.removed[:2] == [
        "MutatingWebhookConfiguration istio-sidecar-injector-old",
        "MutatingWebhookConfiguration istio-revision-tag-prod",
    ]
    assert outcome.kept == []


def test_a_revision_of_helm_is_left_to_helm() -> None:
    world = World("old", "new")
    world.raw["istiod_deployments"][0]["metadata"]["annotations"] = {"meta.helm.sh/release-name": "istiod-old"}

    with pytest.raises(Refusal, match=r'revision "old" belongs to helm, nothing was deleted\. Uninstall its Helm release'):
        absent(MemoryCluster(world), "old")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"revision": "1.31"}, '"1.31" cannot be a revision'),
        ({"revision": "new", "operator_spec": {"profile": "minimal"}}, "operator_spec contradicts method adopt"),
    ],
)
def test_options_that_cannot_work_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(Refusal, match=message):
        wanted(**options)


def test_istioctl_may_not_take_the_default_from_an_injector_without_a_tag() -> None:
    with pytest.raises(Refusal, match='"default" serves istio-injection=enabled without a default tag'):
        refuse_to_take_default(World("default").mesh(), "canary")
    for world in (World("stable"), World("stable").tag("default", "stable"), World("default").tag("default", "default")):
        refuse_to_take_default(world.mesh(), "canary")
    refuse_to_take_default(World("default").mesh(), "default")
