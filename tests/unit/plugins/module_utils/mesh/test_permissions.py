# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from ansible_collections.meshops.istio.plugins.module_utils.mesh.permissions import (
    EVERYWHERE,
    READ,
    SCOPE,
    STAGES,
    Missing,
    Right,
    permission_findings,
    rights_of,
    rules_of,
)

PATCH = Right("patch", "apps", "deployments", SCOPE)
GET = Right("get", "apps", "deployments", SCOPE)
LIST = Right("list", "", "pods", EVERYWHERE)
DRY_RUN = Right("create", "", "pods", SCOPE, optional=True)


def test_what_is_missing_is_told_once_for_each_place() -> None:
    everywhere, shop = permission_findings([Missing(LIST), Missing(PATCH, ("shop", "pay")), Missing(GET, ("shop", "pay"))])

    assert (everywhere.code, everywhere.severity, everywhere.object) == ("permission-missing", "error", "Cluster")
    assert everywhere.message.startswith("you may not list pods in the cluster:")
    assert shop.object == "Namespace shop"
    assert shop.message.startswith("you may not patch deployments, get deployments in namespace shop, pay:")


def test_what_only_a_proof_needs_stops_nobody() -> None:
    (found,) = permission_findings([Missing(DRY_RUN, ("shop",))])

    assert (found.code, found.severity) == ("proof-not-permitted", "warning")


def test_the_rules_are_those_of_a_role() -> None:
    assert rules_of([Missing(PATCH, ("shop",)), Missing(GET, ("shop",)), Missing(LIST)]) == [
        {"namespaces": [], "apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
        {"namespaces": ["shop"], "apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "patch"]},
    ]


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_needs_to_read_and_something_of_its_own_each_once(stage: str) -> None:
    rights = rights_of([stage])

    assert set(READ) < set(rights)
    assert len(rights) == len(set(rights))


def test_stages_that_need_the_same_ask_for_it_once() -> None:
    assert rights_of(["canary", "promote", "rollback"]) == rights_of(["canary"])
