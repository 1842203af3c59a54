#!/usr/bin/python
# Copyright (c) 2026, the meshops.istio contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ns_revision_label
short_description: Say which revision or tag injects namespaces
description:
  - Sets C(istio.io/rev) on many namespaces, and removes C(istio-injection) in the same patch, because it would win.
  - Running pods do not change; a namespace whose injector changes needs M(meshops.istio.workload_restart).
version_added: 0.1.0
author:
  - the meshops.istio contributors (!UNKNOWN)
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - meshops.istio.mesh
  - meshops.istio.attributes
options:
  namespaces:
    description: The namespaces, by name.
    type: list
    elements: str
  label_selectors:
    description: The namespaces, by label selectors that must all match.
    type: list
    elements: str
  restore:
    description:
      - The labels that namespaces shall have again, as an earlier run returned them in RV(previous).
    type: dict
  to:
    description: The revision or tag. Required unless O(restore) is given. Refused when nobody serves it.
    type: str
"""

EXAMPLES = r"""
- name: Move the canary namespaces to the new revision
  meshops.istio.ns_revision_label:
    namespaces: [shop-canary]
    to: 1-31
  register: moved

- name: Give them back what they had
  meshops.istio.ns_revision_label:
    restore: "{{ moved.previous }}"
"""

RETURN = r"""
namespaces:
  description: Every chosen namespace, before and after.
  returned: always
  type: list
  elements: dict
  sample: [{"name": "shop", "before": {"istio.io/rev": null, "istio-injection": "enabled"},
            "after": {"istio.io/rev": "1-31", "istio-injection": null}, "injector_before": "1-30", "injector_after": "1-31",
            "restart_needed": true, "changed": true}]
previous:
  description: The labels that the namespaces had, for O(restore).
  returned: always
  type: dict
  sample: {"shop": {"istio.io/rev": null, "istio-injection": "enabled"}}
count_changed:
  description: How many namespaces have other labels than before.
  returned: always
  type: int
  sample: 1
"""

from ..module_utils._argspec import ArgumentSpec
from ..module_utils._module import failing_readably, mesh_module
from ..module_utils._result import diff_of
from ..module_utils.actions.labels import write_labels
from ..module_utils.cluster.paths import NAMESPACES
from ..module_utils.cluster.read import read_control_plane
from ..module_utils.mesh.labelling import plan_labels, plan_restore
from ..module_utils.mesh.snapshot import Mesh

OPTIONS = ArgumentSpec(
    {
        "namespaces": {"type": "list", "elements": "str"},
        "label_selectors": {"type": "list", "elements": "str"},
        "restore": {"type": "dict"},
        "to": {"type": "str"},
    },
    mutually_exclusive=[("namespaces", "label_selectors", "restore"), ("restore", "to")],
    required_one_of=[("namespaces", "label_selectors", "restore"), ("restore", "to")],
)


def main() -> None:
    module = mesh_module(OPTIONS)
    params = module.params
    with failing_readably(module) as cluster:
        mesh = Mesh(read_control_plane(cluster, params["istio_namespace"]), params["istio_namespace"])
        if params["restore"] is not None:
            changes = plan_restore(mesh, params["restore"])
        elif params["namespaces"] is not None:
            changes = plan_labels(mesh, params["namespaces"], params["to"])
        else:
            chosen = cluster.list(NAMESPACES(), metadata_only=True, label_selector=",".join(params["label_selectors"]))
            changes = plan_labels(mesh, [namespace["metadata"]["name"] for namespace in chosen], params["to"])
        if not module.check_mode:
            write_labels(changes, mesh, cluster)
        changing = [change for change in changes if change.changed]
        before = {change.namespace: dict(change.before) for change in changing}
        after = {change.namespace: dict(change.after) for change in changing}
        module.exit_json(
            changed=bool(changing),
            namespaces=[change.as_result() for change in changes],
            previous={change.namespace: dict(change.before) for change in changes},
            count_changed=len(changing),
            **diff_of(module, before, after),
        )


if __name__ == "__main__":
    main()
