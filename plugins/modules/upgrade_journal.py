#!/usr/bin/python
# Copyright (c) 2026, the meshops.istio contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: upgrade_journal
short_description: Remember an upgrade in the cluster
description:
  - Keeps the frozen plan of an upgrade, the state before it, and what was done, in ConfigMap C(meshops-istio-upgrade) of the Istio
    namespace, so that a later run, also on another machine, can continue it or go back.
  - With O(from_revision) and O(to_revision) it begins an upgrade, or continues the one that is under way. Another upgrade under way is
    refused.
  - Without them the journal must exist, and is returned.
version_added: 0.1.0
author:
  - the meshops.istio contributors (!UNKNOWN)
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - meshops.istio.mesh
  - meshops.istio.attributes
options:
  state:
    description: V(absent) ends the upgrade. The journal is removed, and returned for the last time.
    type: str
    choices: [present, absent]
    default: present
  from_revision:
    description: The old revision.
    type: str
  to_revision:
    description: The new revision. It need not exist yet.
    type: str
  tags:
    description: The tags that move. By default every tag that points at O(from_revision), except O(canary_tags).
    type: list
    elements: str
  canary_namespaces:
    description:
      - The namespaces that go first, a list of names or a string.
      - A string with C(=), C(!), C( in ) or C( notin ) is a label selector, any other a comma separated list of names.
    type: raw
  canary_tags:
    description: Tags that move already in the canary stage, with the namespaces that use them.
    type: list
    elements: str
    default: []
  waves:
    description: How the other namespaces are cut into waves, as growing percentages that end with 100.
    type: list
    elements: int
    default: [100]
  record:
    description: What was done, appended to the journal once; the same record is not appended twice.
    type: dict
"""

EXAMPLES = r"""
- name: Plan the upgrade, and remember the state before it
  meshops.istio.upgrade_journal:
    from_revision: 1-30
    to_revision: 1-31
    canary_namespaces: [shop-canary]
    waves: [25, 100]
  register: upgrade

- name: Record a stage
  meshops.istio.upgrade_journal:
    record:
      stage: canary
"""

RETURN = r"""
journal:
  description: The journal as it is after the run, or would be in check mode.
  returned: always
  type: dict
  contains:
    from_revision:
      description: The old revision.
      type: str
    to_revision:
      description: The new revision.
      type: str
    tags:
      description: The tags that move, and where each pointed before.
      type: dict
      sample: {"prod": "1-30"}
    plan:
      description: Who goes first, the waves of the rest, and the labels that canary namespaces get back.
      type: dict
    snapshot:
      description: Labels, tags and workloads before the upgrade.
      type: dict
    records:
      description: What was done.
      type: list
      elements: dict
    started_at:
      description: When the upgrade began, UTC.
      type: str
"""

from ..module_utils._argspec import ArgumentSpec
from ..module_utils._module import failing_readably, mesh_module
from ..module_utils._result import diff_of
from ..module_utils.actions.journal import Journal, begin, matching_namespaces, names_in, require, with_record
from ..module_utils.mesh.upgrade import Wishes

OPTIONS = ArgumentSpec(
    {
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "from_revision": {"type": "str"},
        "to_revision": {"type": "str"},
        "tags": {"type": "list", "elements": "str"},
        "canary_namespaces": {"type": "raw"},
        "canary_tags": {"type": "list", "elements": "str", "default": []},
        "waves": {"type": "list", "elements": "int", "default": [100]},
        "record": {"type": "dict"},
    },
    required_together=[("from_revision", "to_revision")],
)


def main() -> None:
    module = mesh_module(OPTIONS)
    params = module.params
    with failing_readably(module) as cluster:
        journal = Journal.read(cluster, params["istio_namespace"])
        before = journal.entry
        if params["state"] == "absent":
            after = None
        elif params["from_revision"] is None:
            after = require(before)
        else:
            canaries = matching_namespaces(cluster, params["canary_namespaces"])
            tags = None if params["tags"] is None else names_in(params["tags"])
            canary_tags = names_in(params["canary_tags"])
            wishes = Wishes(params["from_revision"], params["to_revision"], tags, canaries, canary_tags, params["waves"])
            after = begin(cluster, params["istio_namespace"], before, wishes)
        if after is not None and params["record"] is not None:
            after = with_record(after, params["record"])
        changed = after != before
        if changed and not module.check_mode:
            journal.remove() if after is None else journal.write(after)
        module.exit_json(changed=changed, journal=after or before or {}, **diff_of(module, before or {}, after or {}, "upgrade"))


if __name__ == "__main__":
    main()
