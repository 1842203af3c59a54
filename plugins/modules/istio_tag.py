#!/usr/bin/python
# Copyright (c) 2026, the meshops.istio contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: istio_tag
short_description: Point a revision tag at a revision
description:
  - A tag is a webhook configuration and a Service; the tag V(default) is also the default validator and the end of an injector without
    a revision. All of them move together or not at all.
  - After the write the module waits until the API server can really call the target, proves it with a dry-run pod in a namespace that
    uses the tag, or else with one that asks for it by its own label, and otherwise puts back what was there. When nobody can be asked for
    a pod, RV(tag.reason) says so.
  - While a tag moves, its webhook carries a note in an annotation. After a run that died the next one finishes the move, or goes back
    when the target cannot inject.
  - An injector without a revision that the tag V(default) takes C(istio-injection=enabled) from is switched off, and keeps its selectors
    in an annotation; O(state=absent) switches it on again first.
  - Tags made by C(istioctl tag set), C(istioctl install) or Helm's C(revisionTags) are taken over when they move. C(istioctl uninstall)
    does not remove them any more with a revision. A Helm release does not forget them; there is a warning then. Tags of the Sail operator
    are refused.
version_added: 0.1.0
author:
  - the meshops.istio contributors (!UNKNOWN)
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - meshops.istio.mesh
  - meshops.istio.wait
  - meshops.istio.attributes
options:
  name:
    description: The tag. V(default) serves C(istio-injection=enabled).
    type: str
    required: true
    aliases: [tag]
  revision:
    description: The revision that the tag shall point at. Required with O(state=present).
    type: str
  state:
    description: Whether the tag shall exist.
    type: str
    choices: [present, absent]
    default: present
  expect_revision:
    description: Move the tag only if it points at this revision now, or already at O(revision).
    type: str
  waive:
    description:
      - Guards of O(state=absent) that shall not keep the tag.
      - V(namespaces) keeps it while namespaces would have no injector without it, those with C(istio-injection=enabled) and, where
        C(enableNamespacesByDefault) is set, those without a label included. V(pod_labels) does so for pods, and templates of workloads
        without pods, that ask for it by a label of their own.
    type: list
    elements: str
    choices: [namespaces, pod_labels]
    default: []
  wait_timeout:
    default: 120
seealso:
  - module: meshops.istio.workload_restart
"""

EXAMPLES = r"""
- name: Move the tag prod to the new revision
  meshops.istio.istio_tag:
    name: prod
    revision: 1-31
    expect_revision: 1-30

- name: Let the new revision serve istio-injection=enabled
  meshops.istio.istio_tag:
    name: default
    revision: 1-31
"""

RETURN = r"""
tag:
  description: The tag as it is after the run, or would be in check mode.
  returned: always
  type: dict
  contains:
    name:
      description: Its name.
      returned: always
      type: str
    revision:
      description: Where it points, none when it does not exist.
      returned: always
      type: str
    previous_revision:
      description: Where it pointed before this run, or before the run that died under way. None when it did not exist.
      returned: always
      type: str
    adopted_from:
      description: Who had made what this run took over, C(istioctl) or a Helm release; none for nobody.
      returned: always
      type: str
    ready:
      description: Whether its injector can be called.
      returned: always
      type: bool
    reason:
      description: What shows that, or what does not.
      returned: always
      type: str
  sample:
    name: prod
    revision: "1-31"
    previous_revision: "1-30"
    adopted_from: istioctl
    ready: true
    reason: a pod in namespace "shop" is injected by it, as a dry run shows
namespaces:
  description: How many namespaces are injected through the tag.
  returned: always
  type: int
  sample: 14
"""

from ..module_utils._argspec import ArgumentSpec, wait
from ..module_utils._module import failing_readably, mesh_module
from ..module_utils._result import diff_of
from ..module_utils.actions.tag import ensure_no_tag, ensure_tag
from ..module_utils.mesh.tag_removal import TAG_GUARDS

OPTIONS = ArgumentSpec(
    {
        "name": {"type": "str", "required": True, "aliases": ["tag"]},
        "revision": {"type": "str"},
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "expect_revision": {"type": "str"},
        "waive": {"type": "list", "elements": "str", "choices": list(TAG_GUARDS), "default": []},
    },
    required_if=[("state", "present", ["revision"])],
)

HELM_WARNING = (
    'Tag "{tag}" was made by {owner} (revisionTags). The next upgrade of that release moves it back, and its removal takes the tag along. '
    "Take it out of revisionTags of that release, which removes it, then set it again."
)


def main() -> None:
    module = mesh_module(OPTIONS + wait(120))
    params = module.params
    common = {"wait_timeout": params["wait_timeout"], "check_mode": module.check_mode}
    with failing_readably(module) as cluster:
        mesh, name = params["istio_namespace"], params["name"]
        if params["state"] == "present":
            moved = ensure_tag(cluster, mesh, name, params["revision"], expect_revision=params["expect_revision"], **common)
        else:
            moved = ensure_no_tag(cluster, mesh, name, waive=params["waive"], **common)
        if moved.maker.startswith("Helm"):
            module.warn(HELM_WARNING.format(tag=name, owner=moved.maker))
        move = moved.move
        tag = {
            "name": name,
            "revision": move.revision,
            "previous_revision": move.previous,
            "adopted_from": moved.maker or None,
            "ready": move.revision is not None,
            "reason": moved.proof,
        }
        diff = diff_of(module, {"revision": move.previous}, {"revision": move.revision}, f"tag {name}, {len(move.users)} namespaces")
        module.exit_json(changed=move.changed, tag=tag, namespaces=len(move.users), **diff)


if __name__ == "__main__":
    main()
