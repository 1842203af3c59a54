# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from mesh_objects import INJECT, REV, World

from ansible_collections.meshops.istio.plugins.module_utils.mesh.pod_template import PodTemplate


def test_pods_that_look_the_same_are_judged_once_and_others_apart() -> None:
    mesh = World("stable").namespace("shop", {REV: "stable"}).namespace("plain").mesh()
    asked = [
        ("shop", PodTemplate(), "stable"),
        ("shop", PodTemplate({INJECT: "false"}), None),
        ("shop", PodTemplate({}, {INJECT: "false"}), None),
        ("shop", PodTemplate(host_network=True), None),
        ("plain", PodTemplate(), None),
        ("plain", PodTemplate({REV: "stable"}), "stable"),
    ]

    for _round in range(2):
        assert [mesh.verdict_of(namespace, pod).revision for namespace, pod, _expected in asked] == [expected for *_rest, expected in asked]
    assert mesh.verdict_of("shop", PodTemplate({"app": "web"})) is mesh.verdict_of("shop", PodTemplate({"app": "web"}))
