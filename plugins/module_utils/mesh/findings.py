# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is wrong with a mesh, each with a stable code, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator

from .finding import ERROR, WARNING, Finding, in_order
from .injection import Outcome
from .names import DEFAULT_VALIDATOR, INJECTION_LABEL, REVISION_LABEL
from .revisions import labels_of
from .snapshot import Mesh


def findings(mesh: Mesh) -> list[Finding]:
    """Everything that is wrong with the mesh, errors first."""
    return in_order([*_namespaces(mesh), *_tags(mesh), *_default_owners(mesh), *_validator(mesh)])


def _namespaces(mesh: Mesh) -> Iterator[Finding]:
    for name, labels in sorted(mesh.namespaces.items()):
        verdict = mesh.verdict(name)
        thing = f"Namespace {name}"
        if INJECTION_LABEL in labels and REVISION_LABEL in labels:
            yield Finding(
                "namespace-two-labels",
                WARNING,
                thing,
                f'namespace "{name}" has {INJECTION_LABEL}={labels[INJECTION_LABEL]} and {REVISION_LABEL}={labels[REVISION_LABEL]}: '
                f"the first wins ({verdict.reason})",
                "Label it again with ns_revision_label, which removes one and sets the other in one patch.",
            )
        if verdict.outcome is Outcome.REJECTED:
            yield Finding(
                "namespace-injector-dead",
                ERROR,
                thing,
                f'pods in namespace "{name}" are rejected: {verdict.reason}',
                "Bring the revision back, or move the tag or label to a revision that is ready.",
            )
        asks = labels.get(INJECTION_LABEL) == "enabled" or (INJECTION_LABEL not in labels and REVISION_LABEL in labels)
        if verdict.outcome is Outcome.NONE and asks:
            yield Finding(
                "namespace-nobody-injects",
                ERROR,
                thing,
                f'pods in namespace "{name}" start without a sidecar: {verdict.reason}',
                "Set the tag that it names with istio_tag, or label it for a revision that exists.",
            )


def _tags(mesh: Mesh) -> Iterator[Finding]:
    for tag in mesh.tags.values():
        if tag.service_revision not in (None, tag.revision):
            yield Finding(
                "tag-split",
                ERROR,
                f"Tag {tag.name}",
                f'the webhook of tag "{tag.name}" names revision "{tag.revision}" and its Service "{tag.service_revision}": both claim it',
                "Run istio_tag with the revision you want; it moves both.",
            )
        if tag.revision not in mesh.revisions:
            yield Finding(
                "tag-dangling",
                ERROR,
                f"Tag {tag.name}",
                f'tag "{tag.name}" points at revision "{tag.revision}", which does not exist: pods that ask for it are rejected',
                "Move the tag to a revision that exists with istio_tag, or remove it.",
            )


def _default_owners(mesh: Mesh) -> Iterator[Finding]:
    acting = sorted({injector.configuration for injector in mesh.injectors if injector.acts_on({INJECTION_LABEL: "enabled"}, {})})
    if len(acting) > 1:
        yield Finding(
            "default-owners",
            ERROR,
            "Tag default",
            f"{' and '.join(acting)} all act on {INJECTION_LABEL}=enabled; the last one wins",
            "Run istio_tag for the tag default with the revision you want; it switches the other off.",
        )


def _validator(mesh: Mesh) -> Iterator[Finding]:
    for configuration in mesh.raw.get("validating", ()):
        revision = labels_of(configuration).get(REVISION_LABEL)
        if configuration["metadata"]["name"] == DEFAULT_VALIDATOR and revision not in mesh.revisions:
            yield Finding(
                "validator-dangling",
                ERROR,
                f"ValidatingWebhookConfiguration {DEFAULT_VALIDATOR}",
                f'the default validator points at revision "{revision}", which does not exist: Istio configuration cannot be written',
                "Run istio_tag for the tag default with a revision that exists; it re-points the validator.",
            )
