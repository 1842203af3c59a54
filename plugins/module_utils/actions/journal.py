# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The upgrade's memory: one ConfigMap in the Istio namespace, written only over the version that was read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..cluster.client import Cluster
from ..cluster.paths import CONFIG_MAPS, NAMESPACES
from ..cluster.read import read_mesh
from ..mesh.names import MANAGED_BY, MANAGED_BY_LABEL
from ..mesh.refusal import Refusal
from ..mesh.snapshot import Mesh
from ..mesh.upgrade import Wishes, plan_upgrade, same_upgrade
from .clock import now

NAME = "meshops-istio-upgrade"
KEY = "journal.json"

Entry = dict[str, Any]


@dataclass
class Journal:
    """The journal in the cluster.

    Attributes:
        entry: what it says, None when no upgrade is under way.
    """

    cluster: Cluster
    istio_namespace: str
    entry: Entry | None = None
    _version: str = ""

    @classmethod
    def read(cls, cluster: Cluster, istio_namespace: str) -> Journal:
        """The journal as it is now.

        Raises:
            Refusal: somebody wrote something else into its ConfigMap.
        """
        found = cluster.get(CONFIG_MAPS(istio_namespace, NAME))
        if found is None:
            return cls(cluster, istio_namespace)
        try:
            entry = json.loads(found["data"][KEY])
        except (KeyError, ValueError) as error:
            raise Refusal(
                f"ConfigMap {istio_namespace}/{NAME} is not a journal any more (no JSON in {KEY}). Restore it from a backup; without one, "
                "look with mesh_info which revision each namespace has, then delete it."
            ) from error
        return cls(cluster, istio_namespace, entry, found["metadata"]["resourceVersion"])

    def write(self, entry: Entry) -> None:
        """Replace what it says.

        Raises:
            Conflict: another run wrote it meanwhile.
        """
        metadata = {"name": NAME, "namespace": self.istio_namespace, "labels": {MANAGED_BY_LABEL: MANAGED_BY}}
        body: Entry = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {KEY: json.dumps(entry, indent=1)}}
        if self._version:
            metadata["resourceVersion"] = self._version
            written = self.cluster.replace(CONFIG_MAPS(self.istio_namespace, NAME), body)
        else:
            written = self.cluster.create(CONFIG_MAPS(self.istio_namespace), body)
        self._version = written["metadata"]["resourceVersion"]
        self.entry = entry

    def remove(self) -> None:
        """End the upgrade.

        Raises:
            Conflict: another run wrote it meanwhile.
        """
        self.cluster.delete(CONFIG_MAPS(self.istio_namespace, NAME), resource_version=self._version)


def begin(cluster: Cluster, istio_namespace: str, before: Entry | None, wishes: Wishes) -> Entry:
    """The journal of this upgrade: the one under way, or a new one with plan and snapshot.

    Raises:
        Refusal: another upgrade is under way, or this one cannot be planned.
    """
    if before is None:
        mesh = Mesh(read_mesh(cluster, istio_namespace), istio_namespace)
        return {**plan_upgrade(mesh, wishes), "started_at": now()}
    if not same_upgrade(before, wishes):
        raise Refusal(
            f'an upgrade from "{before["from_revision"]}" to "{before["to_revision"]}" is under way since {before["started_at"]}. '
            "Finish it with --tags cleanup, or go back with --tags rollback, before another one begins."
        )
    return before


def require(entry: Entry | None) -> Entry:
    """The journal, which must exist.

    Raises:
        Refusal: no upgrade is under way.
    """
    if entry is None:
        raise Refusal(f"no upgrade is under way: ConfigMap {NAME} does not exist. Begin one with the playbook canary_upgrade.")
    return entry


def with_record(entry: Entry, record: Entry) -> Entry:
    """The journal with one more record of what was done, unless it has it already."""
    known = [{key: value for key, value in done.items() if key != "at"} for done in entry["records"]]
    return entry if record in known else {**entry, "records": [*entry["records"], {**record, "at": now()}]}


def matching_namespaces(cluster: Cluster, chosen: Any) -> list[str]:
    """The namespaces that a list of names, a comma separated string of names, or a label selector means."""
    if isinstance(chosen, str):
        if any(sign in chosen for sign in ("=", "!", " in ", " notin ")):
            found = cluster.list(NAMESPACES(), metadata_only=True, label_selector=chosen)
            return sorted(namespace["metadata"]["name"] for namespace in found)
        chosen = chosen.split(",")
    return names_in(chosen)


def names_in(chosen: Iterable[Any] | None) -> list[str]:
    """Names without the blanks that a survey's "prod, batch" leaves around them, and without empty ones."""
    return [name for name in (str(part).strip() for part in chosen or ()) if name]
