#!/usr/bin/python
# Copyright (c) 2026, the meshops.istio contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: injection_info
short_description: Tell who injects a pod, and why
description:
  - Says for every namespace and workload, or for a pod template of yours, which revision injects a pod that is born now, through which
    tag, and why in one sentence. It decides as the API server and then istiod do, from webhooks, Services, endpoints and the injection
    configuration of the revision.
  - O(verify) asks the API server too, by creating pods as a dry run. O(render) shows what a pod would become under another revision
    before any label moves.
  - What cannot be decided from here is said in RV(injections[].reason), and RV(injections[].certain) is then V(false). These are webhooks
    with C(matchConditions), an istiod outside this cluster, and an injection configuration that cannot be read.
  - An istiod refuses pods with annotations that it finds invalid. Foreseen are unknown templates and wrong values of the annotations for
    readiness, metrics merging and interception mode. Wrong ports, address ranges, quantities and proxy configuration are not foreseen.
  - Pods of Jobs and of other controllers are not looked up. Give their template.
version_added: 0.1.0
author:
  - the meshops.istio contributors (!UNKNOWN)
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - meshops.istio.mesh
  - meshops.istio.sample
  - meshops.istio.attributes.info
options:
  namespaces:
    description: Only pods in these namespaces. All by default.
    type: list
    elements: str
  template:
    description:
      - A pod template as in C(spec.template) of a Deployment, that is C(metadata) with labels and annotations, and C(spec).
      - It is judged in each of O(namespaces). Without it each namespace is judged by a pod that says nothing about injection, and by the
        pod templates of its Deployments, StatefulSets and DaemonSets.
    type: dict
  verify:
    description:
      - Ask the API server by dry run what it does with a small pod of the same labels, annotations and C(hostNetwork). Nothing is stored,
        and the API server calls no webhook that has side effects.
      - Needs the permission to create pods in the namespaces, and no other on top of those to read.
      - A difference is a bug of this collection, or an annotation that istiod refuses and is not foreseen. Please report it with its
        entry of RV(disagreements). When somebody else than an injector refuses the pod, such as a quota or Pod Security, the answer is
        inconclusive.
    type: bool
    default: false
  render:
    description:
      - Show for each entry of RV(injections) what O(revision) would make of the pod, and what the pod is now.
      - The istiod of the revision is asked over a port-forward of the API server, and its certificate is checked as the API server does.
        No label moves. Needs the permissions to list pods and to create C(pods/portforward) where the istiod lives.
    type: bool
    default: false
  revision:
    description: The revision, or a tag of it, that O(render) asks.
    type: str
"""

EXAMPLES = r"""
- name: See who injects the shop
  meshops.istio.injection_info:
    namespaces: [shop]

- name: Check every verdict in the cluster against the API server
  meshops.istio.injection_info:
    verify: true
  register: look
  failed_when: look.count_disagreements > 0

- name: Would a gateway be injected there, and by whom?
  meshops.istio.injection_info:
    namespaces: [ingress]
    template:
      metadata:
        labels:
          istio.io/rev: prod
        annotations:
          inject.istio.io/templates: gateway

- name: See what the new revision would make of the shop
  meshops.istio.injection_info:
    namespaces: [shop]
    render: true
    revision: 1-31
"""

RETURN = r"""
injections:
  description:
    - What happens to the pods, at most O(sample_size) of them. Disagreements come first, then rejected pods, then what is not certain.
  returned: always
  type: list
  elements: dict
  contains:
    namespace:
      description: Where the pod would be born.
      type: str
    kind:
      description: The kind of its workload, null for a pod that says nothing or is of O(template).
      type: str
    name:
      description: The name of its workload, or null.
      type: str
    outcome:
      description: V(injected), V(none) for a pod without a sidecar, or V(rejected) for one that is not born.
      type: str
    revision:
      description: The revision that injects it, or null.
      type: str
    version:
      description: The version of the istiod of this revision, or null when it cannot be seen.
      type: str
    tag:
      description: The tag through which it does, or null.
      type: str
    reason:
      description: Why, in one sentence.
      type: str
    certain:
      description: Whether everything that decides could be seen.
      type: bool
    verified:
      description: With O(verify), whether the API server V(agrees), V(disagrees), or its answer is V(inconclusive). Else null.
      type: str
    answer:
      description: With O(verify), what the API server does. Else null.
      type: str
    now:
      description:
        - With O(render), the proxy of the newest pod of the workload, or else the proxy that its injector puts in. Null when there is none.
      type: dict
      sample: {"revision": "1-30", "proxy_image": "docker.io/istio/proxyv2:1.30.3", "proxy_version": "1.30.3",
               "discovery_address": "istiod-1-30.istio-system.svc:15012", "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
               "native_sidecar": false}
    then:
      description: With O(render), the proxy that O(revision) would put in, with the same keys. Null when it puts in none.
      type: dict
    then_reason:
      description: With O(render), why RV(injections[].then) is null, else empty. Null without O(render).
      type: str
    differences:
      description: With O(render), each field in which the two differ.
      type: list
      elements: dict
      sample: [{"field": "proxy_version", "now": "1.30.3", "then": "1.31.0"}]
  sample: [{"namespace": "shop", "kind": "Deployment", "name": "web", "outcome": "injected", "revision": "1-30", "version": "1.30.3",
            "tag": "prod", "reason": "injected by tag \"prod\" of revision \"1-30\"", "certain": true, "verified": "agrees",
            "answer": "injected by revision \"1-30\"", "now": null, "then": null, "then_reason": null, "differences": []}]
count_injections:
  description: How many pods were judged.
  returned: always
  type: int
  sample: 42
by_outcome:
  description: How many of them have which outcome.
  returned: always
  type: dict
  sample: {"injected": 30, "none": 12, "rejected": 0}
by_verification:
  description: With O(verify), how many answers of the API server agree. Zeros without it.
  returned: always
  type: dict
  sample: {"agrees": 42, "disagrees": 0, "inconclusive": 0}
disagreements:
  description: With O(verify), everything about verdicts that are wrong, at most O(sample_size).
  returned: always
  type: list
  elements: dict
  sample: [{"namespace": "shop", "workload": "Deployment shop/web", "namespace_labels": {"istio.io/rev": "prod"}, "labels": {"app": "web"},
            "annotations": {}, "host_network": false, "said": "injected: injected by tag \"prod\" of revision \"1-30\"",
            "answer": "no sidecar", "injectors": ["istio-revision-tag-prod/rev.namespace.sidecar-injector.istio.io"]}]
count_disagreements:
  description: How many verdicts are wrong.
  returned: always
  type: int
  sample: 0
"""

from ..module_utils._argspec import SAMPLE, ArgumentSpec
from ..module_utils._module import failing_readably, mesh_module
from ..module_utils.actions.injection import Question, look

OPTIONS = ArgumentSpec(
    {
        "namespaces": {"type": "list", "elements": "str"},
        "template": {"type": "dict"},
        "verify": {"type": "bool", "default": False},
        "render": {"type": "bool", "default": False},
        "revision": {"type": "str"},
    },
    required_if=[("render", True, ["revision"])],
    required_by={"template": ["namespaces"]},
)


def main() -> None:
    module = mesh_module(OPTIONS + SAMPLE)
    params = module.params
    with failing_readably(module) as cluster:
        under = params["revision"] if params["render"] else None
        question = Question(params["namespaces"], params["template"], params["verify"], under, params["sample_size"])
        result = look(cluster, params["istio_namespace"], question)
        if result["count_disagreements"]:
            module.warn("The API server does not do what this module says; please report it with the entries of disagreements.")
        module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
