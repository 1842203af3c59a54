# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What makes a control plane the way it is: everything that people configure, as plain nested data that can be compared."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .names import INJECTOR_CONFIG, istiod_name, with_revision
from .yaml_text import load

Object = Mapping[str, Any]

PLACEMENT = ("nodeSelector", "tolerations", "affinity", "topologySpreadConstraints", "priorityClassName")
DISCOVERY = "discovery"
"""The container of istiod."""


def customisation(
    revision: str, config_maps: Sequence[Object], deployments: Iterable[Object], autoscalers: Iterable[Object]
) -> dict[str, Any]:
    """Mesh config, injection values, injection configuration, and how istiod itself runs, of a live or a rendered revision.

    Keys: mesh, values, injection (as istiod reads it, templates by name), istiod (replicas or autoscaling, env by name, args, resources,
    placement). A part that does not exist is empty.
    """
    data = {thing["metadata"]["name"]: thing.get("data") or {} for thing in config_maps}
    injector = data.get(with_revision(INJECTOR_CONFIG, revision), {})
    name = istiod_name(revision)
    return {
        "mesh": _yaml(data.get(with_revision("istio", revision), {}).get("mesh", "")),
        "values": json.loads(injector.get("values", "{}")),
        "injection": _yaml(injector.get("config", "")),
        "istiod": _istiod(_named(deployments, name), _named(autoscalers, name)),
    }


def _yaml(text: str) -> dict[str, Any]:
    found = load(text)
    return found if isinstance(found, dict) else {}


def _named(things: Iterable[Object], name: str) -> Object | None:
    return next((thing for thing in things if thing["metadata"]["name"] == name), None)


def _istiod(deployment: Object | None, autoscaler: Object | None) -> dict[str, Any]:
    if deployment is None:
        return {}
    pod = deployment["spec"]["template"]["spec"]
    container: Object = next((part for part in pod["containers"] if part.get("name") == DISCOVERY), {})
    scale = (autoscaler or {}).get("spec") or {}
    return {
        "replicas": None if autoscaler else deployment["spec"].get("replicas", 1),
        "autoscaling": {key: scale[key] for key in ("minReplicas", "maxReplicas", "metrics") if key in scale},
        "env": {part["name"]: part.get("value", part.get("valueFrom")) for part in container.get("env") or ()},
        "args": list(container.get("args") or ()),
        "resources": container.get("resources") or {},
        "placement": {key: pod[key] for key in PLACEMENT if pod.get(key)},
    }
