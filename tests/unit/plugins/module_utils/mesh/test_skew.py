# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from mesh_objects import World

from ansible_collections.meshops.istio.plugins.module_utils.mesh.skew import definition_findings, skew_findings
from ansible_collections.meshops.istio.plugins.module_utils.mesh.tags_in_git import tags_in_git


@pytest.mark.parametrize(
    ("kubernetes", "before", "after", "codes"),
    [
        ("v1.34.1", "1.30.3", "1.31.0", []),
        ("v1.31.9", "1.30.3", "1.31.0", ["kubernetes-too-old"]),
        ("v1.27.1+k3s1", "1.23.0", "1.24.0", ["kubernetes-too-old"]),
        ("v1.34.1", "1.29.0", "1.31.0", []),
        ("v1.34.1", "1.28.0", "1.31.0", ["istio-jumps"]),
        ("v1.34.1", "1.31.0", "1.30.0", ["istio-downgrade"]),
        ("v1.34.1", "1.31.2", "1.31.0", []),
        ("v1.20.0", "1.30.0", "1.40.0", ["skew-unknown", "istio-jumps"]),
        ("v1.34.1", None, "1.31.0", []),
        (None, "1.30.0", None, []),
        ("v1.34.1", "1.31.0-dev.20260423", "1.32.0-dev.20260827", ["skew-unknown"]),
        ("v1.34.1", "latest", "1.31.0", ["skew-unknown"]),
        ("v1.34.1", "1.30.0", "latest", ["skew-unknown"]),
    ],
)
def test_versions_that_do_not_go_together(kubernetes: str | None, before: str | None, after: str | None, codes: list[str]) -> None:
    assert [found.code for found in skew_findings(kubernetes, before, after)] == codes


@pytest.mark.parametrize(
    ("name", "labels", "after", "found"),
    [
        ("gateways.networking.istio.io", {"app.kubernetes.io/version": "1.30.0"}, "1.31.0", True),
        ("gateways.networking.istio.io", {"app.kubernetes.io/version": "1.31.0"}, "1.31.2", False),
        ("gateways.networking.istio.io", {"app.kubernetes.io/version": "1.30.0", "operator.istio.io/version": "1.31.0"}, "1.31.0", False),
        ("gateways.networking.istio.io", {"app.kubernetes.io/version": "1.0.0"}, "1.31.0", False),
        ("gateways.networking.istio.io", {}, "1.31.0", False),
        ("gateways.gateway.networking.k8s.io", {"app.kubernetes.io/version": "1.30.0"}, "1.31.0", False),
        ("gateways.networking.istio.io", {"app.kubernetes.io/version": "1.30.0"}, None, False),
    ],
)
def test_definitions_that_are_older_than_what_comes(name: str, labels: dict[str, str], after: str | None, found: bool) -> None:
    codes = [each.code for each in definition_findings([{"metadata": {"name": name, "labels": labels}}], after)]

    assert codes == (["crds-behind-target"] if found else [])


def test_a_tag_that_moves_and_is_kept_in_git_is_told() -> None:
    world = World("stable", "canary").tag("prod", "stable").tag("next", "canary")
    for name in ("prod", "next"):
        world.find("mutating", f"istio-revision-tag-{name}")["metadata"]["annotations"] = {"argocd.argoproj.io/tracking-id": "mesh:x"}
    (found,) = tags_in_git(world.mesh(), "stable")

    assert (found.code, found.object) == ("tag-in-git", "Tag prod")
    assert found.message.startswith('Argo CD keeps the webhook of tag "prod" in Git')
    assert list(tags_in_git(World("stable").tag("prod", "stable").mesh(), "stable")) == []
