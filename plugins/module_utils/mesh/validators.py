# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The webhooks that judge Istio configuration before it is stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .injectors import Reachability, ready_services, service_of
from .names import DEFAULT_VALIDATOR, REVISION_LABEL, TAG_LABEL, VALIDATOR_SUFFIX
from .revisions import labels_of
from .selectors import Selector


@dataclass(frozen=True)
class Validator:
    """A webhook entry that judges Istio configuration, as the API server sees it now."""

    configuration: str
    revision: str | None
    tag: str | None
    objects: Selector
    service: str
    reachable: Reachability
    fails_closed: bool

    @property
    def default(self) -> bool:
        """Whether it judges what names no revision."""
        return self.configuration == DEFAULT_VALIDATOR

    @property
    def judges(self) -> str:
        """Which configuration it judges, for sentences."""
        return "Istio configuration" if self.objects.matches({}) else f"Istio configuration labelled {REVISION_LABEL}={self.revision}"


def is_validating_entry(entry: Mapping[str, Any]) -> bool:
    """Whether a webhook entry is one of Istio's validators."""
    return str(entry.get("name", "")).endswith(VALIDATOR_SUFFIX)


def validators_of(
    configurations: Iterable[Mapping[str, Any]], services: Iterable[Mapping[str, Any]], endpoint_slices: Iterable[Mapping[str, Any]]
) -> list[Validator]:
    """Every validating webhook entry of Istio, from the API server's own objects."""
    existing = {f"{service['metadata']['namespace']}/{service['metadata']['name']}" for service in services}
    ready = ready_services(endpoint_slices)
    return [
        Validator(
            configuration=configuration["metadata"]["name"],
            revision=labels_of(configuration).get(REVISION_LABEL),
            tag=labels_of(configuration).get(TAG_LABEL),
            objects=Selector.parse(entry.get("objectSelector")),
            service=service_of(entry),
            reachable=_reachability(entry, existing, ready),
            fails_closed=entry.get("failurePolicy") != "Ignore",
        )
        for configuration in configurations
        for entry in configuration.get("webhooks") or ()
        if is_validating_entry(entry)
    ]


def _reachability(entry: Mapping[str, Any], existing: set[str], ready: set[str]) -> Reachability:
    if "service" not in entry["clientConfig"]:
        return Reachability.EXTERNAL
    if service_of(entry) not in existing:
        return Reachability.NO_SERVICE
    if service_of(entry) not in ready:
        return Reachability.NO_ENDPOINTS
    return Reachability.READY if entry["clientConfig"].get("caBundle") else Reachability.NO_CA_BUNDLE
