# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""One thing that is wrong with a mesh, as modules tell it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

ERROR, WARNING, INFO = "error", "warning", "info"
SEVERITIES = (ERROR, WARNING, INFO)
"""Error: pods or config writes fail, or pods lose their sidecar now or when they are born again. The worst first."""

DOCUMENTATION = "https://github.com/meshops/istio-collection/blob/main/docs/findings.md"


@dataclass(frozen=True)
class Finding:
    """One thing to know.

    Attributes:
        code: stable, and the name of its section in docs/findings.md: always a literal, so that a test can compare the two.
        severity: one of SEVERITIES.
        object: what it is about: "Namespace shop".
        message: a sentence, what is wrong and why that matters.
        remedy: a sentence, what to do.
    """

    code: str
    severity: str
    object: str
    message: str
    remedy: str

    @property
    def documentation(self) -> str:
        """Where it is explained."""
        return f"{DOCUMENTATION}#{self.code}"

    def as_result(self) -> dict[str, Any]:
        """As modules return it."""
        return {**asdict(self), "documentation": self.documentation}


def in_order(found: Iterable[Finding]) -> list[Finding]:
    """The findings, errors first, then by code and object."""
    return sorted(found, key=lambda finding: (SEVERITIES.index(finding.severity), finding.code, finding.object))


def first_of_each_code(found: Iterable[Finding], size: int) -> list[Finding]:
    """At most so many findings of one code: one mistake can befall hundreds of namespaces."""
    seen: Counter[str] = Counter()
    kept = []
    for finding in found:
        seen[finding.code] += 1
        if seen[finding.code] <= size:
            kept.append(finding)
    return kept
