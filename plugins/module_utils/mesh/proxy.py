# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The proxy in a pod: what an upgrade changes about it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from .names import DEFAULT_DISCOVERY_ADDRESS
from .revisions import labels_of
from .selectors import Selector
from .versions import version_of_image
from .workloads import proxy_of, revision_of_pod

Facts = Mapping[str, Any]


def proxy_facts(pod: Mapping[str, Any]) -> dict[str, Any] | None:
    """What of a pod's proxy people look at before and after an upgrade, None without a proxy.

    Keys: revision, proxy_image, proxy_version (the tag of the image, None when it has a digest only), discovery_address (the istiod that
    it dials), resources (as in the container), native_sidecar (whether it is an init container that goes on running).
    """
    proxy = proxy_of(pod)
    if proxy is None:
        return None
    image = str(proxy.get("image") or "")
    return {
        "revision": revision_of_pod(pod),
        "proxy_image": image,
        "proxy_version": version_of_image(image),
        "discovery_address": _discovery_address(proxy),
        "resources": {kind: dict(amounts) for kind, amounts in (proxy.get("resources") or {}).items() if isinstance(amounts, Mapping)},
        "native_sidecar": any(part is proxy for part in pod["spec"].get("initContainers") or ()),
    }


def _discovery_address(proxy: Mapping[str, Any]) -> str:
    """istiod leaves what is usual out of the PROXY_CONFIG that it writes (pkg/kube/inject/template.go, cleanProxyConfig)."""
    config = next((part.get("value") for part in proxy.get("env") or () if part.get("name") == "PROXY_CONFIG"), None)
    try:
        found = json.loads(config or "{}")
    except ValueError:
        return DEFAULT_DISCOVERY_ADDRESS
    return str((found.get("discoveryAddress") if isinstance(found, dict) else None) or DEFAULT_DISCOVERY_ADDRESS)


def newest_with_proxy(pods: Iterable[Mapping[str, Any]], selector: Selector) -> Mapping[str, Any] | None:
    """The youngest pod of a workload that has a proxy and stays, None without one.

    Args:
        pods: those of its namespace.
        selector: the one of the workload.
    """
    own = [
        pod
        for pod in pods
        if selector.matches(labels_of(pod)) and proxy_of(pod) is not None and not pod["metadata"].get("deletionTimestamp")
    ]
    return max(own, key=lambda pod: str(pod["metadata"].get("creationTimestamp", "")), default=None)


def proxy_differences(now: Facts | None, then: Facts | None) -> list[dict[str, Any]]:
    """Every fact that differs, as ``{"field", "now", "then"}``; without a proxy on one side there is the field "revision" alone."""
    if now is None or then is None:
        return [] if now == then else [{"field": "revision", "now": now and now["revision"], "then": then and then["revision"]}]
    return [{"field": field, "now": now[field], "then": then[field]} for field in now if now[field] != then[field]]
