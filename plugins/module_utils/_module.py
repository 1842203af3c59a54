# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What every module does first and last: read its options, and fail with a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ansible.module_utils.basic import AnsibleModule, _load_params, missing_required_lib

from ._argspec import AUTH, MESH, ArgumentSpec
from .cluster.client import Cluster
from .cluster.connection import IMPORT_ERRORS
from .cluster.errors import ClusterError
from .cluster.identity import identity_of, refuse_another_cluster
from .mesh.refusal import Refusal

NEEDED = {
    "kubernetes": missing_required_lib("kubernetes>=31,!=36.0.0", reason="to talk to the cluster."),
    "kubernetes.core": (
        "the collection kubernetes.core is missing or older than 6.0.0; its connection options are used. "
        'Install it: "ansible-galaxy collection install kubernetes.core".'
    ),
}


def mesh_module(spec: ArgumentSpec) -> AnsibleModule:
    """A module with these options, the connection options and istio_namespace; fails when a library it needs is missing."""
    if "kubernetes.core" in IMPORT_ERRORS:
        # Its options are unknown then, and the user must hear about the collection, not about "unsupported parameters".
        spec = ArgumentSpec({name: {"type": "raw", "no_log": True} for name in _load_params() if not name.startswith("_")})
    module = AnsibleModule(supports_check_mode=True, **(AUTH + MESH + spec).to_kwargs())
    for library, trace in IMPORT_ERRORS.items():
        module.fail_json(msg=NEEDED[library], exception=trace)
    return module


@contextmanager
def failing_readably(module: AnsibleModule) -> Iterator[Cluster]:
    """The cluster of a module, refused when it is not the one that the user means.

    A ClusterError or Refusal within ends the module with its sentence, anything else surfaces.
    """
    try:
        cluster = Cluster.from_params(module.params)
        if module.params["cluster_uid"]:
            refuse_another_cluster(identity_of(cluster), module.params["cluster_uid"])
        yield cluster
    except Refusal as refusal:
        module.fail_json(msg=str(refusal), **refusal.details)
    except ClusterError as error:
        module.fail_json(msg=str(error), status=error.status, reason=error.reason)
