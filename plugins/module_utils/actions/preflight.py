# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Everything that can be known before an upgrade touches anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..cluster.access import missing_rights
from ..cluster.client import Cluster, Objects
from ..cluster.errors import Forbidden
from ..cluster.paths import CUSTOM_RESOURCE_DEFINITIONS
from ..cluster.read import read_mesh, without_managed_fields
from ..cluster.room import read_room
from ..mesh.finding import INFO, WARNING, Finding, in_order
from ..mesh.permissions import Missing, permission_findings, rights_of
from ..mesh.room import room_findings
from ..mesh.skew import definition_findings, skew_findings
from ..mesh.snapshot import Mesh
from ..mesh.tags_in_git import tags_in_git
from ..mesh.words import some
from .istioctl_checks import istioctl_findings


@dataclass(frozen=True)
class Upgrade:
    """What is to be checked; names and versions are None where they are not known."""

    istio_namespace: str
    stages: Sequence[str]
    namespaces: Sequence[str]
    from_revision: str | None
    to_revision: str | None
    to_version: str | None
    istioctl: str | None
    at_once: int


@dataclass(frozen=True)
class Report:
    """What was found."""

    cluster: dict[str, Any]
    findings: list[Finding]
    missing: list[Missing]


def look(cluster: Cluster, upgrade: Upgrade, *, identity: dict[str, Any], verified_tls: bool) -> Report:
    """Permissions, versions, room and workloads.

    Raises:
        ClusterError: what every stage needs cannot be read.
        Refusal: a namespace does not exist.
    """
    missing = missing_rights(cluster, rights_of(upgrade.stages), upgrade.istio_namespace, upgrade.namespaces)
    mesh = Mesh(read_mesh(cluster, upgrade.istio_namespace), upgrade.istio_namespace)
    scope = mesh.require_namespaces(upgrade.namespaces)
    versions = {name: revision.version for name, revision in mesh.revisions.items()}
    before = versions.get(upgrade.from_revision or "")
    after = versions.get(upgrade.to_revision or "") or upgrade.to_version
    present = [revision for revision in (upgrade.from_revision, upgrade.to_revision) if revision in versions]
    room = read_room(cluster, scope)
    definitions, unseen = _definitions(cluster)
    found = [
        *permission_findings(missing),
        *skew_findings(identity["kubernetes_version"], before, after),
        *([] if "install" in upgrade.stages else definition_findings(definitions, after)),
        *_not_looked_at([*room.unseen, *unseen]),
        *(tags_in_git(mesh, upgrade.from_revision) if upgrade.from_revision else []),
        *room_findings(mesh, room, scope, upgrade.at_once),
        *(istioctl_findings(cluster, upgrade.istioctl, present, upgrade.istio_namespace) if upgrade.istioctl else []),
        *([] if verified_tls else [_unverified(cluster.host)]),
    ]
    return Report(identity, in_order(found), missing)


def _definitions(cluster: Cluster) -> tuple[Objects, list[str]]:
    """Custom resource definitions, and the sentence why they could not be seen."""
    try:
        return cluster.list(CUSTOM_RESOURCE_DEFINITIONS(), metadata_only=True, trim=without_managed_fields), []
    except Forbidden as error:
        return [], [str(error)]


def _not_looked_at(sentences: Sequence[str]) -> list[Finding]:
    """Unknown never counts as safe: what nobody could look at is told in one finding."""
    if not sentences:
        return []
    return [
        Finding(
            "not-looked-at",
            INFO,
            "Permissions",
            f"whether nodes, quotas, budgets and definitions stand in the way could not be seen in full: {some(sentences, 3)}",
            "Let somebody grant these rights, or look yourself.",
        )
    ]


def _unverified(host: str) -> Finding:
    return Finding(
        "tls-not-verified",
        WARNING,
        "Connection",
        f"the certificate of {host} is not checked (validate_certs is false): whoever stands in between can read the token and change "
        "everything that is written.",
        "Give ca_cert, and leave validate_certs out.",
    )
