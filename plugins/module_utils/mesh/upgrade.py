# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The plan of an upgrade: what is in scope, who goes first, and in which waves the rest follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .names import is_dns_label
from .ordering import stable_order
from .refusal import Refusal
from .snapshot import Mesh, injection_labels


@dataclass(frozen=True)
class Wishes:
    """What the user asks for; tags None means every tag that points at the old revision."""

    from_revision: str
    to_revision: str
    tags: Sequence[str] | None = None
    canary_namespaces: Sequence[str] = ()
    canary_tags: Sequence[str] = ()
    waves: Sequence[int] = field(default=(100,))


def plan_upgrade(mesh: Mesh, wishes: Wishes) -> dict[str, Any]:
    """The journal of an upgrade that has not done anything yet: plan and snapshot, as plain data.

    Raises:
        Refusal: the wishes cannot be met; nothing has been written.
    """
    _refuse_nonsense(mesh, wishes)
    tags = _tags(mesh, wishes)
    canaries = _canaries(mesh, wishes)
    by_canary_tag = [name for name in mesh.namespaces if _uses(mesh, name, wishes.canary_tags)]
    moving = [name for name in mesh.namespaces if _moves(mesh, name, wishes.from_revision, tags)]
    moving_tags = [*tags, *wishes.canary_tags]
    first = sorted({*canaries, *by_canary_tag})
    rest = stable_order(set(moving) - set(first))
    scope = sorted({*first, *rest})
    return {
        "from_revision": wishes.from_revision,
        "to_revision": wishes.to_revision,
        "tags": {tag: mesh.tags[tag].revision for tag in tags},
        "plan": {
            "canary": {"namespaces": first, "relabel": sorted(canaries), "tags": list(wishes.canary_tags)},
            "waves": [
                {
                    "name": f"wave {number}",
                    "namespaces": sorted(wave),
                    "relabel": sorted(name for name in wave if _labelled_for(mesh, name, wishes.from_revision)),
                }
                for number, wave in enumerate(split(rest, wishes.waves), 1)
            ],
            "labels_back": {
                name: injection_labels(mesh.namespaces[name]) for name in sorted(canaries) if mesh.tag_used_by(name) in moving_tags
            },
            "namespaces": scope,
        },
        "snapshot": {
            "namespaces": {name: injection_labels(mesh.namespaces[name]) for name in scope},
            "tags": {tag: mesh.tags[tag].revision for tag in moving_tags},
            "workloads": [
                {
                    "kind": workload.owner.kind,
                    "namespace": workload.owner.namespace,
                    "name": workload.owner.name,
                    "revisions": workload.revisions,
                }
                for workload in mesh.workloads
                if workload.owner.namespace in scope
            ],
        },
        "records": [],
    }


def _moves(mesh: Mesh, namespace: str, from_revision: str, tags: Sequence[str]) -> bool:
    """Whether pods of a namespace are injected by the old revision, directly or through one of its tags; a sick istiod is no excuse."""
    return _uses(mesh, namespace, tags) or _labelled_for(mesh, namespace, from_revision)


def _uses(mesh: Mesh, namespace: str, tags: Sequence[str]) -> bool:
    """Whether a tag injects the namespace, or pods in it that ask by a label of their own."""
    return mesh.tag_used_by(namespace) in tags or not mesh.tags_of_pods.get(namespace, set()).isdisjoint(tags)


def _labelled_for(mesh: Mesh, namespace: str, revision: str) -> bool:
    """Whether the revision injects the namespace without a tag between them."""
    injector = mesh.verdict(namespace).injector
    return injector is not None and injector.tag is None and injector.revision == revision


def _refuse_nonsense(mesh: Mesh, wishes: Wishes) -> None:
    mesh.require_revision(wishes.from_revision)
    if wishes.from_revision == wishes.to_revision:
        raise Refusal(f'an upgrade needs two revisions, and both are "{wishes.to_revision}". Name the new one as mesh_to.')
    if not is_dns_label(wishes.to_revision):
        raise Refusal(f'"{wishes.to_revision}" cannot be a revision: use lower-case letters, digits and "-", at most 63 (a DNS label).')
    if wishes.to_revision in mesh.tags:
        raise Refusal(f'"{wishes.to_revision}" is a tag. Name the revision it shall point at.')
    if not wishes.waves or list(wishes.waves) != sorted(set(wishes.waves)) or wishes.waves[0] < 1 or wishes.waves[-1] != 100:
        raise Refusal(f"waves are growing percentages that end with 100, such as [25, 100]; got {list(wishes.waves)}.")


def _canaries(mesh: Mesh, wishes: Wishes) -> list[str]:
    names = mesh.require_namespaces(wishes.canary_namespaces)
    for name in names:
        verdict = mesh.verdict(name)
        if verdict.revision not in (wishes.from_revision, wishes.to_revision):
            raise Refusal(
                f'namespace "{name}" cannot be a canary: "{wishes.from_revision}" does not inject it now ({verdict.reason}). '
                "Choose one that it injects, or label this one first."
            )
    return names


def _tags(mesh: Mesh, wishes: Wishes) -> list[str]:
    both = sorted(set(wishes.tags or ()) & set(wishes.canary_tags))
    if both:
        raise Refusal(f"tag {', '.join(both)} is both a canary tag and a tag of the rest. Name it once.")
    for name in [*(wishes.tags or ()), *wishes.canary_tags]:
        if name not in mesh.tags:
            raise Refusal(f'tag "{name}" does not exist (known: {", ".join(mesh.tags) or "none"}). Correct the name, or set the tag first.')
        if mesh.tags[name].revision not in (wishes.from_revision, wishes.to_revision):
            raise Refusal(
                f'tag "{name}" points at "{mesh.tags[name].revision}", not at "{wishes.from_revision}". Leave it out, or start there.'
            )
    if wishes.tags is None:
        return [tag.name for tag in mesh.tags.values() if tag.revision == wishes.from_revision and tag.name not in wishes.canary_tags]
    return list(wishes.tags)


def split(names: Sequence[str], percents: Sequence[int]) -> list[list[str]]:
    """Cut a list at growing percentages, rounded up, leaving out empty parts."""
    bounds = [0, *(-(-len(names) * percent // 100) for percent in percents)]
    return [list(names[start:end]) for start, end in zip(bounds, bounds[1:]) if end > start]


def same_upgrade(journal: Mapping[str, Any], wishes: Wishes) -> bool:
    """Whether a journal belongs to this upgrade, so that a run continues it."""
    return (journal["from_revision"], journal["to_revision"]) == (wishes.from_revision, wishes.to_revision)
