# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Workloads whose pod template asks for what it does not get."""

from __future__ import annotations

from collections.abc import Iterator

from ..finding import ERROR, WARNING, Finding
from ..injection import Outcome
from ..names import INJECT_LABEL, INJECTION_LABELS, REVISION_LABEL
from ..pod_template import PodTemplate
from ..snapshot import Mesh
from ..workloads import Owner, template_of
from .namespaces import asks_for_injection


def template_findings(mesh: Mesh) -> Iterator[Finding]:
    """By the labels of the pod templates, whether they have pods now or not."""
    for owner, controller in mesh.controllers.items():
        template = template_of(controller)
        asks = REVISION_LABEL in template.labels or template.labels.get(INJECT_LABEL) == "true"
        if asks and template.labels.get(INJECT_LABEL) != "false" and owner.namespace in mesh.namespaces:
            yield from _judge(mesh, owner, template)


def _judge(mesh: Mesh, owner: Owner, template: PodTemplate) -> Iterator[Finding]:
    namespace = mesh.namespaces[owner.namespace]
    verdict = mesh.verdict_of(owner.namespace, template)
    wanted = template.labels.get(REVISION_LABEL)
    if any(label in namespace for label in INJECTION_LABELS):
        served = mesh.tags[wanted].revision if wanted in mesh.tags else wanted
        told = verdict.outcome is Outcome.REJECTED or (verdict.outcome is Outcome.NONE and asks_for_injection(namespace))
        if wanted is not None and served != verdict.revision and not told:
            yield Finding(
                "pod-label-ignored",
                WARNING,
                str(owner),
                f"the pods of {owner} are labelled {REVISION_LABEL}={wanted}, which their namespace overrules: {verdict.reason}.",
                "Remove the label from the pod template; or take the injection label off the namespace and label all its pod templates.",
            )
    elif verdict.unheard:
        yield Finding(
            "workload-nobody-injects",
            ERROR,
            str(owner),
            f"the pods of {owner} ask for a sidecar and start without one: {verdict.reason}.",
            "Set the tag that it names with istio_tag, or label the pod template for a revision that exists.",
        )
    elif verdict.outcome is Outcome.REJECTED:
        yield Finding(
            "workload-injector-dead",
            ERROR,
            str(owner),
            f"the pods of {owner} are rejected: {verdict.reason}.",
            "Bring the revision back, or move the tag or label to a revision that is ready.",
        )
