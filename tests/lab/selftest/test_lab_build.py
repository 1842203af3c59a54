# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs are built once per content, with a sentence when they cannot be."""

from __future__ import annotations

import io
import subprocess
from pathlib import Path

import pytest

from meshlab import build as building
from meshlab.components import FAMILIES, Family, Program
from meshlab.errors import LabError
from meshlab.paths import Paths
from meshlab.progress import Progress


@pytest.fixture
def family(tmp_path: Path) -> Family:
    """A program without dependencies."""
    directory = tmp_path / "source"
    directory.mkdir()
    (directory / "go.mod").write_text("module example.test/hello\n\ngo 1.26.0\n")
    (directory / "main.go").write_text('package main\n\nimport "fmt"\n\nvar word = "nothing"\n\nfunc main() { fmt.Println(word) }\n')
    return Family("hello", directory, (Program("hello", ".", "-X main.word=hello"),))


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    paths = Paths(tmp_path / "home")
    paths.cache.mkdir(parents=True)
    return paths


def test_the_second_build_takes_the_first_ones_result(family: Family, paths: Paths) -> None:
    said = io.StringIO()
    program = building.Builder(paths, Progress(said)).programs(family)["hello"]
    again = building.Builder(paths, Progress(said)).programs(family)["hello"]

    assert subprocess.run([program], capture_output=True, text=True, check=True).stdout == "hello\n"
    assert again == program
    assert said.getvalue().count("built in") == 1


def test_a_program_that_does_not_compile_shows_what_go_said(family: Family, paths: Paths) -> None:
    (family.directory / "main.go").write_text("package main\n\nfunc main() { missing() }\n")

    with pytest.raises(LabError, match=r"(?s)cannot build hello from .*undefined: missing"):
        building.Builder(paths, Progress(io.StringIO())).programs(family)

    assert not [path for path in paths.cache.rglob("*") if path.name == "hello"]


@pytest.mark.parametrize("name", ["go.mod", "go.sum", "tools.go", "main.go", "inner/more.go"])
def test_the_key_follows_every_source(family: Family, name: str) -> None:
    before = building.key(family)
    source = family.directory / name
    source.parent.mkdir(exist_ok=True)
    source.write_text("// changed\n")

    assert building.key(family) != before


def test_the_key_ignores_tests_and_prose(family: Family) -> None:
    before = building.key(family)
    (family.directory / "main_test.go").write_text("package main\n")
    (family.directory / "README.md").write_text("hello\n")

    assert building.key(family) == before


def test_brought_programs_are_taken(family: Family, paths: Paths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assets = tmp_path / "assets"
    assets.mkdir()
    (assets / "hello").write_text("#!/bin/sh\n")
    (assets / "hello").chmod(0o755)
    builder = building.Builder(paths, Progress(io.StringIO()))

    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))
    assert builder.programs(family) == {"hello": assets / "hello"}

    monkeypatch.delenv("KUBEBUILDER_ASSETS")
    monkeypatch.setenv("PATH", str(assets))
    monkeypatch.setenv("MESHLAB_USE_PATH", "1")
    assert builder.programs(family) == {"hello": assets / "hello"}


def test_no_two_programs_share_a_name() -> None:
    names = [program.name for family in FAMILIES for program in family.programs]

    assert len(names) == len(set(names))
