# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Changes that happen together or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType

from ..cluster.client import Cluster, Object
from ..cluster.errors import ClusterError
from ..cluster.paths import resource_of
from ..mesh.changes import Change, Ref
from ..mesh.refusal import Refusal


class Transaction:
    """Writes changes one by one; when the block fails, puts everything back as it was, last change first.

    Raises (from the block):
        Refusal: the block failed, with its sentence, and what was put back.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._done: list[Change] = []

    def __enter__(self) -> Transaction:
        return self

    def write(self, changes: Iterable[Change]) -> None:
        """Write changes, in this order; each only if its object is still as it was when it was read."""
        for change in changes:
            self._done.append(change)
            _write(self._cluster, change)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None or not self._done:
            return
        for change in reversed(self._done):
            _put_back(self._cluster, change)
        if isinstance(error, (ClusterError, Refusal)):
            restored = ", ".join(str(change.ref) for change in self._done)
            raise Refusal(f"{error} Put back as it was: {restored}.") from error


def path_to(ref: Ref) -> str:
    """Where the API server keeps an object."""
    return resource_of(ref.kind)(ref.namespace or "", ref.name)


def _write(cluster: Cluster, change: Change) -> None:
    path = path_to(change.ref)
    if change.after is None:
        cluster.delete(path)
    elif change.before is None:
        cluster.create(resource_of(change.ref.kind)(change.ref.namespace or ""), dict(change.after))
    else:
        cluster.replace(path, dict(change.after))


def _put_back(cluster: Cluster, change: Change) -> None:
    path = path_to(change.ref)
    current = cluster.get(path)
    if change.before is None:
        if current is not None:
            cluster.delete(path)
    elif current is None:
        cluster.create(resource_of(change.ref.kind)(change.ref.namespace or ""), _with_version(change.before, None))
    else:
        cluster.replace(path, _with_version(change.before, current["metadata"]["resourceVersion"]))


def _with_version(thing: object, version: str | None) -> Object:
    body: Object = dict(thing)  # type: ignore[call-overload]
    body["metadata"] = {key: value for key, value in body["metadata"].items() if key not in ("resourceVersion", "uid")}
    if version:
        body["metadata"]["resourceVersion"] = version
    return body
