# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A mesh that is well has no findings, whoever installed it: one false alarm teaches people to read none of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from helm import OPERATOR
from kubectl import must
from world import Mesh

ENABLED, STABLE, CANARY, PROD = (
    {"istio-injection": "enabled"},
    {"istio.io/rev": "stable"},
    {"istio.io/rev": "canary"},
    {"istio.io/rev": "prod"},
)


@dataclass(frozen=True)
class Step:
    """How a mesh is installed further, and a namespace that then has a workload."""

    name: str
    make: Callable[[Mesh], None]
    labels: dict[str, str]


def istioctl_without_revision(_mesh: Mesh) -> None:
    must("istioctl-old", "install", "--skip-confirmation", "--filename", OPERATOR)


BY_ISTIOCTL = (
    Step("istioctl without a revision", istioctl_without_revision, ENABLED),
    Step("a canary beside it", lambda mesh: mesh.revisions("canary"), CANARY),
    Step("a tag", lambda mesh: mesh.tag("prod", "canary"), PROD),
)
BY_ISTIOCTL_WITH_REVISION = (
    Step("istioctl with a revision", lambda mesh: mesh.revisions("stable"), STABLE),
    Step("a canary beside it", lambda mesh: mesh.revisions("canary"), ENABLED),
    Step("a tag of ours", lambda mesh: mesh.module("istio_tag", name="prod", revision="stable") and None, PROD),
)
BY_HELM = (
    Step("Helm without a revision", lambda mesh: mesh.helm(version="old"), ENABLED),
    Step("a canary beside it", lambda mesh: mesh.helm("canary"), CANARY),
    Step("a tag by istioctl over Helm", lambda mesh: mesh.tag("prod", "canary"), PROD),
)
BY_HELM_WITH_TAGS = (
    Step("Helm with a revision and a tag of its release", lambda mesh: mesh.helm("stable", ["prod"], version="old"), PROD),
    Step("Helm with a default revision", lambda mesh: mesh.helm("stable", ["prod"], version="old", default_revision="stable"), STABLE),
    Step("a canary beside it", lambda mesh: mesh.helm("canary", ["next"], default_revision="stable"), {"istio.io/rev": "next"}),
    Step("the default tag of ours over Helm", lambda mesh: mesh.module("istio_tag", name="default", revision="stable") and None, ENABLED),
)


@pytest.mark.parametrize("steps", [BY_ISTIOCTL, BY_ISTIOCTL_WITH_REVISION, BY_HELM, BY_HELM_WITH_TAGS], ids=lambda steps: steps[0].name)
def test_healthy_a_mesh_of_every_installer_has_no_findings(fresh_mesh: Mesh, steps: tuple[Step, ...]) -> None:
    for number, step in enumerate(steps):
        step.make(fresh_mesh)
        fresh_mesh.namespace(f"shop-{number}", step.labels, ["web"])

        look = fresh_mesh.module("mesh_info").mesh

        assert look["findings"] == [], step.name
        assert look["workloads"], "there is something to find"
