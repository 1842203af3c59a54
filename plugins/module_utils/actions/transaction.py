# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Changes that happen together or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any

from ..cluster.client import Cluster, Object
from ..cluster.errors import ClusterError, Conflict
from ..cluster.paths import resource_of
from ..mesh.changes import Change, Ref, lasting, same_but_for_istiod
from ..mesh.refusal import Refusal

TRIES = 3
"""How often a write is tried while somebody else, such as istiod with its caBundle, writes the same object."""


class Transaction:
    """Writes changes one by one; when the block fails, puts everything back as it was, last change first.

    Raises (from the block):
        Refusal: the block failed, with its sentence, what was put back, and what could not be.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._done: list[Change] = []
        self._unsure: Change | None = None

    def __enter__(self) -> Transaction:
        return self

    def write(self, changes: Iterable[Change]) -> None:
        """Write changes, in this order; each only if its object is still as it was when it was read, or only istiod has touched it."""
        for change in changes:
            self._unsure = change
            _write(self._cluster, change)
            self._unsure = None
            self._done.append(change)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            return
        restored, left = self._put_all_back()
        if isinstance(error, (ClusterError, Refusal)) and (restored or left):
            said = f" Put back as it was: {', '.join(restored)}." if restored else ""
            said += f" NOT put back, repair it by hand or run again: {'; '.join(left)}" if left else ""
            kind = type(error) if isinstance(error, Refusal) else Refusal
            raise kind(f"{error}{said}") from error

    def _put_all_back(self) -> tuple[list[str], list[str]]:
        """What was put back, and what could not be, with the reason."""
        restored: list[str] = []
        left: list[str] = []
        undo = [(change, False) for change in reversed(self._done)]
        if self._unsure:
            undo.insert(0, (self._unsure, True))
        for change, unsure in undo:
            try:
                if not unsure or _has_arrived(self._cluster, change):
                    _put_back(self._cluster, change)
                    restored.append(str(change.ref))
            except ClusterError as error:
                left.append(f"{change.ref} ({error})")
        return restored, left


def path_to(ref: Ref) -> str:
    """Where the API server keeps an object."""
    return resource_of(ref.kind)(ref.namespace or "", ref.name)


def _write(cluster: Cluster, change: Change) -> None:
    version = _version(change.before)
    for left in reversed(range(TRIES)):
        try:
            _write_once(cluster, change, version)
        except Conflict:
            current = cluster.get(path_to(change.ref)) if change.before else None
            if change.before and _is_as_wanted(current, change):
                return  # our own write, whose answer was lost
            if not left or current is None or not same_but_for_istiod(change.before or {}, current):
                raise
            version = _version(current)
        else:
            return


def _write_once(cluster: Cluster, change: Change, version: str) -> None:
    path = path_to(change.ref)
    if change.after is None:
        cluster.delete(path, resource_version=version)
    elif change.before is None:
        cluster.create(resource_of(change.ref.kind)(change.ref.namespace or ""), dict(change.after))
    else:
        cluster.replace(path, _at_version(change.after, version))


def _has_arrived(cluster: Cluster, change: Change) -> bool:
    """Whether a write that failed was carried out all the same; what somebody else has written instead is not ours to undo."""
    return _is_as_wanted(cluster.get(path_to(change.ref)), change)


def _is_as_wanted(current: Object | None, change: Change) -> bool:
    """Whether an object is as a change makes it, with what the API server and istiod write by themselves."""
    if change.after is None or current is None:
        return current is None and change.after is None
    return same_but_for_istiod(current, change.after) if change.before else _includes(lasting(current), lasting(change.after))


def _includes(whole: Any, part: Any) -> bool:
    """Whether nested data has everything that a part of it names; the API server fills in defaults."""
    if isinstance(whole, dict) and isinstance(part, Mapping):
        return all(key in whole and _includes(whole[key], value) for key, value in part.items())
    if isinstance(whole, list) and isinstance(part, Sequence):
        return len(whole) == len(part) and all(map(_includes, whole, part))
    return bool(whole == part)


def _put_back(cluster: Cluster, change: Change) -> None:
    for left in reversed(range(TRIES)):
        try:
            _put_back_once(cluster, change)
        except Conflict:
            if not left:
                raise
        else:
            return


def _put_back_once(cluster: Cluster, change: Change) -> None:
    path = path_to(change.ref)
    current = cluster.get(path)
    if change.before is None:
        if current is not None:
            cluster.delete(path)
    elif current is None:
        cluster.create(resource_of(change.ref.kind)(change.ref.namespace or ""), _with_version(change.before, ""))
    else:
        cluster.replace(path, _with_version(change.before, _version(current)))


def _version(thing: Mapping[str, Any] | None) -> str:
    return str(thing["metadata"].get("resourceVersion", "")) if thing else ""


def _at_version(thing: Mapping[str, Any], version: str) -> Object:
    return {**thing, "metadata": {**thing["metadata"], **({"resourceVersion": version} if version else {})}}


def _with_version(thing: Mapping[str, Any], version: str) -> Object:
    metadata = {key: value for key, value in thing["metadata"].items() if key not in ("resourceVersion", "uid")}
    return _at_version({**thing, "metadata": metadata}, version)
