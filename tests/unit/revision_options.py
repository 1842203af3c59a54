# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options of istio_revision, all but the ones under test at their defaults."""

from __future__ import annotations

from typing import Any

from ansible_collections.meshops.istio.plugins.module_utils.actions.wanted import Wanted

DEFAULTS = {
    "istio_namespace": "istio-system",
    "wait_timeout": 0,
    "sample_size": 20,
    "method": "adopt",
    "istioctl": "istioctl",
    "operator_spec": None,
    "like": None,
    "waive": [],
    "sweep_leases": False,
}


def wanted(revision: str, **options: Any) -> Wanted:
    return Wanted.from_params({**DEFAULTS, "revision": revision, **options})
