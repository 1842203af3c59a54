# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Removing a tag: what goes, what comes back, and who would lose the injector."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from .changes import Change, Ref
from .names import DEFAULT, DEFAULT_VALIDATOR, REVISION_LABEL, TAG_LABEL
from .pod_template import PodTemplate
from .refusal import Refusal
from .revisions import labels_of
from .snapshot import NOUNS, Mesh
from .tag_objects import switch_on_again, validator_change
from .tags import TagMove, refuse_foreign, users_of
from .transition import unfinished_tags
from .words import counted, some
from .workloads import Owner

TAG_GUARDS = ("namespaces", "pod_labels")
"""What can keep a tag, each waived by its own name."""

Asking = Iterable[tuple[Owner, PodTemplate]]
"""Owners of pods, and what of the pods decides."""


def plan_tag_removal(mesh: Mesh, name: str, waive: Sequence[str] = (), asking: Asking = ()) -> TagMove:
    """Remove a tag. An injector that the default tag has switched off comes back first, so that its namespaces are never without one.

    Args:
        mesh: as it is.
        name: the tag.
        waive: guards that shall not keep it.
        asking: the pods that live, and the templates of workloads that have none now.

    Raises:
        Refusal: the tag is somebody else's, or somebody would lose the injector and that guard is not waived; nothing has been written.
    """
    refuse_foreign(mesh, name)
    back = switch_on_again(mesh) if name == DEFAULT else []
    gone = [
        Change(Ref(kind, thing["metadata"].get("namespace"), thing["metadata"]["name"]), thing, None)
        for kind, noun in NOUNS.items()
        for thing in mesh.raw[noun]
        if labels_of(thing).get(TAG_LABEL) == name
    ]
    changes = (*back, *_validator_of(mesh, back), *gone) if gone else ()
    _refuse_losses(name, _losses(mesh, mesh.after(changes), asking), waive)
    unfinished = unfinished_tags(mesh).get(name)
    current = mesh.tags[name].revision if name in mesh.tags else None
    return TagMove(name, None, unfinished.previous if unfinished else current, users_of(mesh, name), changes)


def _validator_of(mesh: Mesh, back: Iterable[Change]) -> Iterator[Change]:
    """The base chart's default validator, which goes back together with the injector; a tag's own validator is removed."""
    named = [thing for thing in mesh.raw["validating"] if thing["metadata"]["name"] == DEFAULT_VALIDATOR]
    for change in back:
        revision = labels_of(change.after or {}).get(REVISION_LABEL)
        if revision in mesh.revisions and named and TAG_LABEL not in labels_of(named[0]):
            validator = validator_change(mesh, revision)
            if validator.needed:
                yield validator


def _losses(mesh: Mesh, after: Mesh, asking: Asking) -> dict[str, list[str]]:
    """Guard → whose pods nobody would inject any more."""
    namespaces = [name for name in sorted(mesh.namespaces) if mesh.verdict(name).injector and not after.verdict(name).injector]
    owners = {
        owner
        for owner, pod in asking
        if owner.namespace not in namespaces
        and mesh.verdict_of(owner.namespace, pod).injector
        and not after.verdict_of(owner.namespace, pod).injector
    }
    return {"namespaces": namespaces, "pod_labels": sorted(map(str, owners))}


def _refuse_losses(name: str, losses: dict[str, list[str]], waive: Sequence[str]) -> None:
    kept_by = {guard: names for guard, names in losses.items() if names and guard not in waive}
    if not kept_by:
        return
    said = []
    if "namespaces" in kept_by:
        said.append(f"{counted(len(kept_by['namespaces']), 'namespace')} ({some(kept_by['namespaces'])})")
    if "pod_labels" in kept_by:
        said.append(f"{counted(len(kept_by['pod_labels']), 'workload')} with a label of its own ({some(kept_by['pod_labels'])})")
    raise Refusal(
        f'tag "{name}" is kept: {" and ".join(said)} would start pods without a sidecar. Relabel them first (ns_revision_label), or '
        f"waive a guard by its name ({', '.join(kept_by)}).",
        blockers=kept_by,
    )
