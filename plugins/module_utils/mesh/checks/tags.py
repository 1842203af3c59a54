# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tags that point nowhere, two ways, or at what they are named like."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..finding import ERROR, WARNING, Finding
from ..injectors import Reachability
from ..names import DEFAULT, HELM_RELEASE_ANNOTATION, REVISION_LABEL, TAG_LABEL
from ..revisions import Tag, annotations_of, labels_of
from ..snapshot import Mesh


def tag_findings(mesh: Mesh) -> Iterator[Finding]:
    """By the webhook and the Service of each tag."""
    for tag in mesh.tags.values():
        yield from _split(tag)
        yield from _dangling(mesh, tag)
        yield from _named_like_a_revision(mesh, tag)
        yield from _of_another_release(mesh, tag)


def _split(tag: Tag) -> Iterator[Finding]:
    if tag.service_revision not in (None, tag.revision):
        yield Finding(
            "tag-split",
            ERROR,
            f"Tag {tag.name}",
            f'the webhook of tag "{tag.name}" names revision "{tag.revision}" and its Service "{tag.service_revision}": both claim it.',
            "Run istio_tag with the revision you want; it moves both.",
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


def _of_another_release(mesh: Mesh, tag: Tag) -> Iterator[Finding]:
    """Helm brings back what one of its releases owns, and refuses to take over what another owns."""
    said = next((_release(thing) for thing in mesh.raw["mutating"] if labels_of(thing).get(TAG_LABEL) == tag.name), None)
    own = next((_release(thing) for thing in mesh.raw["istiod_deployments"] if labels_of(thing).get(REVISION_LABEL) == tag.revision), None)
    if said not in (None, own):
        yield Finding(
            "tag-of-another-release",
            WARNING,
            f"Tag {tag.name}",
            f'tag "{tag.name}" points at revision "{tag.revision}", but says that it belongs to the Helm release "{said}": '
            "the next upgrade of that release can move it back, and its removal takes the tag along.",
            f'Take "{tag.name}" out of revisionTags of that release, then set it with istio_tag.',
        )


def _release(thing: Mapping[str, Any]) -> str | None:
    """The Helm release that an object says it belongs to."""
    return annotations_of(thing).get(HELM_RELEASE_ANNOTATION)
