# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""How the core says no."""

from __future__ import annotations

from typing import Any


class Refusal(Exception):
    """Something that must not be done: a finished sentence with object, reason and remedy, and details for the result."""

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.details = details
