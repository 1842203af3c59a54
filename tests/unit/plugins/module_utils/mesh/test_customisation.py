# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest

from ansible_collections.meshops.istio.plugins.module_utils.mesh.customisation import customisation
from ansible_collections.meshops.istio.plugins.module_utils.mesh.drift import differences

CONFIG_MAPS = [
    {"kind": "ConfigMap", "metadata": {"name": "istio-canary"}, "data": {"mesh": "accessLogFile: /dev/stdout"}},
    {
        "kind": "ConfigMap",
        "metadata": {"name": "istio-sidecar-injector-canary"},
        "data": {"values": json.dumps({"global": {"proxy": {"cpu": "1"}}}), "config": "policy: enabled\ntemplates:\n  sidecar: text"},
    },
]
ENV = [{"name": "PILOT_TRACE_SAMPLING", "value": "100"}, {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]
DEPLOYMENT = {
    "kind": "Deployment",
    "metadata": {"name": "istiod-canary"},
    "spec": {
        "replicas": 2,
        "template": {
            "spec": {
                "nodeSelector": {"zone": "a"},
                "containers": [{"name": "discovery", "env": ENV, "args": ["discovery"], "resources": {"requests": {"cpu": "1"}}}],
            }
        },
    },
}
SCALER = {"kind": "HorizontalPodAutoscaler", "metadata": {"name": "istiod-canary"}, "spec": {"minReplicas": 2, "maxReplicas": 5}}


def of(deployment: Any = DEPLOYMENT, *scalers: Any) -> dict[str, Any]:
    return customisation("canary", CONFIG_MAPS, [deployment] if deployment else [], scalers)


def test_everything_that_people_configure_is_in_it() -> None:
    assert of() == {
        "mesh": {"accessLogFile": "/dev/stdout"},
        "values": {"global": {"proxy": {"cpu": "1"}}},
        "injection": {"policy": "enabled", "templates": {"sidecar": "text"}},
        "istiod": {
            "replicas": 2,
            "autoscaling": {},
            "env": {"PILOT_TRACE_SAMPLING": "100", "POD_NAME": {"fieldRef": {"fieldPath": "metadata.name"}}},
            "args": ["discovery"],
            "resources": {"requests": {"cpu": "1"}},
            "placement": {"nodeSelector": {"zone": "a"}},
        },
    }


def test_what_an_autoscaler_sets_is_no_customisation_and_its_bounds_are() -> None:
    more = deepcopy(DEPLOYMENT)
    more["spec"]["replicas"] = 4

    assert of(more, SCALER)["istiod"] == of(DEPLOYMENT, SCALER)["istiod"]
    assert of(DEPLOYMENT, SCALER)["istiod"]["autoscaling"] == {"minReplicas": 2, "maxReplicas": 5}


def test_a_revision_that_does_not_exist_has_none() -> None:
    assert customisation("gone", CONFIG_MAPS, [DEPLOYMENT], []) == {"mesh": {}, "values": {}, "injection": {}, "istiod": {}}


@pytest.mark.parametrize(
    ("path", "change"),
    [
        ("istiod.env.PILOT_TRACE_SAMPLING", lambda spec: spec["template"]["spec"]["containers"][0]["env"].pop(0)),
        ("istiod.replicas", lambda spec: spec.update(replicas=1)),
        ("istiod.resources.requests.cpu", lambda spec: spec["template"]["spec"]["containers"][0].update(resources={})),
        ("istiod.placement.nodeSelector.zone", lambda spec: spec["template"]["spec"].pop("nodeSelector")),
    ],
)
def test_each_lost_setting_is_a_difference_of_its_own_path(path: str, change: Any) -> None:
    lost = deepcopy(DEPLOYMENT)
    change(lost["spec"])

    assert path in [found["path"] for found in differences(of(lost), of(), "canary", "canary")]
