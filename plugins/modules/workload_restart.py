#!/usr/bin/python
# Copyright (c) 2026, the meshops.istio contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: workload_restart
short_description: Restart exactly the stale workloads
description:
  - Restarts the workloads whose pods were injected by another revision than their successors would be, and no others.
  - Never more than O(max_unavailable) workloads at a time. It stops at the first workload whose rollout fails.
  - A workload counts as moved when its rollout is complete and no old pod is left, also none that is terminating.
version_added: 0.1.0
author:
  - the meshops.istio contributors (!UNKNOWN)
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - meshops.istio.mesh
  - meshops.istio.wait
  - meshops.istio.attributes
options:
  namespaces:
    description: Only workloads of these namespaces. All by default.
    type: list
    elements: str
  revision:
    description: The revision that the new pods must get. A workload that would get another is refused. By default whatever injects it now.
    type: str
  on_revision:
    description: Only workloads that have a pod of this revision.
    type: str
  scope:
    description: Only V(gateways), only other V(workloads), or V(all).
    type: str
    choices: [all, workloads, gateways]
    default: all
  max_unavailable:
    description: How many workloads may be in the middle of their restart at the same time.
    type: int
    default: 10
  wait_timeout:
    default: 600
"""

EXAMPLES = r"""
- name: Restart what is stale in the shop
  meshops.istio.workload_restart:
    namespaces: [shop]
    revision: 1-31
    max_unavailable: 5
"""

RETURN = r"""
workloads:
  description: Every workload in scope. Its outcome is V(restarted), V(current) or V(not_restartable).
  returned: always
  type: list
  elements: dict
  sample: [{"kind": "Deployment", "namespace": "shop", "name": "web", "before": {"1-30": 2}, "after": {"1-31": 2},
            "outcome": "restarted", "reason": "2 of 2 pods are stale", "moved_at": "2026-11-30T20:15:00Z"}]
count_restarted:
  description: How many workloads were restarted, or would be in check mode.
  returned: always
  type: int
  sample: 1
not_restartable:
  description: Stale workloads that a restart would not help, and why.
  returned: always
  type: list
  elements: dict
"""

from ..module_utils._argspec import ArgumentSpec, wait
from ..module_utils._module import failing_readably, mesh_module
from ..module_utils._result import diff_of
from ..module_utils.actions.restart import Restarter
from ..module_utils.cluster.errors import ClusterError
from ..module_utils.cluster.read import read_mesh
from ..module_utils.mesh.refusal import Refusal
from ..module_utils.mesh.restarts import SCOPES, plan_restarts, refuse_wrong_injector
from ..module_utils.mesh.snapshot import Mesh

OPTIONS = ArgumentSpec(
    {
        "namespaces": {"type": "list", "elements": "str"},
        "revision": {"type": "str"},
        "on_revision": {"type": "str"},
        "scope": {"type": "str", "choices": list(SCOPES), "default": "all"},
        "max_unavailable": {"type": "int", "default": 10},
    }
)


def result_of(restarts: list, moved: dict) -> dict:
    """What became of every workload; one that was not reached keeps the outcome "restart"."""
    workloads = []
    for restart in restarts:
        after, moved_at = moved.get(restart.workload.owner, (None, None))
        workloads.append(restart.as_result(after, moved_at))
    return {
        "workloads": workloads,
        "count_restarted": sum(1 for workload in workloads if workload["outcome"] == "restarted"),
        "not_restartable": [workload for workload in workloads if workload["outcome"] == "not_restartable"],
    }


def main() -> None:
    module = mesh_module(OPTIONS + wait(600))
    params = module.params
    with failing_readably(module) as cluster:
        mesh = Mesh(read_mesh(cluster, params["istio_namespace"]), params["istio_namespace"])
        names = None if params["namespaces"] is None else mesh.require_namespaces(params["namespaces"])
        chosen = [workload for workload in mesh.workloads if names is None or workload.owner.namespace in names]
        restarts = plan_restarts(chosen, mesh.controllers, mesh.wanted, scope=params["scope"], on_revision=params["on_revision"])
        if params["revision"] is not None:
            mesh.require_revision(params["revision"])
            refuse_wrong_injector(restarts, params["revision"])
        due = [restart for restart in restarts if restart.due]
        restarter = Restarter(cluster, params["max_unavailable"], params["wait_timeout"])
        if module.check_mode:
            moved = {restart.workload.owner: (restart.expected, None) for restart in due}
        else:
            try:
                restarter.run(restarts)
            except (Refusal, ClusterError) as error:
                module.fail_json(msg=str(error), changed=True, **result_of(restarts, restarter.moved))
            moved = restarter.moved
        before = {str(restart.workload.owner): restart.workload.revisions for restart in due}
        after = {str(restart.workload.owner): restart.expected for restart in due}
        module.exit_json(changed=bool(due), **result_of(restarts, moved), **diff_of(module, before, after))


if __name__ == "__main__":
    main()
