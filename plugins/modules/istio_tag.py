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
    uses the tag, and otherwise puts back what was there.
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
    description: Guards of O(state=absent) that shall not keep the tag. V(namespaces) keeps it while namespaces are injected through it.
    type: list
    elements: str
    choices: [namespaces]
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
  sample: {"name": "prod", "revision": "1-31", "previous_revision": "1-30", "ready": true, "reason": "its injector can be called"}
namespaces:
  description: How many namespaces are injected through the tag.
  returned: always
  type: int
  sample: 14
"""

from ..module_utils._argspec import ArgumentSpec, wait
from ..module_utils._module import failing_readably, mesh_module
from ..module_utils._result import diff_of
from ..module_utils.actions.tag import carry_out
from ..module_utils.cluster.read import read_control_plane
from ..module_utils.mesh.snapshot import Mesh
from ..module_utils.mesh.tags import TagMove, plan_tag, plan_tag_removal

OPTIONS = ArgumentSpec(
    {
        "name": {"type": "str", "required": True, "aliases": ["tag"]},
        "revision": {"type": "str"},
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "expect_revision": {"type": "str"},
        "waive": {"type": "list", "elements": "str", "choices": ["namespaces"], "default": []},
    },
    required_if=[("state", "present", ["revision"])],
)


def result_of(move: TagMove, mesh: Mesh) -> dict:
    """The tag after the move, as it is known without looking again."""
    ready = move.revision is not None
    reason = "its injector can be called" if ready else "it does not exist"
    if move.revision is not None and not move.changed:
        ready, reason = mesh.tags[move.name].ready, mesh.tags[move.name].reason
    return {"name": move.name, "revision": move.revision, "previous_revision": move.previous, "ready": ready, "reason": reason}


def main() -> None:
    module = mesh_module(OPTIONS + wait(120))
    params = module.params
    with failing_readably(module) as cluster:
        mesh = Mesh(read_control_plane(cluster, params["istio_namespace"]), params["istio_namespace"])
        if params["state"] == "present":
            move = plan_tag(mesh, params["name"], params["revision"], params["expect_revision"])
        else:
            move = plan_tag_removal(mesh, params["name"], params["waive"])
        if not module.check_mode and move.changed:
            carry_out(move, cluster, params["istio_namespace"], params["wait_timeout"])
        diff = diff_of(module, {"revision": move.previous}, {"revision": move.revision}, f"tag {move.name}, {len(move.users)} namespaces")
        module.exit_json(changed=move.changed, tag=result_of(move, mesh), namespaces=len(move.users), **diff)


if __name__ == "__main__":
    main()
