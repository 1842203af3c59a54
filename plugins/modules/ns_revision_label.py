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
  - Each namespace is written for itself, and only while its injection labels are those that were read. When one cannot be written the
    others are all the same, and the module fails at the end with the outcome of each and everything that O(restore) needs.
  - A label for another name of the same revision, such as a tag that points at it, needs no restart; RV(count_restart_needed) says so.
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
  current:
    description:
      - The namespaces whose labels name this revision or tag now. V(default) are also those with C(istio-injection=enabled).
      - Those that follow O(to) already are chosen too, so that a growing O(limit) counts them.
    type: str
  limit:
    description:
      - At most so many of the chosen namespaces, as a number or as a share such as V(25%), rounded up.
      - Which ones is decided by a hash of their names. A larger limit takes all that a smaller one took, and some more.
    type: str
  include_disabled:
    description:
      - Whether namespaces that say no to injection, by C(istio-injection) with another value than V(enabled), may be labelled too. When
        such a one is chosen and this is not set, nothing is changed.
    type: bool
    default: false
  restore:
    description:
      - The labels that namespaces shall have again, exactly, as an earlier run returned them in RV(previous).
      - A namespace whose old label nobody serves any more is left as it is and reported, because its pods would start without a sidecar.
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

- name: Let every namespace of a revision follow the tag prod instead, a quarter at first
  meshops.istio.ns_revision_label:
    current: 1-31
    to: prod
    limit: 25%

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
  contains:
    name:
      description: Its name.
      returned: always
      type: str
    before:
      description: Its injection labels before, none for an absent one.
      returned: always
      type: dict
    after:
      description: Its injection labels as they shall be.
      returned: always
      type: dict
    injector_before:
      description: The revision that injected its pods before.
      returned: always
      type: str
    injector_after:
      description: The revision that injects its pods with the new labels.
      returned: always
      type: str
    restart_needed:
      description: Whether its pods have to be restarted to get the sidecar of another revision.
      returned: always
      type: bool
    managers:
      description: Who else has set these labels, and whether they put them back.
      returned: always
      type: list
      elements: dict
    changed:
      description: Whether it was changed.
      returned: always
      type: bool
    outcome:
      description:
        - V(changed) or V(unchanged); V(refused) when it was left as it is, V(conflict) when somebody changed its labels meanwhile,
          V(failed) when it could not be written.
      returned: always
      type: str
    message:
      description: Why, unless it is well.
      returned: always
      type: str
  sample:
    - name: shop
      before: {"istio.io/rev": null, "istio-injection": "enabled"}
      after: {"istio.io/rev": "1-31", "istio-injection": null}
      injector_before: "1-30"
      injector_after: "1-31"
      restart_needed: true
      managers: []
      changed: true
      outcome: changed
      message: ""
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
count_restart_needed:
  description: How many of the changed namespaces need a restart of their workloads.
  returned: always
  type: int
  sample: 1
"""

from collections.abc import Iterable, Mapping

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._argspec import ArgumentSpec
from ..module_utils._module import failing_readably, mesh_module
from ..module_utils._result import diff_of
from ..module_utils.actions.labels import Labelled, foretell, trouble, write_labels
from ..module_utils.cluster.client import Cluster
from ..module_utils.cluster.paths import NAMESPACES
from ..module_utils.cluster.read import read_control_plane
from ..module_utils.mesh.labelling import Relabelling, following, label_sentence, plan_labels, plan_restore
from ..module_utils.mesh.managers import kept_by_product
from ..module_utils.mesh.ordering import limited
from ..module_utils.mesh.snapshot import Mesh
from ..module_utils.mesh.words import some

CHOICES = ("namespaces", "label_selectors", "current", "restore")

OPTIONS = ArgumentSpec(
    {
        "namespaces": {"type": "list", "elements": "str"},
        "label_selectors": {"type": "list", "elements": "str"},
        "current": {"type": "str"},
        "restore": {"type": "dict"},
        "to": {"type": "str"},
        "limit": {"type": "str"},
        "include_disabled": {"type": "bool", "default": False},
    },
    mutually_exclusive=[CHOICES, ("restore", "to"), ("restore", "limit")],
    required_one_of=[CHOICES, ("restore", "to")],
)


def plan(module: AnsibleModule, cluster: Cluster, mesh: Mesh) -> list[Relabelling]:
    """What shall change, as the options say."""
    params = module.params
    if params["restore"] is not None:
        return plan_restore(mesh, params["restore"])
    if params["namespaces"] is not None:
        chosen = mesh.require_namespaces(params["namespaces"])
    elif params["current"] is not None:
        chosen = sorted({*following(mesh, params["current"]), *following(mesh, params["to"])})
    else:
        found = cluster.list(NAMESPACES(), metadata_only=True, label_selector=",".join(params["label_selectors"]))
        chosen = [namespace["metadata"]["name"] for namespace in found]
    return plan_labels(mesh, limited(chosen, params["limit"]), params["to"], include_disabled=params["include_disabled"])


def warn_of_managers(module: AnsibleModule, changes: Iterable[Relabelling]) -> None:
    """Say whose labels these are, when somebody puts them back."""
    for product, names in kept_by_product((change.namespace, change.managers) for change in changes if change.changed).items():
        module.warn(f"{product} owns the injection labels of {some(names)} and will put them back. Change them in Git.")


def result_of(module: AnsibleModule, labelled: Iterable[Labelled]) -> Mapping:
    """Everything that the module returns but for a failure."""
    labelled = list(labelled)
    changed = [each.change for each in labelled if each.outcome == "changed"]
    before = {change.namespace: dict(change.before) for change in changed}
    after = {change.namespace: dict(change.after) for change in changed}
    return dict(
        changed=bool(changed),
        namespaces=[each.as_result() for each in labelled],
        previous={each.change.namespace: dict(each.change.before) for each in labelled if each.outcome not in ("conflict", "refused")},
        count_changed=len(changed),
        count_restart_needed=sum(change.restart_needed for change in changed),
        msg=label_sentence(changed),
        **diff_of(module, before, after),
    )


def main() -> None:
    module = mesh_module(OPTIONS)
    istio_namespace = module.params["istio_namespace"]
    with failing_readably(module) as cluster:
        mesh = Mesh(read_control_plane(cluster, istio_namespace), istio_namespace)
        changes = plan(module, cluster, mesh)
        warn_of_managers(module, changes)
        labelled = foretell(changes) if module.check_mode else write_labels(changes, mesh, cluster)
        result = dict(result_of(module, labelled))
        problem = "" if module.check_mode else trouble(labelled, cluster, istio_namespace)
        if problem:
            module.fail_json(**{**result, "msg": problem})
        module.exit_json(**result)


if __name__ == "__main__":
    main()
