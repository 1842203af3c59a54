# Copyright (c) 2026, the meshops.istio contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    """Twin of MESH in module_utils/_argspec.py, with what every module needs."""

    DOCUMENTATION = r"""
options:
  istio_namespace:
    description:
      - The namespace of the control planes.
    type: str
    default: istio-system
  cluster_uid:
    description:
      - The cluster that is meant, by the UID of its namespace C(kube-system), which M(meshops.istio.mesh_info) returns.
      - On any other cluster the module fails before it does anything.
    type: str
requirements:
  - python >= 3.9
  - kubernetes >= 31, except 36.0.0
  - kubernetes.core >= 6.0.0
"""
