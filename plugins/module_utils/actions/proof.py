# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Proving, after a removal, that the mesh still works: pods are born and Istio's configuration is taken, asked by dry run."""

from __future__ import annotations

from collections.abc import Mapping

from ..cluster.client import Cluster, Objects
from ..cluster.dry_run import dry_run_pod_if_allowed
from ..cluster.errors import ClusterError
from ..cluster.waiting import poll
from ..mesh.injectors import is_injector_refusal
from ..mesh.names import VALIDATOR_SUFFIX
from ..mesh.refusal import Refusal
from ..mesh.workloads import revision_of_pod
from .evidence import resource_defined_by

PROBE = "destinationrules.networking.istio.io"
"""A kind that every Istio has, and of which one for a host that nobody has changes nothing even for a moment."""


def births_before(cluster: Cluster, witnesses: Mapping[str, str], removed: str) -> dict[str, str | None]:
    """Namespace → revision that must inject its pods after the removal, None where they need only be born.

    Args:
        witnesses: namespace → revision that acts on its pods. What the revision to be removed injects was left to it by a waiver; what is
            rejected already, by another injector or by somebody else's rule, can prove nothing.
    """
    expected: dict[str, str | None] = {}
    for namespace, revision in witnesses.items():
        if revision == removed:
            expected[namespace] = None
        elif (answer := dry_run_pod_if_allowed(cluster, namespace)) and answer.pod:
            expected[namespace] = revision_of_pod(answer.pod)
    return expected


def prove_births(cluster: Cluster, removed: str, expected: Mapping[str, str | None], wait_timeout: float) -> list[str]:
    """A sentence for every namespace whose pods are still born as expected; none where others forbid the question.

    Raises:
        Refusal: pods are rejected, or have another injector than before.
    """
    said = [_proved(cluster, removed, namespace, revision, wait_timeout) for namespace, revision in expected.items()]
    return [sentence for sentence in said if sentence]


def _proved(cluster: Cluster, removed: str, namespace: str, expected: str | None, wait_timeout: float) -> str:
    proved, wrong = poll(lambda: _birth(cluster, namespace, expected), lambda seen: not seen[1], timeout=wait_timeout)
    if wrong:
        raise Refusal(
            f'the objects of revision "{removed}" are deleted, but {wrong}. Point what calls it at a revision that exists '
            "(istio_tag, ns_revision_label); mesh_info names it."
        )
    return proved


def _birth(cluster: Cluster, namespace: str, expected: str | None) -> tuple[str, str]:
    """What was proved, and what is wrong; both empty when others' rules or permissions forbid the question."""
    answer = dry_run_pod_if_allowed(cluster, namespace)
    if answer and is_injector_refusal(answer.refusal):
        return "", f'pods in namespace "{namespace}" are rejected: {answer.refusal}'
    if not answer or answer.pod is None:
        return "", ""
    injected_by = revision_of_pod(answer.pod)
    if expected is not None and injected_by != expected:
        return "", f'pods in namespace "{namespace}" are injected by "{injected_by or "nobody"}" and not by "{expected}" as before'
    return f"pods in namespace {namespace} are injected by {injected_by or 'nobody'}", ""


def prove_config(cluster: Cluster, removed: str, crds: Objects, namespace: str, wait_timeout: float) -> list[str]:
    """A sentence when Istio's configuration can be written; none where a permission or somebody else's rule forbids the question.

    Raises:
        Refusal: one of Istio's validators cannot be called or refuses.
    """
    probes = [crd for crd in crds if crd["metadata"]["name"] == PROBE]
    if not probes:
        return []
    resource = resource_defined_by(probes[0])
    body = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"generateName": "meshops-dry-run-", "namespace": namespace},
        "spec": {"host": "meshops-dry-run.invalid"},
    }

    def look() -> str:
        try:
            cluster.create(resource(namespace), body, dry_run=True)
        except ClusterError as error:
            return str(error)
        return ""

    refused = poll(look, lambda said: VALIDATOR_SUFFIX not in said, timeout=wait_timeout)
    if VALIDATOR_SUFFIX in refused:
        raise Refusal(
            f'the objects of revision "{removed}" are deleted, but Istio configuration cannot be written: {refused} Point the validator '
            "at a revision that exists: istio_tag name=default, or defaultRevision of the istio-base release."
        )
    return [] if refused else [f"Istio configuration can be written in namespace {namespace}"]
