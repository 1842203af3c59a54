# Copyright (c) 2026, the meshops.istio contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    """Twin of SAMPLE in module_utils/_argspec.py."""

    DOCUMENTATION = r"""
options:
  sample_size:
    description:
      - How many entries a long list in the result has at most. Counts are always complete.
    type: int
    default: 20
"""
