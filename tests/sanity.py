#!/usr/bin/env python3
# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run ansible-test sanity on the archive that Galaxy would get, without containers and with nothing but a Python package index.

    sanity.py [ARGUMENT OF ANSIBLE-TEST...]        for example: sanity.py --test pylint plugins/modules/istio_tag.py

ansible-test bootstraps pip into its virtual environments with a script from a host that many networks do not reach.
It looks in its cache first, so a stand-in that uses Python's own ensurepip is put there. The cache is in a home directory
of our own: the contributor's ~/.ansible stays as it was.
"""

from __future__ import annotations

import ast
import configparser
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import collection_tree

CACHE = collection_tree.CHECKOUT / ".cache" / "ansible-test"

GET_PIP = '''\
"""Stand-in for get-pip.py: pip from ensurepip, then the packages asked for."""
import subprocess, sys
wanted = [argument for argument in sys.argv[1:] if argument not in ("--no-setuptools", "--no-wheel")]
subprocess.check_call([sys.executable, "-m", "ensurepip", "--default-pip"], stdout=subprocess.DEVNULL)
subprocess.check_call([sys.executable, "-m", "pip", "install", *wanted])
'''


def main() -> int:
    home = CACHE / "home"
    write_bootstrap(home)
    write_pip_configuration(home)
    unpack_collection(CACHE / collection_tree.COLLECTION)
    add_dependencies(CACHE)
    return subprocess.run(
        ["ansible-test", "sanity", "--venv", "--python", f"{sys.version_info.major}.{sys.version_info.minor}", *sys.argv[1:]],
        cwd=CACHE / collection_tree.COLLECTION,
        env=os.environ | {"HOME": str(home)},
        check=False,
    ).returncode


def write_bootstrap(home: Path) -> None:
    """One stand-in for each pip version that this ansible-test may ask for; the version is part of the file's name."""
    source = package_directory("ansible_test") / "_internal" / "python_requirements.py"
    versions = set(re.findall(r"""\bpip=['"]([\d.]+)['"]""", source.read_text(encoding="utf-8")))
    if not versions:
        sys.exit(f"{source} names no pip version any more: see how this ansible-core bootstraps pip and adapt {__file__}.")
    cache = home / ".ansible" / "test" / "cache"
    cache.mkdir(parents=True, exist_ok=True)
    for version in versions:
        (cache / f"get_pip_{version.replace('.', '_')}.py").write_text(GET_PIP, encoding="utf-8")


def write_pip_configuration(home: Path) -> None:
    """ansible-test hides PIP_* variables from pip, and the home is another one: hand on index, certificates and the like."""
    listed = subprocess.run([sys.executable, "-m", "pip", "config", "list"], check=True, capture_output=True, text=True).stdout
    config = configparser.RawConfigParser()
    config.read_dict({"global": {"quiet": "1"}})
    for key, value in re.findall(r"^(?:global|install|:env:)\.(\S+?)=(.*)$", listed, flags=re.MULTILINE):
        config.set("global", key, ast.literal_eval(value))
    place = home / ".config" / "pip" / "pip.conf"
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.open("w", encoding="utf-8") as file:
        config.write(file)


def unpack_collection(place: Path) -> None:
    """Build the archive and unpack it in place of the last one. tests/output, where ansible-test keeps virtual environments, stays."""
    build = CACHE / "archive"
    shutil.rmtree(build, ignore_errors=True)
    command = ["ansible-galaxy", "collection", "build", "--output-path", build]
    subprocess.run(command, cwd=collection_tree.CHECKOUT, check=True, stdout=subprocess.DEVNULL)
    for old in place.rglob("*"):
        if (old.is_symlink() or old.is_file()) and not old.is_relative_to(place / "tests" / "output"):
            old.unlink()
    place.mkdir(parents=True, exist_ok=True)
    (archive,) = build.glob("*.tar.gz")
    subprocess.run(["tar", "-xzf", archive, "-C", place], check=True)
    # A repository of its own, else ansible-test asks that of the checkout, which ignores all of .cache.
    subprocess.run(["git", "init", "--quiet", CACHE], check=True)


def add_dependencies(root: Path) -> None:
    """ansible-test sees only collections of its own tree, so kubernetes.core joins it."""
    source = package_directory("ansible_collections") / "kubernetes" / "core"
    place = root / "ansible_collections" / "kubernetes" / "core"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    place.symlink_to(source, target_is_directory=True)


def package_directory(name: str) -> Path:
    """Where an installed package (a namespace package too) lies."""
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        sys.exit(f"The Python package {name} is not installed: run make venv.")
    return Path(next(iter(spec.submodule_search_locations)))


if __name__ == "__main__":
    sys.exit(main())
