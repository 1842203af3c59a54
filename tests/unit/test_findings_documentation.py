# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the collection finds is explained where its results say."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import yaml

from ansible_collections.meshops.istio.plugins.module_utils.mesh.finding import DOCUMENTATION, Finding

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "findings.md"


def codes() -> Iterator[str]:
    """The code of every Finding(...) in the plugins."""
    for path in (ROOT / "plugins").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Finding":
                code = node.args[0] if node.args else next(part.value for part in node.keywords if part.arg == "code")
                assert isinstance(code, ast.Constant), f"{path}:{node.lineno}: the code of a finding is a literal"
                yield code.value


def test_every_finding_has_its_section_and_every_section_its_finding_in_alphabetical_order() -> None:
    headings = re.findall(r"^## (.+)$", PAGE.read_text(), re.MULTILINE)

    assert headings == sorted(set(codes()))


def test_a_finding_links_to_its_section_in_the_repository() -> None:
    repository = yaml.safe_load((ROOT / "galaxy.yml").read_text())["repository"]
    finding = Finding("tag-split", "error", "Tag prod", "it is split.", "Move it.")

    assert f"{repository}/blob/main/{PAGE.relative_to(ROOT)}" == DOCUMENTATION
    assert finding.as_result()["documentation"] == f"{DOCUMENTATION}#tag-split"
