# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Turns the table in components.py into programs: built once per content, one after the other, then linked into run/bin."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from meshlab import checks, fetch
from meshlab.components import ALIASES, FAMILIES, Family, Program
from meshlab.errors import LabError
from meshlab.locking import locked
from meshlab.paths import Paths
from meshlab.progress import Progress, duration

KEEP_UNUSED = 14 * 24 * 3600
"""Seconds a cached family stays after it was last used."""

ENVIRONMENT = {"CGO_ENABLED": "0", "GOFLAGS": "", "GOWORK": "off", "GOTOOLCHAIN": "local"}


def build(paths: Paths, progress: Progress) -> None:
    """Make every program available and point run/bin and run/share at it. Does nothing slow when all are cached.

    Labs that share a cache take turns, so that nothing is built twice.
    """
    with locked(paths.cache / "lock", progress):
        _build(paths, progress)


def _build(paths: Paths, progress: Progress) -> None:
    builder = Builder(paths, progress)
    programs: dict[str, Path] = {}
    shared: dict[str, Path] = {}
    for family in FAMILIES:
        programs.update(builder.programs(family))
        shared.update(builder.shared(family))
    programs["envoy"] = ready_made("envoy") or fetch.envoy(paths.cache, progress)
    programs.update({alias: programs[name] for alias, name in ALIASES.items()})
    _link(paths.bin, programs)
    _link(paths.share, shared)
    _forget_unused(paths.cache)
    made = sum(1 for name in programs if name not in ALIASES)
    progress.line("programs", f"{made} ready in {duration(time.monotonic() - builder.started)}")


def ready_made(name: str) -> Path | None:
    """A program the user brought: in KUBEBUILDER_ASSETS, or on PATH with MESHLAB_USE_PATH=1."""
    if assets := os.environ.get("KUBEBUILDER_ASSETS"):
        program = Path(assets).expanduser().absolute() / name
        if program.is_file():
            return program
    if os.environ.get("MESHLAB_USE_PATH") == "1" and (found := shutil.which(name)):
        return Path(found).absolute()
    return None


def key(family: Family) -> str:
    """16 hex digits that change whenever what `go build` makes of the family may change."""
    digest = hashlib.sha256()
    for source in _sources(family.directory):
        digest.update(f"{source.relative_to(family.directory)}\0".encode())
        digest.update(hashlib.sha256(source.read_bytes()).digest())
    flags = [program.arguments(Path(program.name)) for program in family.programs]
    digest.update(json.dumps([flags, ENVIRONMENT, platform.machine()]).encode())
    return digest.hexdigest()[:16]


def _sources(directory: Path) -> Iterator[Path]:
    for path in sorted(directory.rglob("*")):
        if path.name in ("go.mod", "go.sum") or (path.suffix == ".go" and not path.name.endswith("_test.go")):
            yield path


class Builder:
    """Builds in sequence: two Go links at once are slower than one after the other on the machines this is for."""

    def __init__(self, paths: Paths, progress: Progress) -> None:
        self._paths = paths
        self._progress = progress
        self._go: Path | None = None
        self.started = time.monotonic()

    def programs(self, family: Family) -> dict[str, Path]:
        """Where each program of the family is, built if it was not."""
        directory = self._directory(family)
        found = {}
        for program in family.programs:
            if mine := ready_made(program.name):
                self._progress.line(program.name, f"taken from {mine}")
                found[program.name] = mine
                continue
            target = directory / program.name
            if not target.exists():
                self._build(family, program, target)
            found[program.name] = target
        return found

    def shared(self, family: Family) -> dict[str, Path]:
        """Files the family's Go module brings along, by their name in run/share."""
        if family.extra is None:
            return {}
        directory = self._directory(family)
        for name, inside in family.extra.files.items():
            if not (directory / name).exists():
                self._copy(self._module(family) / inside, directory / name)
        version = family.version
        return {
            f"envoy_bootstrap-{version}.json": directory / "envoy_bootstrap.json",
            f"manifests-{version}": directory / "manifests",
            f"charts-{version}": directory / "manifests" / "charts",
        }

    def _missing(self) -> int:
        """How many programs are still to be built."""
        return sum(
            not (ready_made(program.name) or (self._directory(family) / program.name).exists())
            for family in FAMILIES
            for program in family.programs
        )

    def _directory(self, family: Family) -> Path:
        directory = self._paths.cache / f"{family.name}-{key(family)}"
        directory.mkdir(exist_ok=True)
        os.utime(directory)
        return directory

    def _build(self, family: Family, program: Program, target: Path) -> None:
        half = target.with_name(f".{target.name}.{os.getpid()}")
        command = self._command(family, *program.arguments(half))
        self._progress.start(program.name, "building")
        log = self._paths.cache / f"build-{program.name}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(command, cwd=family.directory, stdout=output, stderr=output, env=_environment())
            try:
                while process.poll() is None:
                    self._progress.tick()
                    time.sleep(0.2)
            finally:
                process.kill()
                process.wait()
        if process.returncode != 0:
            half.unlink(missing_ok=True)
            tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
            raise LabError(f"cannot build {program.name} from {family.directory}: go build failed. The end of {log}:\n{tail}")
        half.rename(target)
        log.unlink()
        self._progress.done("built")

    def _module(self, family: Family) -> Path:
        """The directory of the Go module whose files are wanted, downloaded if it was not."""
        if family.extra is None:
            raise LabError(f"family {family.name} takes no files from a Go module.")
        module = family.extra.module
        for arguments in (["mod", "download", module], ["list", "-m", "-f", "{{.Dir}}", module]):
            command = self._command(family, *arguments)
            answer = subprocess.run(command, cwd=family.directory, capture_output=True, text=True, check=False, env=_environment())
            if answer.returncode != 0:
                raise LabError(f"cannot read the Go module {module}: {answer.stderr.strip()}")
        return Path(answer.stdout.strip())

    def _copy(self, source: Path, target: Path) -> None:
        """Copies whole or not at all; the module cache is read-only, the copy is not."""
        half = target.with_name(f".{target.name}.{os.getpid()}")
        command = ["cp", "-r", "--no-preserve=mode", str(source), str(half)]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        if answer.returncode != 0:
            raise LabError(f"cannot copy {source} to {target}: {answer.stderr.strip()}")
        half.rename(target)

    def _command(self, family: Family, *arguments: str) -> list[str]:
        if not (family.directory / "go.mod").exists():
            raise LabError(f"cannot build {family.name}: {family.directory} has no go.mod. Is the checkout complete?")
        if self._go is None:
            checks.room_to_build(self._paths.cache, self._missing())
            self._go = fetch.go(self._paths.cache, self._progress)
        return [str(self._go), *arguments]


def _environment() -> dict[str, str]:
    return {**os.environ, **ENVIRONMENT}


def _link(directory: Path, targets: dict[str, Path]) -> None:
    """Make the directory hold exactly these links, each replaced in one step."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, target in targets.items():
        link = directory / name
        if link.is_symlink() and link.readlink() == target:
            continue
        half = directory / f".{name}.{os.getpid()}"
        half.symlink_to(target)
        half.replace(link)
    for entry in directory.iterdir():
        if entry.name not in targets:
            entry.unlink()


def _forget_unused(cache: Path) -> None:
    oldest = time.time() - KEEP_UNUSED
    for entry in cache.iterdir():
        if entry.is_dir() and entry.stat().st_mtime < oldest:
            shutil.rmtree(entry, ignore_errors=True)
