#!/usr/bin/env python3
# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Show this checkout to Ansible and Python as the collection meshops.istio, wherever it was cloned to.

    collection_tree.py link ROOT     ROOT/ansible_collections/meshops/istio is a link to the checkout
    collection_tree.py copy ROOT     ... is a real copy of what git tracks or would track (ansible-test refuses links)

Both print ROOT, which is what belongs into ANSIBLE_COLLECTIONS_PATH.
"""

from __future__ import annotations

import shutil
import subprocess
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


def copy(root: Path) -> Path:
    """Bring the copy below root up to date and return root. tests/output, where ansible-test keeps its virtual environments, stays."""
    place = root / COLLECTION
    wanted = {path for path in _files_of_git() if (CHECKOUT / path).exists()}
    for old in list(place.rglob("*")):
        inside = old.relative_to(place)
        if inside not in wanted and inside.parts[:2] != ("tests", "output") and not (old.is_dir() and not old.is_symlink()):
            old.unlink()
    for path in wanted:
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(CHECKOUT / path, place / path, follow_symlinks=False)
    return root


def _files_of_git() -> set[Path]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=CHECKOUT, check=True, capture_output=True, text=True).stdout
    return {Path(name) for name in listed.split("\0") if name}


if __name__ == "__main__":
    commands = {"link": link, "copy": copy}
    if len(sys.argv) != 3 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    print(commands[sys.argv[1]](Path(sys.argv[2]).resolve()))
