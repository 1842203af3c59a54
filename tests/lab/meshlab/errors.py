# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one exception a user of the lab sees: its text is a finished sentence."""

from __future__ import annotations


class LabError(Exception):
    """What is wrong, why, and what to do, in a sentence or two."""
