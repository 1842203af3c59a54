# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.meshops.istio.plugins.module_utils.mesh.drift import differences


def paths(ours: Any, theirs: Any, revision: str = "canary", other: str = "stable") -> list[str]:
    return [found["path"] for found in differences(ours, theirs, revision, other)]


def test_equal_customisation_differs_in_nothing() -> None:
    data = {"mesh": {"accessLogFile": "/dev/stdout", "extensionProviders": [{"name": "otel"}]}, "values": {}}

    assert differences(data, data, "canary", "stable") == []


def test_every_leaf_that_differs_is_named_with_both_values() -> None:
    ours = {"mesh": {"a": 1, "list": ["x", "y"], "only": {"ours": True}}}
    theirs = {"mesh": {"a": 2, "list": ["x", "z", "w"]}}

    assert differences(ours, theirs, "canary", "stable") == [
        {"path": "mesh.a", "ours": 1, "theirs": 2},
        {"path": "mesh.list[1]", "ours": "y", "theirs": "z"},
        {"path": "mesh.list[2]", "ours": None, "theirs": "w"},
        {"path": "mesh.only.ours", "ours": True, "theirs": None},
    ]


def test_what_every_revision_has_of_its_own_is_no_difference() -> None:
    ours = {"values": {"revision": "canary", "global": {"tag": "1.31", "hub": "b"}}}
    theirs = {"values": {"revision": "stable", "global": {"tag": "1.30", "hub": "a"}}}

    assert paths(ours, theirs) == []


@pytest.mark.parametrize(
    ("ours", "theirs", "revision", "other", "differ"),
    [
        ("istiod-canary.istio-system.svc:15012", "istiod-stable.istio-system.svc:15012", "canary", "stable", False),
        ("istiod-canary.istio-system.svc:15012", "istiod.istio-system.svc:15012", "canary", "default", False),
        ("istiod-stable.istio-system.svc:15012", "istiod-stable.istio-system.svc:15012", "canary", "stable", True),
        ("istiod-canary-b.istio-system.svc:15012", "istiod-stable-b.istio-system.svc:15012", "canary", "stable", True),
        ("istiod-canary.other.svc:15012", "istiod-stable.istio-system.svc:15012", "canary", "stable", True),
    ],
)
def test_each_may_name_its_own_istiod_and_no_other(ours: str, theirs: str, revision: str, other: str, differ: bool) -> None:
    assert bool(paths({"mesh": {"address": ours}}, {"mesh": {"address": theirs}}, revision, other)) is differ
