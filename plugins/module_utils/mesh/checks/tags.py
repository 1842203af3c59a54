# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tags that point nowhere, two ways, or at what they are named like."""

from __future__ import annotations

from collections.abc import Iterator

from ..finding import ERROR, WARNING, Finding
from ..injectors import Reachability
from ..managers import owned_labels
from ..names import DEFAULT, REVISION_LABEL, TAG_LABEL
from ..revisions import Tag, labels_of
from ..snapshot import Mesh
from ..transition import unfinished_tags


def tag_findings(mesh: Mesh) -> Iterator[Finding]:
    """By the webhook and the Service of each tag."""
    for tag in mesh.tags.values():
        yield from _split(tag)
        yield from _under_way(mesh, tag)
        yield from _dangling(mesh, tag)
        yield from _named_like_a_revision(mesh, tag)
    yield from _moved_beside_helm(mesh)


def _split(tag: Tag) -> Iterator[Finding]:
    if tag.service_revision not in (None, tag.revision):
        yield Finding(
            "tag-split",
            ERROR,
            f"Tag {tag.name}",
            f'the webhook of tag "{tag.name}" names revision "{tag.revision}" and its Service "{tag.service_revision}": both claim it.',
            "Run istio_tag with the revision you want; it moves both.",
        )


def _under_way(mesh: Mesh, tag: Tag) -> Iterator[Finding]:
    """A run is at work, or one has died."""
    transition = unfinished_tags(mesh).get(tag.name)
    if transition:
        yield Finding(
            "tag-transition-unfinished",
            WARNING,
            f"Tag {tag.name}",
            f'tag "{tag.name}" is being moved {transition}. If no run is at work, one has died before the end.',
            "Run istio_tag again: with the new revision it finishes the move, with the former one it goes back.",
        )


def _dangling(mesh: Mesh, tag: Tag) -> Iterator[Finding]:
    gone = any(injector.tag == tag.name and injector.reachable is Reachability.NO_SERVICE for injector in mesh.injectors)
    if gone or tag.revision not in mesh.revisions:
        yield Finding(
            "tag-dangling",
            ERROR,
            f"Tag {tag.name}",
            f'tag "{tag.name}" points at revision "{tag.revision}", which does not exist: pods that ask for it are rejected.',
            "Move the tag to a revision that exists with istio_tag, or remove it.",
        )


def _named_like_a_revision(mesh: Mesh, tag: Tag) -> Iterator[Finding]:
    if tag.name != DEFAULT and tag.name in mesh.revisions:
        yield Finding(
            "tag-named-like-revision",
            ERROR if tag.revision != tag.name else WARNING,
            f"Tag {tag.name}",
            f'tag "{tag.name}" of revision "{tag.revision}" has the name of a revision: both injectors act on the same pods, and the '
            "revision itself wins.",
            "Set a tag of another name with istio_tag, label its namespaces for that with ns_revision_label, and remove this one.",
        )


def _moved_beside_helm(mesh: Mesh) -> Iterator[Finding]:
    """Whoever moves a tag of a release becomes the owner of its revision label; Helm stays the owner of the rest."""
    for thing in mesh.raw.get("tag_records", ()):
        by_helm = [entry for entry in thing["metadata"].get("managedFields") or () if str(entry.get("manager")).startswith("helm")]
        tag = mesh.tags.get(labels_of(thing)[TAG_LABEL])
        if tag and by_helm and not any(REVISION_LABEL in owned_labels(entry) for entry in by_helm):
            yield Finding(
                "tag-moved-beside-helm",
                WARNING,
                f"Tag {tag.name}",
                f'tag "{tag.name}" belongs to a Helm release (revisionTags), and somebody else has moved it to revision "{tag.revision}": '
                "the next upgrade of that release moves it back, and its removal takes the tag along.",
                f'Take "{tag.name}" out of revisionTags of that release, then set it with istio_tag.',
            )
