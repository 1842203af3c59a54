# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What of a pod decides who injects it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .selectors import Labels


@dataclass(frozen=True)
class PodTemplate:
    """A pod that might be born; by default one that says nothing about injection."""

    labels: Labels = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    host_network: bool = False

    @classmethod
    def parse(cls, template: Mapping[str, Any]) -> PodTemplate:
        """From a pod, or the pod template of a workload: whatever has ``metadata`` and ``spec``, both optional."""
        metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
        return cls(metadata.get("labels") or {}, metadata.get("annotations") or {}, bool(spec.get("hostNetwork")))
