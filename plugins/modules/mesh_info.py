#!/usr/bin/python
# Copyright (c) 2026, the meshops.istio contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: mesh_info
short_description: Look at an Istio mesh once
description:
  - Reads the cluster in one pass and says which revisions and tags exist, who injects each namespace and why, which workloads are stale,
    and what is wrong.
  - The injector of a namespace is computed with the selectors that the API server uses, never guessed from names.
version_added: 0.1.0
author:
  - the meshops.istio contributors (!UNKNOWN)
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - meshops.istio.mesh
  - meshops.istio.sample
  - meshops.istio.attributes.info
seealso:
  - module: meshops.istio.proxy_status
"""

EXAMPLES = r"""
- name: Look at the mesh
  meshops.istio.mesh_info:
  register: look

- name: Show what is wrong
  ansible.builtin.debug:
    msg: "{{ look.mesh.findings | map(attribute='message') }}"
"""

RETURN = r"""
mesh:
  description: The mesh as the API server describes it.
  returned: always
  type: dict
  contains:
    cluster:
      description: Which cluster it is.
      type: dict
      contains:
        uid:
          description: The UID of namespace kube-system, which no two clusters share.
          type: str
        kubernetes_version:
          description: The version of the API server.
          type: str
    default_revision:
      description: The revision that serves C(istio-injection=enabled), null when none does.
      type: str
    revisions:
      description: Every control plane.
      type: list
      elements: dict
      sample: [{"name": "stable", "namespace": "istio-system", "version": "1.30.3", "installer": "istioctl", "ready": true,
                "reason": "available, and its injector can be called"}]
    tags:
      description: Every revision tag.
      type: list
      elements: dict
      sample: [{"name": "prod", "revision": "stable", "ready": true, "reason": "its injector can be called"}]
    namespaces:
      description: Every namespace that asks for injection or has pods with a proxy.
      type: list
      elements: dict
      sample: [{"name": "shop", "labels": {"istio.io/rev": "prod", "istio-injection": null}, "injector": "stable", "tag": "prod",
                "outcome": "injected", "reason": "injected by tag \"prod\" of revision \"stable\"", "revisions": {"stable": 4}}]
    workloads:
      description: Every workload with a proxy; its state is V(current), V(restart) when it is stale, or V(not_restartable).
      type: list
      elements: dict
      sample: [{"kind": "Deployment", "namespace": "shop", "name": "web", "gateway": false, "state": "current", "wanted": "stable",
                "revisions": {"stable": 2}, "pods": 2, "reason": "every pod has the wanted revision"}]
    findings:
      description: What is wrong, errors first, and at most O(sample_size) of each code. A healthy mesh has none.
      type: list
      elements: dict
      sample: [{"code": "tag-dangling", "severity": "error", "object": "Tag prod",
                "message": "tag \"prod\" points at revision \"old\", which does not exist: pods that ask for it are rejected.",
                "remedy": "Move the tag to a revision that exists with istio_tag, or remove it.",
                "documentation": "https://github.com/meshops/istio-collection/blob/main/docs/findings.md#tag-dangling"}]
    finding_counts:
      description: How many findings of each code there are, without limit.
      type: dict
      sample: {"tag-dangling": 1}
"""

from ..module_utils._argspec import SAMPLE
from ..module_utils._module import failing_readably, mesh_module
from ..module_utils.cluster.identity import identity_of
from ..module_utils.cluster.read import read_mesh
from ..module_utils.cluster.surroundings import read_surroundings
from ..module_utils.mesh.snapshot import Mesh
from ..module_utils.mesh.view import mesh_view


def main() -> None:
    module = mesh_module(SAMPLE)
    with failing_readably(module) as cluster:
        istio_namespace = module.params["istio_namespace"]
        mesh = Mesh({**read_mesh(cluster, istio_namespace), **read_surroundings(cluster, istio_namespace)}, istio_namespace)
        module.exit_json(changed=False, mesh={"cluster": identity_of(cluster), **mesh_view(mesh, module.params["sample_size"])})


if __name__ == "__main__":
    main()
