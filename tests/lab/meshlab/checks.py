# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the lab needs of the machine, refused in a sentence before anything starts."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from meshlab.errors import LabError

GIB = 1 << 30
ROOM_PER_PROGRAM = 1.1 * GIB
"""Bytes a program takes when nothing is cached: 14 GiB for all, most of it in Go's own caches."""
ROOM_TO_RUN = 1 * GIB
PROXY_UID = 1337

PACKAGES = {"unshare": "util-linux", "nsenter": "util-linux", "setpriv": "util-linux", "ip": "iproute2"}
ID_MAPPERS = ("newuidmap", "newgidmap")


def machine(home: Path) -> None:
    """Raises LabError where the lab cannot run at all."""
    if sys.platform != "linux":
        raise LabError(
            f"the lab needs Linux (this is {sys.platform}): it is made of Linux namespaces. Use a Linux machine or a virtual one."
        )
    _tools(PACKAGES)
    _room(home, ROOM_TO_RUN, "run the lab")
    namespaces()


def namespaces() -> None:
    """Tries the very namespaces the lab enters."""
    if os.geteuid() != 0:
        _subordinate_ids()
    command = ["unshare", *unshare_flags(), "true"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode == 0:
        return
    why = answer.stderr.strip() or f"unshare ended with {answer.returncode}"
    if os.geteuid() == 0:
        advice = "In a container, give it more rights (docker run --privileged), or run the lab outside."
    else:
        advice = (
            "Either this system does not let ordinary users make user namespaces (sysctl user.max_user_namespaces, "
            "kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns), or its util-linux is older than 2.38. "
            "As root the lab works without them."
        )
    raise LabError(f"the lab cannot make its namespaces: {why}. {advice}")


def unshare_flags() -> list[str]:
    """How the sandbox is made: when its first process or its maker dies, by kill -9 too, the kernel ends all of it."""
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user", "--map-auto"]
    return [*user, "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]


def room_to_build(cache: Path, programs: int) -> None:
    """Raises LabError when building so many programs might fill the disk."""
    _room(cache, programs * ROOM_PER_PROGRAM, f"build {programs} of the lab's programs")


def _tools(packages: dict[str, str]) -> None:
    missing = [tool for tool in packages if not shutil.which(tool)]
    if missing:
        wanted = sorted({packages[tool] for tool in missing})
        raise LabError(f"the lab needs {_and(missing)}, which are not on PATH: install {_and(wanted)} with your package manager.")


def _subordinate_ids() -> None:
    """An ordinary user needs a range of ids that reaches past the proxies' uid."""
    missing = [tool for tool in ID_MAPPERS if not shutil.which(tool)]
    if missing:
        raise LabError(
            f"as an ordinary user the lab needs {_and(missing)}, which are not on PATH: install uidmap (Debian, Ubuntu) or "
            "shadow-utils (Fedora), or run the lab as root."
        )


def _room(place: Path, wanted: float, purpose: str) -> None:
    existing = next(path for path in (place, *place.parents) if path.exists())
    free = shutil.disk_usage(existing).free
    if free < wanted:
        raise LabError(
            f"there is too little disk to {purpose}: {free / GIB:.1f} GiB are free at {existing}, {wanted / GIB:.0f} GiB are needed. "
            "Free some, or point MESHLAB_HOME (and GOCACHE, GOMODCACHE for builds) elsewhere."
        )


def _and(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
