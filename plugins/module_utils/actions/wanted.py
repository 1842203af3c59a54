# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a user wants of a control plane, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..mesh.names import is_dns_label
from ..mesh.refusal import Refusal
from ..mesh.revisions import Revision


@dataclass(frozen=True)
class Wanted:
    """The options of istio_revision."""

    revision: str
    istio_namespace: str
    wait_timeout: float
    sample_size: int
    method: str
    istioctl: str
    operator_spec: Mapping[str, Any] | None
    like: str | None
    waive: Sequence[str]
    sweep_leases: bool

    @classmethod
    def from_params(cls, params: Mapping[str, Any]) -> Wanted:
        """From module parameters.

        Raises:
            Refusal: a name that no revision can have, or options that contradict each other.
        """
        wanted = cls(**{name: params[name] for name in cls.__dataclass_fields__})
        if not is_dns_label(wanted.revision):
            raise Refusal(f'"{wanted.revision}" cannot be a revision: use lower-case letters, digits and "-", at most 63 (a DNS label).')
        if wanted.operator_spec and wanted.method == "adopt":
            raise Refusal("operator_spec contradicts method adopt, which installs nothing. Use method istioctl, or leave it out.")
        return wanted


@dataclass(frozen=True)
class Outcome:
    """What istio_revision returns."""

    changed: bool
    revision: Revision | None = None
    differences: Sequence[Mapping[str, Any]] = ()
    count_differences: int = 0
    removed: Sequence[str] = ()
    kept: Sequence[str] = ()
    proof: Sequence[str] = ()
    blockers: Mapping[str, Sequence[str]] = field(default_factory=dict)
    count_blockers: Mapping[str, int] = field(default_factory=dict)
    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any] = field(default_factory=dict)

    def as_result(self) -> dict[str, Any]:
        """As the module returns it."""
        return {
            "changed": self.changed,
            "revision": self.revision.as_result() if self.revision else None,
            "differences": list(self.differences),
            "count_differences": self.count_differences,
            "removed": list(self.removed),
            "kept": list(self.kept),
            "proof": list(self.proof),
            "blockers": dict(self.blockers),
            "count_blockers": dict(self.count_blockers),
        }
