# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Validating webhooks that make writes of Istio configuration fail, or soon will."""

from __future__ import annotations

from collections.abc import Iterator

from ..finding import ERROR, WARNING, Finding
from ..injectors import Reachability
from ..names import DEFAULT
from ..snapshot import Mesh
from ..validators import Validator

REPOINT = "Run istio_tag for the tag default with a revision that exists; it re-points the validator."


def validator_findings(mesh: Mesh) -> Iterator[Finding]:
    """By the validators, and by what else uses the revision that they ask."""
    for validator in mesh.validators:
        broken = list(_broken(validator))
        yield from broken
        if validator.default and not broken:
            yield from _left_over(mesh, validator)
            yield from _left_behind(mesh, validator)


def _broken(validator: Validator) -> Iterator[Finding]:
    """One that is called and fails; with failurePolicy Ignore a missing istiod hurts nobody (Helm's base chart without its default)."""
    if not validator.fails_closed:
        return
    thing = f"ValidatingWebhookConfiguration {validator.configuration}"
    if validator.reachable is Reachability.NO_SERVICE:
        yield Finding(
            "validator-dangling",
            ERROR,
            thing,
            f'"{validator.configuration}" asks revision "{validator.revision}", whose Service {validator.service} does not exist: '
            f"{validator.judges} cannot be written.",
            REPOINT if validator.default else "Delete it: its revision is gone.",
        )
    elif validator.reachable is Reachability.NO_CA_BUNDLE:
        yield Finding(
            "webhook-certificate",
            ERROR,
            thing,
            f'the API server cannot call revision "{validator.revision}" through "{validator.configuration}": {validator.reachable.value}. '
            f"{validator.judges} cannot be written.",
            "Wait a few seconds: istiod writes it. If it does not, read the log of that istiod.",
        )


def _left_over(mesh: Mesh, validator: Validator) -> Iterator[Finding]:
    if validator.tag == DEFAULT and DEFAULT not in mesh.tags and validator.revision != mesh.default_revision:
        yield Finding(
            "validator-left-over",
            WARNING,
            f"ValidatingWebhookConfiguration {validator.configuration}",
            f'the default validator was made for the default tag, which is gone, and still asks revision "{validator.revision}": without '
            "that one, no Istio configuration can be written.",
            "Set the default tag again with istio_tag, or delete the validator.",
        )


def _left_behind(mesh: Mesh, validator: Validator) -> Iterator[Finding]:
    """Everything has moved away from the revision that the default validator asks, so that it looks ready to be removed."""
    revision = validator.revision
    elsewhere = any(pod.revision != revision for pod in mesh.pods)
    used = (
        any(pod.revision == revision for pod in mesh.pods)
        or any(mesh.verdict(namespace).revision == revision for namespace in mesh.namespaces)
        or any(tag.revision == revision for tag in mesh.tags.values())
    )
    if revision in mesh.revisions and elsewhere and not used:
        yield Finding(
            "validator-left-behind",
            WARNING,
            f"ValidatingWebhookConfiguration {validator.configuration}",
            f'the default validator asks revision "{revision}", which nothing else uses any more: when that is removed first, no Istio '
            "configuration can be written.",
            "Before that, run istio_tag for the tag default, or set defaultRevision of the Helm release of the base chart.",
        )
