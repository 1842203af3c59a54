#!/usr/bin/env python3
# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Show this checkout to Ansible and Python as the collection meshops.istio, wherever it was cloned to.

    collection_tree.py ROOT     makes ROOT/ansible_collections/meshops/istio a link to the checkout

ROOT is then what belongs into ANSIBLE_COLLECTIONS_PATH.
"""

from __future__ import annotations

import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
COLLECTION = Path("ansible_collections", "meshops", "istio")


def link(root: Path) -> Path:
    """Make the tree of links below root and return root. Leaves a link that is right alone, so parallel runs do not collide."""
    place = root / COLLECTION
    place.parent.mkdir(parents=True, exist_ok=True)
    if not (place.is_symlink() and place.resolve() == CHECKOUT):
        place.unlink(missing_ok=True)
        place.symlink_to(CHECKOUT, target_is_directory=True)
    return root


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    link(Path(sys.argv[1]).resolve())
