# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

import pytest
from memory_cluster import MemoryCluster
from mesh_objects import REV, Object, World, healthy_world, thing, webhook
from revision_options import wanted

from ansible_collections.meshops.istio.plugins.module_utils.actions import evidence, removal
from ansible_collections.meshops.istio.plugins.module_utils.actions.removal import ensure_absent
from ansible_collections.meshops.istio.plugins.module_utils.actions.wanted import Outcome
from ansible_collections.meshops.istio.plugins.module_utils.cluster.errors import ClusterError, Forbidden
from ansible_collections.meshops.istio.plugins.module_utils.mesh.proxies import IstiodAnswer
from ansible_collections.meshops.istio.plugins.module_utils.mesh.refusal import Refusal


def absent(cluster: MemoryCluster, revision: str, *, check_mode: bool = False, **options: Any) -> Outcome:
    return ensure_absent(cluster, wanted(revision, **options), check_mode=check_mode, sleep=lambda _seconds: None)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def answers(monkeypatch: pytest.MonkeyPatch) -> list[IstiodAnswer]:
    """What the istiods say; a test adds to it."""
    told: list[IstiodAnswer] = []
    monkeypatch.setattr(evidence, "ask_istiods", lambda _cluster: list(told))
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
    monkeypatch.setattr(removal, "SECOND_LOOK_SECONDS", 0)

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


def test_a_revision_of_helm_is_left_to_helm_once_nothing_needs_it() -> None:
    world = World("old", "new")
    world.raw["istiod_deployments"][0]["metadata"]["annotations"] = {"meta.helm.sh/release-name": "istiod-old"}
    cluster = MemoryCluster(world)

    with pytest.raises(Refusal, match=r"kubernetes\.core\.helm with name=istiod-old release_namespace=istio-system state=absent"):
        absent(cluster, "old")
    cluster.put(thing("v1", "Namespace", "shop", labels={REV: "old"}))
    with pytest.raises(Refusal, match=r"namespace shop is labelled istio\.io/rev=old"):
        absent(cluster, "old")
    assert cluster.writes() == []


def test_what_only_has_the_name_of_its_own_stays_and_is_reported() -> None:
    cluster = MemoryCluster(World("old", "new"))
    cluster.put(thing("v1", "ConfigMap", "values-old", "istio-system", {"app": "shop"}))

    assert "ConfigMap istio-system/values-old, not of Istio" in absent(cluster, "old").kept
    assert "/api/v1/namespaces/istio-system/configmaps/values-old" in cluster.objects


def leases(*revisions: str) -> list[Object]:
    names = ("istio-gateway-deployment", "istio-gateway-status-leader")
    return [thing("coordination.k8s.io/v1", "Lease", f"{name}-{one}", "istio-system") for one in revisions for name in names]


@pytest.mark.parametrize("world", [World("old", "new"), World("new").namespace("shop", {REV: "old"})], ids=["with it", "long after it"])
def test_leases_go_last_when_asked_and_only_its_own(world: World) -> None:
    cluster = MemoryCluster(world)
    for lease in [*leases("old", "new"), thing("coordination.k8s.io/v1", "Lease", "istio-status-leader", "istio-system")]:
        cluster.put(lease)

    assert not [name for name in absent(cluster, "old").removed if name.startswith("Lease")]
    outcome = absent(cluster, "old", sweep_leases=True)

    assert outcome.removed[-2:] == [
        "Lease istio-system/istio-gateway-deployment-old",
        "Lease istio-system/istio-gateway-status-leader-old",
    ]
    left = sorted(path.rsplit("/", 1)[1] for path in cluster.objects if "/leases/" in path)
    assert left == ["istio-gateway-deployment-new", "istio-gateway-status-leader-new", "istio-status-leader"]
    assert not absent(cluster, "old", sweep_leases=True).changed


def test_afterwards_pods_are_proved_to_be_born_as_before() -> None:
    outcome = absent(MemoryCluster(healthy_world().revision("old")), "old")

    assert outcome.proof == [
        "pods in namespace lab are injected by canary",
        "pods in namespace pay are injected by stable",
        "pods in namespace shop are injected by stable",
    ]


def test_pods_that_are_rejected_afterwards_fail_the_run_with_the_namespace() -> None:
    cluster = MemoryCluster(World("old", "new").namespace("shop", {REV: "edge"}))
    cluster.put(webhook("somebody-elses", "old", "edge"))

    with pytest.raises(Refusal, match='objects of revision "old" are deleted, but pods in namespace "shop" are rejected'):
        absent(cluster, "old", waive=["webhooks", "namespaces"])


class Validated(MemoryCluster):
    """A cluster with a definition of DestinationRules, of which a dry-run create is answered as a test says."""

    answer: ClusterError | None = None

    def create(self, path: str, body: Object, *, dry_run: bool = False) -> Object:
        if path.endswith("/destinationrules"):
            if self.answer:
                raise self.answer
            return body
        return super().create(path, body, dry_run=dry_run)


@pytest.mark.parametrize(
    ("answer", "broken", "proved"),
    [
        (None, False, True),
        (ClusterError('the API server answered 500. failed calling webhook "rev.validation.istio.io"', status=500), True, False),
        (ClusterError("denied by somebody else", status=403), False, False),
        (Forbidden("may not", status=403), False, False),
    ],
)
def test_a_validator_that_cannot_be_called_afterwards_fails_the_run_and_others_rules_do_not(
    answer: ClusterError | None, broken: bool, proved: bool
) -> None:
    cluster = Validated(World("old", "new"))
    names = {"kind": "DestinationRule", "plural": "destinationrules"}
    spec = {"group": "networking.istio.io", "names": names, "versions": [{"name": "v1", "served": True}]}
    cluster.put(thing("apiextensions.k8s.io/v1", "CustomResourceDefinition", "destinationrules.networking.istio.io", spec=spec))
    cluster.answer = answer

    if broken:
        with pytest.raises(Refusal, match=r'revision "old" are deleted, but Istio configuration cannot be written.*rev\.validation'):
            absent(cluster, "old")
    else:
        assert bool(absent(cluster, "old").proof) is proved


def test_what_the_user_may_not_read_counts_as_needed() -> None:
    def forbid(_cluster: MemoryCluster, _method: str, path: str) -> None:
        if path.endswith("/secrets"):
            raise Forbidden("cannot read secrets", status=403)

    cluster = MemoryCluster(World("old", "new"))
    cluster.before = forbid

    with pytest.raises(Refusal, match="remotes: not seen: cannot read secrets"):
        absent(cluster, "old")
    outcome = absent(cluster, "old", waive=["remotes"])
    assert outcome.blockers == {"remotes": ["not seen: cannot read secrets"]}
    assert outcome.count_blockers == {"remotes": 1}
