# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Namespaces whose labels do not do what they seem to say."""

from __future__ import annotations

from collections.abc import Iterator

from ..ambient import AMBIENT, is_ambient
from ..finding import ERROR, INFO, WARNING, Finding
from ..injection import SILENT, Outcome
from ..managers import kept_by_product, managers_of
from ..names import DATAPLANE_LABEL, INJECTION_LABEL, REVISION_LABEL
from ..selectors import Labels
from ..snapshot import Mesh
from ..words import counted, some


def namespace_findings(mesh: Mesh) -> Iterator[Finding]:
    """By the labels of each namespace and the injectors that there are."""
    for name, labels in mesh.namespaces.items():
        yield from _two_labels(mesh, name, labels)
        yield from _verdict(mesh, name, labels)
    yield from _kept_in_git(mesh)


def asks_for_injection(labels: Labels) -> bool:
    """Whether a namespace with these labels is meant to have sidecars, whoever injects them."""
    return labels.get(INJECTION_LABEL) == "enabled" or (INJECTION_LABEL not in labels and REVISION_LABEL in labels)


def _two_labels(mesh: Mesh, name: str, labels: Labels) -> Iterator[Finding]:
    if INJECTION_LABEL in labels and REVISION_LABEL in labels:
        yield Finding(
            "namespace-two-labels",
            WARNING,
            f"Namespace {name}",
            f'namespace "{name}" has {INJECTION_LABEL}={labels[INJECTION_LABEL]} and {REVISION_LABEL}={labels[REVISION_LABEL]}: '
            f"the first wins ({mesh.verdict(name).reason}).",
            "Label it again with ns_revision_label, which removes one and sets the other in one patch.",
        )


def _verdict(mesh: Mesh, name: str, labels: Labels) -> Iterator[Finding]:
    verdict = mesh.verdict(name)
    if verdict.outcome is Outcome.REJECTED:
        yield Finding(
            "namespace-injector-dead",
            ERROR,
            f"Namespace {name}",
            f'pods in namespace "{name}" are rejected: {verdict.reason}.',
            "Bring the revision back, or move the tag or label to a revision that is ready.",
        )
    if verdict.unheard and asks_for_injection(labels):
        yield Finding(
            "namespace-nobody-injects",
            ERROR,
            f"Namespace {name}",
            f'pods in namespace "{name}" start without a sidecar: {verdict.reason}.',
            "Set the tag that it names with istio_tag, or label it for a revision that exists.",
        )
    if verdict.outcome is Outcome.INJECTED and is_ambient(labels, SILENT):
        yield Finding(
            "namespace-ambient-and-sidecar",
            WARNING,
            f"Namespace {name}",
            f'namespace "{name}" has {DATAPLANE_LABEL}={AMBIENT}, and its pods are {verdict.reason}: ztunnel leaves pods with '
            "a sidecar alone.",
            f"Remove {DATAPLANE_LABEL}, or remove the injection label and restart its workloads.",
        )


def _kept_in_git(mesh: Mesh) -> Iterator[Finding]:
    """One for each product, because a product that has one namespace usually has all of them.

    A namespace that follows a tag is well: an upgrade moves the tag.
    """
    asking = [name for name, labels in mesh.namespaces.items() if asks_for_injection(labels) and not mesh.tag_used_by(name)]
    kept = kept_by_product((name, managers_of(mesh.namespace_objects[name])) for name in asking)
    for product, names in kept.items():
        yield Finding(
            "namespace-label-in-git",
            INFO,
            f"Namespace {names[0]}",
            f"{product} keeps the injection labels of {counted(len(names), 'namespace')} and puts them back: {some(names)}.",
            "Let these namespaces follow a tag, which moves without them; or change their labels in Git.",
        )
