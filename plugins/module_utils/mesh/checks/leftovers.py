# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What lies around a mesh: configuration that no istiod reads, what gone revisions left, and what could not be looked at."""

from __future__ import annotations

from collections.abc import Iterator

from ..finding import INFO, WARNING, Finding
from ..injectors import Reachability
from ..names import LEASE_PREFIXES, REVISION_LABEL
from ..revisions import labels_of
from ..snapshot import Mesh
from ..words import counted, some


def leftover_findings(mesh: Mesh) -> Iterator[Finding]:
    """By what cluster/surroundings.py has read; what it has not is no finding."""
    yield from _hidden_config(mesh)
    yield from _leases(mesh)
    yield from _remote(mesh)
    yield from _unread(mesh)


def _hidden_config(mesh: Mesh) -> Iterator[Finding]:
    """An istiod reads an object with this label only if it is the name of its revision; tags are not resolved (pkg/config/model.go)."""
    for thing in mesh.raw.get("config", ()):
        revision = labels_of(thing)[REVISION_LABEL]
        if revision not in mesh.revisions:
            kind, namespace, name = thing["kind"], thing["metadata"].get("namespace", ""), thing["metadata"]["name"]
            what = f'tag "{revision}", which no istiod resolves here' if revision in mesh.tags else f'"{revision}", which does not exist'
            yield Finding(
                "config-hidden",
                WARNING,
                f"{kind} {namespace}/{name}",
                f"{kind} {namespace}/{name} has no effect: its label {REVISION_LABEL} names {what}.",
                "Remove the label, so that every revision reads it: "
                f"kubectl label --namespace {namespace} {kind} {name} {REVISION_LABEL}-.",
            )


def _leases(mesh: Mesh) -> Iterator[Finding]:
    left: dict[str, list[str]] = {}
    for lease in mesh.raw.get("leases", ()):
        for prefix in LEASE_PREFIXES:
            revision = lease["metadata"]["name"].removeprefix(prefix)
            if lease["metadata"]["name"].startswith(prefix) and revision not in mesh.revisions:
                left.setdefault(revision, []).append(f"{lease['metadata']['namespace']}/{lease['metadata']['name']}")
    for revision, names in left.items():
        yield Finding(
            "lease-left-over",
            INFO,
            f"Revision {revision}",
            f'{counted(len(names), "lease")} of revision "{revision}", which is gone: {some(sorted(names))}. Nothing depends on that.',
            "Delete what is left when you are sure that the revision does not come back.",
        )


def _remote(mesh: Mesh) -> Iterator[Finding]:
    external = sorted({injector.configuration for injector in mesh.injectors if injector.reachable is Reachability.EXTERNAL})
    secrets = sorted(thing["metadata"]["name"] for thing in mesh.raw.get("remote_secrets", ()))
    if external:
        yield Finding(
            "remote-control-plane",
            INFO,
            f"MutatingWebhookConfiguration {external[0]}",
            f"{some(external)} call an istiod outside this cluster: whether it answers cannot be seen from here.",
            "Look at its own cluster before you move anything here.",
        )
    if secrets:
        yield Finding(
            "remote-clusters",
            INFO,
            f"Secret {secrets[0]}",
            f"the istiods here serve other clusters too ({counted(len(secrets), 'remote secret')}: {some(secrets)}): their proxies hang on "
            "these revisions, and are not seen here.",
            "Move those clusters before you remove a revision.",
        )


def _unread(mesh: Mesh) -> Iterator[Finding]:
    unread = mesh.raw.get("unread", ())
    if unread:
        yield Finding(
            "not-looked-at",
            INFO,
            unread[0]["what"],
            f"{some([thing['what'] for thing in unread])} may not be read by this user, so whether something is wrong there is unknown: "
            f"{unread[0]['why']}",
            "Grant the right to list them, or look yourself.",
        )
