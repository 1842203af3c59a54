# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The time of day, for records."""

from __future__ import annotations

from datetime import datetime, timezone


def now() -> str:
    """This moment, UTC, as Kubernetes writes it."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
