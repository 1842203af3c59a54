# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What several revisions have in common, and who would take it along."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..finding import WARNING, Finding
from ..names import (
    COMPONENT_LABEL,
    GATEWAY_COMPONENTS,
    NODE_COMPONENTS,
    OWNING_NAMESPACE_LABEL,
    REVISION_LABEL,
    TAG_LABEL,
    VERSION_LABELS,
)
from ..revisions import installers_of, labels_of
from ..snapshot import Mesh
from ..versions import Minor, minor_of
from ..words import some
from ..workloads import Owner


def shared_findings(mesh: Mesh) -> Iterator[Finding]:
    """By the labels of owners and versions on what is not of one revision alone."""
    yield from _node_agents(mesh)
    yield from _gateways(mesh)
    yield from _definitions(mesh)
    yield from _installers(mesh)


def _pruned_with(thing: Mapping[str, Any], components: tuple[str, ...]) -> str | None:
    """The revision whose removal by istioctl takes an object of one of these components along (operator/pkg/uninstall/prune.go)."""
    labels = labels_of(thing)
    if OWNING_NAMESPACE_LABEL in labels and labels.get(COMPONENT_LABEL) in components:
        return labels.get(REVISION_LABEL)
    return None


def _newest(mesh: Mesh) -> Minor | None:
    minors = [minor for revision in mesh.revisions.values() if (minor := minor_of(revision.version))]
    return max(minors, default=None)


def _node_agents(mesh: Mesh) -> Iterator[Finding]:
    newest = _newest(mesh)
    for owner, controller in mesh.controllers.items():
        revision = mesh.revisions.get(_pruned_with(controller, NODE_COMPONENTS) or "")
        if revision and len(mesh.revisions) > 1 and (minor_of(revision.version) or newest) != newest:
            yield Finding(
                "node-agent-owned",
                WARNING,
                str(owner),
                f'{owner} serves every revision, and is labelled as one of "{revision.name}": "istioctl uninstall --revision '
                f'{revision.name}" would delete it, on every node.',
                "Remove that revision with istio_revision, which leaves it; or install it again with the newest revision first.",
            )


def _gateways(mesh: Mesh) -> Iterator[Finding]:
    """An istioctl profile has its gateways once: every revision that is installed with them rolls the same Deployment."""
    before: dict[Owner, set[str]] = {}
    for replica_set in mesh.raw["replica_sets"]:
        for owner in replica_set["metadata"].get("ownerReferences") or ():
            deployment = Owner(owner["kind"], replica_set["metadata"]["namespace"], owner["name"])
            before.setdefault(deployment, set()).add(labels_of(replica_set).get(REVISION_LABEL, ""))
    for owner, controller in mesh.controllers.items():
        revision = _pruned_with(controller, GATEWAY_COMPONENTS)
        if revision not in mesh.revisions:
            continue
        others = sorted(name for name in before.get(owner, ()) if name != revision and _is_newer(mesh, revision, name))
        if others:
            yield Finding(
                "gateway-taken-over",
                WARNING,
                str(owner),
                f'the install of revision "{revision}" took {owner} over from "{others[0]}" in place: it runs the new version already, '
                f'and "istioctl uninstall --revision {revision}" would delete it.',
                f'Look whether it works. To go back, install "{others[0]}" again before removing "{revision}"; later give gateways a '
                "release of their own.",
            )


def _is_newer(mesh: Mesh, revision: str, than: str) -> bool:
    """Whether one revision is the newer one of two that exist, or may be: an older one that has taken something is back where it was."""
    if than not in mesh.revisions:
        return False
    mine, other = minor_of(mesh.revisions[revision].version), minor_of(mesh.revisions[than].version)
    return mine is None or other is None or mine >= other


def _definitions(mesh: Mesh) -> Iterator[Finding]:
    """CRDs that an older version wrote than the newest istiod: fields that it knows are refused or dropped."""
    newest = _newest(mesh)
    deployments = [
        thing
        for thing in mesh.raw["istiod_deployments"]
        if (revision := mesh.revisions.get(labels_of(thing).get(REVISION_LABEL, ""))) and minor_of(revision.version) == newest
    ]
    old = sorted(
        thing["metadata"]["name"] for thing in mesh.raw.get("crds", ()) if any(_is_older(thing, deployment) for deployment in deployments)
    )
    if newest and old:
        yield Finding(
            "crds-old",
            WARNING,
            f"CustomResourceDefinition {old[0]}",
            f"the definitions of Istio's configuration are older than istiod {newest[0]}.{newest[1]}: {some(old)}. Fields that it knows "
            "are refused or dropped.",
            "Upgrade the base chart (or the base component of istioctl) to the version of the newest revision.",
        )


def _is_older(definition: Mapping[str, Any], deployment: Mapping[str, Any]) -> bool:
    """By the labels that both carry; when two tell different things, the definition was upgraded by another tool than before."""
    pairs = [(minor_of(labels_of(definition).get(label)), minor_of(labels_of(deployment).get(label))) for label in VERSION_LABELS]
    known = [(mine, its) for mine, its in pairs if mine and its]
    return bool(known) and all(mine < its for mine, its in known)


def _installers(mesh: Mesh) -> Iterator[Finding]:
    """Two tools that both believe to own one revision."""
    found: dict[str, dict[str, str]] = {}
    for noun in ("istiod_deployments", "services", "mutating", "config_maps"):
        for thing in mesh.raw[noun]:
            revision = labels_of(thing).get(REVISION_LABEL)
            if revision in mesh.revisions and TAG_LABEL not in labels_of(thing):
                for installer in installers_of(thing):
                    found.setdefault(revision, {}).setdefault(installer, f"{thing['kind']} {thing['metadata']['name']}")
    for revision, examples in found.items():
        if len(examples) > 1:
            told = " and ".join(f"{installer} ({example})" for installer, example in sorted(examples.items()))
            yield Finding(
                "installers-mixed",
                WARNING,
                f"Revision {revision}",
                f'revision "{revision}" has objects of {told}: each can undo what the other does, and Helm refuses what it does not own.',
                "Decide for one, and remove the marks of the other from these objects.",
            )
