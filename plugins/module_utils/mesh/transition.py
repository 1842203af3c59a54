# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The note that a tag under way carries: from which revision it moves, and to which."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from .changes import Object, without_annotation
from .names import TAG_LABEL, TRANSITION_ANNOTATION
from .revisions import annotations_of, labels_of
from .snapshot import Mesh


@dataclass(frozen=True)
class Transition:
    """A move that has begun; previous is None where there was no tag."""

    previous: str | None
    revision: str

    def __str__(self) -> str:
        return f'from "{self.previous}" to "{self.revision}"' if self.previous else f'as a new tag, to "{self.revision}"'


def transition_of(thing: Object) -> Transition | None:
    """The note on an object, None without one or when it cannot be read."""
    try:
        found = json.loads(annotations_of(thing).get(TRANSITION_ANNOTATION, "null"))
        return Transition(found["from"], found["to"]) if found else None
    except (ValueError, KeyError, TypeError):
        return None


def marked(thing: Object, transition: Transition) -> dict[str, Any]:
    """A copy with the note."""
    copy = unmarked(thing)
    note = json.dumps({"from": transition.previous, "to": transition.revision}, sort_keys=True)
    copy["metadata"].setdefault("annotations", {})[TRANSITION_ANNOTATION] = note
    return copy


def unmarked(thing: Object) -> dict[str, Any]:
    """A copy without the note."""
    return without_annotation(thing, TRANSITION_ANNOTATION)


def unfinished_tags(mesh: Mesh) -> dict[str, Transition]:
    """Tag → the move that a run began and did not end."""
    notes = ((labels_of(thing).get(TAG_LABEL), transition_of(thing)) for thing in mesh.raw["mutating"])
    return {tag: transition for tag, transition in notes if tag is not None and transition is not None}
