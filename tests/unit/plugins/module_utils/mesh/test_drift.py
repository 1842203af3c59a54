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


def test_of_a_long_text_only_lines_that_differ_are_shown() -> None:
    lines = [f"line {number}" for number in range(100)]
    changed = [*lines[:50], "line of ours", *lines[51:]]
    (found,) = differences(
        {"injection": {"templates": {"mine": "\n".join(changed)}}}, {"injection": {"templates": {"mine": "\n".join(lines)}}}, "a", "b"
    )

    assert found == {"path": "injection.templates.mine", "ours": "line of ours", "theirs": "line 50"}
    (many,) = differences({"text": "\n".join(lines)}, {"text": "x\ny"}, "a", "b")
    assert many["ours"].endswith("line 4 (and 95 more lines)")


@pytest.mark.parametrize(
    ("name", "same_version", "differ"), [("sidecar", True, True), ("sidecar", False, False), ("mine", False, True), ("mine", True, True)]
)
def test_the_charts_own_templates_may_differ_between_versions_and_others_may_not(name: str, same_version: bool, differ: bool) -> None:
    ours, theirs = ({"injection": {"templates": {name: text}}} for text in ("new", "old"))

    assert bool(differences(ours, theirs, "canary", "stable", same_version=same_version)) is differ


def test_a_template_that_one_has_and_the_other_has_not_is_told_between_versions_too() -> None:
    ours, theirs = ({"injection": {"templates": templates}} for templates in ({"sidecar": "a"}, {"sidecar": "b", "gateway": "c"}))

    found = differences(ours, theirs, "canary", "stable", same_version=False)
    assert [each["path"] for each in found] == ["injection.templates.gateway"]
