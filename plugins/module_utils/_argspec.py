# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Options that modules share, each with its constraints. Their documentation is in plugins/doc_fragments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .cluster.connection import auth_options
from .mesh.names import DEFAULT_ISTIO_NAMESPACE

Groups = Sequence[Sequence[str]]


@dataclass(frozen=True)
class ArgumentSpec:
    """Options and the rules between them; two are merged with ``+``."""

    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    mutually_exclusive: Groups = ()
    required_together: Groups = ()
    required_one_of: Groups = ()
    required_if: Sequence[Sequence[Any]] = ()
    required_by: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def merge(self, other: ArgumentSpec) -> ArgumentSpec:
        """Both together; an option that both have is the other's."""
        return ArgumentSpec(
            options={**self.options, **other.options},
            mutually_exclusive=[*self.mutually_exclusive, *other.mutually_exclusive],
            required_together=[*self.required_together, *other.required_together],
            required_one_of=[*self.required_one_of, *other.required_one_of],
            required_if=[*self.required_if, *other.required_if],
            required_by={**self.required_by, **other.required_by},
        )

    __add__ = merge

    def to_kwargs(self) -> dict[str, Any]:
        """The keyword arguments of AnsibleModule."""
        return {
            "argument_spec": {name: dict(option) for name, option in self.options.items()},
            "mutually_exclusive": [list(group) for group in self.mutually_exclusive],
            "required_together": [list(group) for group in self.required_together],
            "required_one_of": [list(group) for group in self.required_one_of],
            "required_if": [list(rule) for rule in self.required_if],
            "required_by": {name: list(others) for name, others in self.required_by.items()},
        }


AUTH = ArgumentSpec(auth_options())
"""How to reach the cluster: kubernetes.core's options. Documented by kubernetes.core.k8s_auth_options."""

MESH = ArgumentSpec({"istio_namespace": {"type": "str", "default": DEFAULT_ISTIO_NAMESPACE}, "cluster_uid": {"type": "str"}})
"""Documented by meshops.istio.mesh."""

SAMPLE = ArgumentSpec({"sample_size": {"type": "int", "default": 20}})
"""How long lists in the result may be. Documented by meshops.istio.sample."""


def wait(timeout: int) -> ArgumentSpec:
    """How long to wait, with a default in seconds. Documented by meshops.istio.wait; the default by the module."""
    return ArgumentSpec({"wait_timeout": {"type": "int", "default": timeout}})
