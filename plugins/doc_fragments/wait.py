# Copyright (c) 2026, the meshops.istio contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    """Twin of wait() in module_utils/_argspec.py; the module adds the default."""

    DOCUMENTATION = r"""
options:
  wait_timeout:
    description:
      - How many seconds to wait for the outcome.
    type: int
"""
