# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The mesh as plain data for people and playbooks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from .finding import first_of_each_code
from .findings import findings
from .names import INJECTION_LABELS
from .restarts import Restart, plan_restarts
from .snapshot import Mesh, injection_labels


def mesh_view(mesh: Mesh, sample_size: int) -> dict[str, Any]:
    """Everything that mesh_info returns, except which cluster it is; with so many findings of each code at most."""
    found = findings(mesh)
    return {
        "default_revision": mesh.default_revision,
        "revisions": [revision.as_result() for revision in mesh.revisions.values()],
        "tags": [tag.as_result() for tag in mesh.tags.values()],
        "namespaces": [_namespace(mesh, name) for name in _interesting(mesh)],
        "workloads": [_workload(restart) for restart in plan_restarts(mesh.workloads, mesh.controllers, mesh.wanted)],
        "findings": [finding.as_result() for finding in first_of_each_code(found, sample_size)],
        "finding_counts": dict(sorted(Counter(finding.code for finding in found).items())),
    }


def _interesting(mesh: Mesh) -> Iterable[str]:
    """Namespaces that say something about injection, or have pods with a proxy."""
    return (
        name
        for name, labels in sorted(mesh.namespaces.items())
        if name in mesh.pods_by_revision or any(label in labels for label in INJECTION_LABELS)
    )


def _namespace(mesh: Mesh, name: str) -> dict[str, Any]:
    verdict = mesh.verdict(name)
    return {
        "name": name,
        "labels": injection_labels(mesh.namespaces[name]),
        "injector": verdict.revision,
        "tag": verdict.tag,
        "outcome": verdict.outcome.value,
        "reason": verdict.reason,
        "revisions": mesh.pods_by_revision.get(name, {}),
    }


def _workload(restart: Restart) -> dict[str, Any]:
    workload = restart.workload
    return {
        "kind": workload.owner.kind,
        "namespace": workload.owner.namespace,
        "name": workload.owner.name,
        "gateway": workload.gateway,
        "state": restart.outcome,
        "wanted": restart.wanted,
        "revisions": workload.revisions,
        "pods": len(workload.pods),
        "reason": restart.reason,
    }
