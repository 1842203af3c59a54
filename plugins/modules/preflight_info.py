#!/usr/bin/python
# Copyright (c) 2026, the meshops.istio contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: preflight_info
short_description: See what stands in the way of an upgrade before anything is touched
description:
  - Asks the API server for every permission that the stages of an upgrade use, and names those that are missing, with the rules that
    give them.
  - Compares the versions of Kubernetes, of the revision to move away from, of the one to move to and of the custom resource definitions.
  - Names the tags of the old revision that a controller keeps in Git and would move back.
  - Looks at what a rolling restart meets in the namespaces to move. These are quotas, nodes and budgets without room, workloads that no
    restart moves, and workloads that stop before they start.
  - Asks C(istioctl) too, if there is one.
  - What M(meshops.istio.mesh_info) finds in a mesh is not repeated here.
version_added: 0.1.0
author:
  - the meshops.istio contributors (!UNKNOWN)
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - meshops.istio.mesh
  - meshops.istio.sample
  - meshops.istio.attributes.info
options:
  stages:
    description:
      - The stages of the upgrade whose permissions are looked at. V(adopt) waits for a control plane that somebody else brings, V(install)
        runs C(istioctl).
    type: list
    elements: str
    choices: [adopt, install, canary, promote, gateways, verify, rollback, cleanup]
    default: [adopt, canary, promote, gateways, verify, rollback]
  namespaces:
    description: The namespaces that the upgrade moves.
    type: list
    elements: str
    default: []
  from_revision:
    description: The revision to move away from.
    type: str
  to_revision:
    description: The revision to move to.
    type: str
  istioctl:
    description:
      - The C(istioctl) of the version to move to, which counts until O(to_revision) is there.
      - Its C(x precheck) is asked too, and its C(analyze) for each of the two revisions that is there. What they say and
        this collection judges better is left out. When they have no answer, a finding of severity V(info) tells it.
      - Left out, these two are asked of the C(istioctl) on E(PATH), if there is one.
    type: path
  max_unavailable:
    description: How many workloads the upgrade restarts at the same time, each of which starts a new pod.
    type: int
    default: 10
"""

EXAMPLES = r"""
- name: Look before the upgrade of the shop
  meshops.istio.preflight_info:
    from_revision: 1-30
    to_revision: 1-31
    namespaces: [shop, pay]
  register: look
  failed_when: look.findings | selectattr('severity', 'eq', 'error') | length > 0
"""

RETURN = r"""
cluster:
  description: Which cluster it is.
  returned: always
  type: dict
  sample: {"uid": "5c1b0a1e-6f0c-4b53-9f34-0a3b5b2c7d10", "kubernetes_version": "v1.34.1"}
findings:
  description: What stands in the way, errors first, and at most O(sample_size) of each code.
  returned: always
  type: list
  elements: dict
  sample: [{"code": "budget-without-room", "severity": "warning", "object": "PodDisruptionBudget shop/web",
            "message": "the budget allows no disruption now (1 of 2 pods are healthy, 1 must be).",
            "remedy": "See that the pods are well.",
            "documentation": "https://github.com/meshops/istio-collection/blob/main/docs/findings.md#budget-without-room"}]
finding_counts:
  description: How many findings of each code there are, without limit.
  returned: always
  type: dict
  sample: {"budget-without-room": 1}
missing_rules:
  description: Rules of a Role in each of the namespaces, or of a ClusterRole where there are none, that give what is missing.
  returned: always
  type: list
  elements: dict
  sample: [{"namespaces": ["shop"], "apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["patch"]}]
"""

from collections import Counter

from ..module_utils._argspec import SAMPLE, ArgumentSpec
from ..module_utils._module import failing_readably, mesh_module
from ..module_utils.actions.istioctl_checks import version_of_istioctl
from ..module_utils.actions.preflight import Upgrade, look
from ..module_utils.cluster.identity import identity_of
from ..module_utils.mesh.finding import first_of_each_code
from ..module_utils.mesh.permissions import STAGES, rules_of

OPTIONS = ArgumentSpec(
    {
        "stages": {
            "type": "list",
            "elements": "str",
            "choices": list(STAGES),
            "default": ["adopt", "canary", "promote", "gateways", "verify", "rollback"],
        },
        "namespaces": {"type": "list", "elements": "str", "default": []},
        "from_revision": {"type": "str"},
        "to_revision": {"type": "str"},
        "istioctl": {"type": "path"},
        "max_unavailable": {"type": "int", "default": 10},
    }
)


def main() -> None:
    module = mesh_module(OPTIONS + SAMPLE)
    params = module.params
    with failing_readably(module) as cluster:
        to_version = version_of_istioctl(params["istioctl"]) if params["istioctl"] else None
        upgrade = Upgrade(
            istio_namespace=params["istio_namespace"],
            stages=params["stages"],
            namespaces=params["namespaces"],
            from_revision=params["from_revision"],
            to_revision=params["to_revision"],
            to_version=to_version,
            istioctl=params["istioctl"] or module.get_bin_path("istioctl"),
            at_once=params["max_unavailable"],
        )
        report = look(cluster, upgrade, identity=identity_of(cluster), verified_tls=params["validate_certs"] is not False)
        module.exit_json(
            changed=False,
            cluster=report.cluster,
            findings=[finding.as_result() for finding in first_of_each_code(report.findings, params["sample_size"])],
            finding_counts=dict(sorted(Counter(finding.code for finding in report.findings).items())),
            missing_rules=rules_of(report.missing),
        )


if __name__ == "__main__":
    main()
