# Copyright (c) 2026, the meshops.istio contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    """What a module supports: the standard fragment for modules that change something, INFO alone for those that only look."""

    DOCUMENTATION = r"""
attributes:
  check_mode:
    description: Predicts in check mode what would change, without changing it.
    support: full
  diff_mode:
    description: Returns in diff mode what has changed, or would.
    support: full
  idempotent:
    description: A second run with the same options changes nothing, unless the mesh has changed in between.
    support: full
  action_group:
    description: Use C(group/meshops.istio.mesh) in C(module_defaults) to set defaults for this module.
    support: full
    membership:
      - meshops.istio.mesh
  platform:
    description: Where the module runs. The cluster it works on can be any.
    support: full
    platforms: posix
"""

    INFO = r"""
attributes:
  check_mode:
    description: Predicts in check mode what would change, without changing it.
    support: full
    details:
      - This module changes nothing.
  diff_mode:
    description: Returns in diff mode what has changed, or would.
    support: N/A
    details:
      - This module changes nothing.
  idempotent:
    description: A second run with the same options changes nothing, unless the mesh has changed in between.
    support: full
    details:
      - This module changes nothing.
  action_group:
    description: Use C(group/meshops.istio.mesh) in C(module_defaults) to set defaults for this module.
    support: full
    membership:
      - meshops.istio.mesh
  platform:
    description: Where the module runs. The cluster it works on can be any.
    support: full
    platforms: posix
"""
