#!/usr/bin/python
# Copyright (c) 2026, the meshops.istio contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: proxy_status
short_description: Wait until every proxy hangs on the revision it should
description:
  - A gate. It succeeds when every live pod with a proxy in scope was injected by the expected revision, is attached to an istiod of it,
    and has acknowledged its configuration.
  - It asks every istiod of every revision. One that does not answer makes the answer incomplete, never "no proxies", and while one of
    an expected revision does not answer the gate stays shut.
version_added: 0.1.0
author:
  - the meshops.istio contributors (!UNKNOWN)
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - meshops.istio.mesh
  - meshops.istio.wait
  - meshops.istio.sample
  - meshops.istio.attributes.info
options:
  namespaces:
    description: Only pods of these namespaces. All by default.
    type: list
    elements: str
  revision:
    description: The revision that every pod in scope shall hang on. By default the one that would inject its successor now.
    type: str
  scope:
    description: Only V(gateways), only other V(workloads), or V(all).
    type: str
    choices: [all, workloads, gateways]
    default: all
  wait_timeout:
    default: 300
"""

EXAMPLES = r"""
- name: See every proxy of the shop attached to the new revision
  meshops.istio.proxy_status:
    namespaces: [shop]
    revision: 1-31
    wait_timeout: 300

- name: Look once at the whole mesh
  meshops.istio.proxy_status:
    wait_timeout: 0
"""

RETURN = r"""
proxies:
  description: What was found at the last look.
  returned: always
  type: dict
  sample: {"total": 40, "attached": 40, "by_revision": {"1-31": 40}, "complete": true}
failures:
  description: Pods that are not where they should be, at most O(sample_size), and why.
  returned: always
  type: list
  elements: dict
  sample: [{"pod": "shop/web-7c9d-x2x1", "reason": "no istiod lists it, expected is one of revision \"1-31\""}]
count_failures:
  description: How many pods are not where they should be.
  returned: always
  type: int
  sample: 0
"""

from ..module_utils._argspec import SAMPLE, ArgumentSpec, wait
from ..module_utils._module import failing_readably, mesh_module
from ..module_utils.actions.gate import Scope, failure_message, wait_for_proxies
from ..module_utils.mesh.restarts import SCOPES

OPTIONS = ArgumentSpec(
    {
        "namespaces": {"type": "list", "elements": "str"},
        "revision": {"type": "str"},
        "scope": {"type": "str", "choices": list(SCOPES), "default": "all"},
    }
)


def main() -> None:
    module = mesh_module(OPTIONS + SAMPLE + wait(300))
    params = module.params
    with failing_readably(module) as cluster:
        scope = Scope(params["namespaces"], params["revision"], params["scope"])
        seen = wait_for_proxies(cluster, params["istio_namespace"], scope, params["wait_timeout"])
        result = {
            "proxies": {
                "total": seen.total,
                "attached": seen.attached,
                "by_revision": dict(seen.by_revision),
                "complete": seen.complete,
            },
            "failures": [failure.as_result() for failure in seen.failures[: params["sample_size"]]],
            "count_failures": len(seen.failures),
        }
        if not seen.passed:
            module.fail_json(msg=failure_message(seen, params["sample_size"]), **result)
        module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
