# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the lab keeps what."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

LAB = Path(__file__).resolve().parent.parent
"""tests/lab of the repository."""


@dataclass(frozen=True)
class Paths:
    """The state directory of one lab. `cache` outlives everything, `run` is what the running lab works in."""

    home: Path

    @classmethod
    def from_environment(cls) -> Paths:
        """MESHLAB_HOME, else meshlab in the user's cache directory."""
        if home := os.environ.get("MESHLAB_HOME"):
            return cls(Path(home).expanduser().resolve())
        cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
        return cls(Path(cache).expanduser().resolve() / "meshlab")

    @property
    def cache(self) -> Path:
        """Built and downloaded programs, one directory per family and content."""
        return self.home / "cache"

    @property
    def lock(self) -> Path:
        """Held while a command changes this lab, so that two of them take turns."""
        return self.home / "lock"

    @property
    def run(self) -> Path:
        return self.home / "run"

    @property
    def bin(self) -> Path:
        """Links to the programs the lab uses now; first on PATH inside the lab."""
        return self.run / "bin"

    @property
    def share(self) -> Path:
        """Files of the two Istio versions: Envoy bootstrap templates and Helm charts."""
        return self.run / "share"

    @property
    def pki(self) -> Path:
        return self.run / "pki"

    @property
    def log(self) -> Path:
        return self.run / "log"

    @property
    def etcd(self) -> Path:
        return self.run / "etcd"

    @property
    def pods(self) -> Path:
        """One directory per pod of the process nodes."""
        return self.run / "pods"

    @property
    def traffic(self) -> Path:
        """Counter files of the traffic clients, also of those whose pod is gone."""
        return self.run / "traffic"

    @property
    def state(self) -> Path:
        """What the supervisor says about itself, as JSON."""
        return self.run / "state.json"

    @property
    def socket(self) -> Path:
        """Where the supervisor takes requests."""
        return self.run / "control.sock"

    def kubeconfig(self, user: str) -> Path:
        return self.run / f"{user}.kubeconfig"
