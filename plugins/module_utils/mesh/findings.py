# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is wrong with a mesh, each with a stable code, and what to do about it."""

from __future__ import annotations

from .checks.injectors import injector_findings
from .checks.leftovers import leftover_findings
from .checks.namespaces import namespace_findings
from .checks.pods import pod_findings
from .checks.shared import shared_findings
from .checks.tags import tag_findings
from .checks.templates import template_findings
from .checks.validators import validator_findings
from .finding import Finding, in_order
from .snapshot import Mesh

CHECKS = (
    injector_findings,
    tag_findings,
    validator_findings,
    namespace_findings,
    pod_findings,
    template_findings,
    shared_findings,
    leftover_findings,
)


def findings(mesh: Mesh) -> list[Finding]:
    """Everything that is wrong with the mesh, errors first."""
    return in_order(finding for check in CHECKS for finding in check(mesh))
