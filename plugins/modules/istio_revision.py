#!/usr/bin/python
# Copyright (c) 2026, the meshops.istio contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: istio_revision
short_description: Bring or remove a control plane of one revision
description:
  - With O(state=present) a control plane of this revision exists as specified and is ready; its Deployment is available, its webhook
    has a caBundle, its endpoints are ready.
  - With O(state=absent) the objects of this revision alone are removed, after a guard that refuses while anything still needs it.
    CRDs, tags, the default validator, CNI, ztunnel, gateways, the CA secret and root certificates are never removed, nor is anything
    of the same name that is not labelled as Istio's. Check mode shows the exact list. Afterwards dry-run pods in one namespace for each
    injector and a dry-run write of Istio configuration prove that the mesh works without it.
  - A revision of Helm or of the Sail operator is not removed. When nothing needs it any more, the refusal says what removes it, and has it
    as C(owner).
  - It installs a revision and nothing else. A default tag that C(istioctl install) adds by itself, where there was no owner of
    C(istio-injection=enabled) before, is taken away again. Set it with M(meshops.istio.istio_tag).
version_added: 0.1.0
author:
  - the meshops.istio contributors (!UNKNOWN)
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - meshops.istio.mesh
  - meshops.istio.wait
  - meshops.istio.sample
  - meshops.istio.attributes
options:
  revision:
    description: The revision, a DNS label.
    type: str
    required: true
  state:
    description: Whether the revision shall exist.
    type: str
    choices: [present, absent]
    default: present
  method:
    description:
      - V(istioctl) renders and installs with O(istioctl) and O(operator_spec), and does nothing when the live objects already are as
        rendered.
      - V(adopt) installs nothing and waits, because Helm, Argo CD or an operator does it.
    type: str
    choices: [adopt, istioctl]
    default: adopt
  istioctl:
    description: The C(istioctl) of the version to install.
    type: path
    default: istioctl
  operator_spec:
    description: The C(spec) of the IstioOperator, for O(method=istioctl).
    type: dict
  like:
    description:
      - Another revision. Every difference to it is reported that people configure, in mesh config, injection values and templates, and in
        the environment, arguments, replicas or autoscaling, resources and placement of istiod.
      - The text of the chart's own injection templates is compared only between revisions of one Istio version.
    type: str
  waive:
    description:
      - Guards of O(state=absent) that shall not keep the revision, each by its name. What cannot be seen counts as needed.
      - V(proxies), an attached proxy; V(unanswered), an istiod of any revision that does not say which proxies it has.
      - V(pods), a pod that it injected, attached or not, or a workload with its proxy written into the template.
      - V(namespaces), a namespace labelled for it; V(pod_labels), a workload, Job or CronJob labelled for it, even without a pod.
      - V(tags), a tag that points at it. With the waiver the tag is removed too.
      - V(webhooks), any other webhook that calls its Service; V(validator), the default validator.
      - V(config), Istio configuration labelled for it; V(gateways), objects of the Gateway API labelled for it.
      - V(remotes), another cluster that it may serve, by a webhook that calls a URL or by a Secret labelled C(istio/multiCluster=true).
    type: list
    elements: str
    choices: [proxies, unanswered, pods, namespaces, pod_labels, tags, webhooks, validator, config, gateways, remotes]
    default: []
  sweep_leases:
    description:
      - With O(state=absent), also remove the two Leases in which its istiods elected their leaders, C(istio-gateway-deployment-REVISION)
        and C(istio-gateway-status-leader-REVISION). They stay behind otherwise, also after Helm or C(istioctl uninstall).
    type: bool
    default: false
  wait_timeout:
    default: 300
"""

EXAMPLES = r"""
- name: Install the new revision beside the old one
  meshops.istio.istio_revision:
    revision: 1-31
    method: istioctl
    istioctl: /usr/local/bin/istioctl-1.31
    operator_spec:
      profile: minimal
    like: 1-30

- name: Remove the old revision when nothing needs it any more
  meshops.istio.istio_revision:
    revision: 1-30
    state: absent
"""

RETURN = r"""
revision:
  description: The revision as it is after the run; null when it does not exist.
  returned: always
  type: dict
  sample: {"name": "1-31", "namespace": "istio-system", "version": "1.31.0", "installer": "istioctl", "ready": true,
           "reason": "available, and its injector can be called"}
differences:
  description:
    - How its customisation differs from that of O(like), by path, and at most O(sample_size) of it. The first part of a path is V(mesh),
      V(values), V(istiod) or V(injection). Of long texts only lines that differ are shown, and no more than five.
  returned: always
  type: list
  elements: dict
  sample: [{"path": "mesh.accessLogFile", "ours": null, "theirs": "/dev/stdout"}]
count_differences:
  description: How many differences there are, without the limit of O(sample_size).
  returned: always
  type: int
  sample: 1
removed:
  description: The objects that were removed, or would be in check mode.
  returned: always
  type: list
  elements: str
  sample: ["MutatingWebhookConfiguration istio-sidecar-injector-1-30", "Deployment istio-system/istiod-1-30"]
kept:
  description: The shared objects that stay.
  returned: always
  type: list
  elements: str
  sample: ["CustomResourceDefinition gateways.networking.istio.io"]
proof:
  description: What dry runs have shown after the removal. Empty in check mode, and when nothing was removed.
  returned: always
  type: list
  elements: str
  sample: ["pods in namespace shop are injected by 1-31", "Istio configuration can be written in namespace istio-system"]
blockers:
  description: What still needs the revision, by guard, at most O(sample_size) sentences each; after a success what was waived.
  returned: always
  type: dict
  sample: {"tags": ["tag prod points at it"]}
count_blockers:
  description: How much still needs the revision, by guard.
  returned: always
  type: dict
  sample: {"tags": 1}
"""

from ..module_utils._argspec import SAMPLE, ArgumentSpec, wait
from ..module_utils._module import failing_readably, mesh_module
from ..module_utils._result import diff_of
from ..module_utils.actions.control_plane import ensure_present
from ..module_utils.actions.removal import ensure_absent
from ..module_utils.actions.wanted import Wanted
from ..module_utils.mesh.removal import GUARDS

OPTIONS = ArgumentSpec(
    {
        "revision": {"type": "str", "required": True},
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "method": {"type": "str", "choices": ["adopt", "istioctl"], "default": "adopt"},
        "istioctl": {"type": "path", "default": "istioctl"},
        "operator_spec": {"type": "dict"},
        "like": {"type": "str"},
        "waive": {"type": "list", "elements": "str", "choices": list(GUARDS), "default": []},
        "sweep_leases": {"type": "bool", "default": False},
    }
)


def main() -> None:
    module = mesh_module(OPTIONS + SAMPLE + wait(300))
    with failing_readably(module) as cluster:
        wanted = Wanted.from_params(module.params)
        if module.params["state"] == "present":
            outcome = ensure_present(cluster, wanted, run=module.run_command, check_mode=module.check_mode)
        else:
            outcome = ensure_absent(cluster, wanted, check_mode=module.check_mode)
        module.exit_json(**outcome.as_result(), **diff_of(module, outcome.before, outcome.after, f"revision {wanted.revision}"))


if __name__ == "__main__":
    main()
