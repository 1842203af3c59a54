# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tags that somebody else puts back."""

from __future__ import annotations

from collections.abc import Iterator

from .finding import WARNING, Finding
from .managers import product_of, tracker_of
from .names import TAG_LABEL
from .revisions import labels_of
from .snapshot import Mesh


def tags_in_git(mesh: Mesh, revision: str) -> Iterator[Finding]:
    """Tags of a revision that will move, and that somebody else puts back."""
    for webhook in mesh.raw["mutating"]:
        tag = mesh.tags.get(labels_of(webhook).get(TAG_LABEL, ""))
        tracker = tracker_of(webhook)
        if tag and tag.revision == revision and tracker:
            yield Finding(
                "tag-in-git",
                WARNING,
                f"Tag {tag.name}",
                f'{product_of(tracker)} keeps the webhook of tag "{tag.name}" in Git, and moves it back soon after the upgrade.',
                "Move the tag in Git and leave it out of mesh_tags, or take it out of Git first.",
            )
