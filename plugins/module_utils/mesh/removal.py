# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether a revision may go, and which objects are its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .changes import Ref
from .names import DEFAULT_VALIDATOR, INJECTION_LABEL, REVISION_LABEL, TAG_LABEL, injector_name, istiod_name, validator_name, with_revision
from .proxies import IstiodAnswer, attachments
from .refusal import Refusal
from .revisions import labels_of
from .selectors import Labels
from .snapshot import Mesh

GUARDS = ("proxies", "pods", "namespaces", "pod_labels", "tags", "validator", "config")
"""What can keep a revision, each waived by its own name."""


def blockers(mesh: Mesh, revision: str, answers: Sequence[IstiodAnswer], config: Iterable[Ref]) -> dict[str, list[str]]:
    """What still needs a revision, by guard; unknown counts as needed.

    Args:
        answers: of every istiod of every revision.
        config: Istio configuration objects labelled for this revision.
    """
    found = {
        "proxies": [
            f"proxy {attachment.pod} hangs on {attachment.istiod}"
            for listed in attachments(answers).values()
            for attachment in listed
            if attachment.revision == revision
        ]
        + [f"{answer.istiod} of revision {answer.revision} did not answer: {answer.error}" for answer in answers if answer.error],
        "pods": [f"pod {pod} was injected by it" for pod in mesh.pods if pod.revision == revision],
        "namespaces": [
            f"namespace {name} is labelled {label}={labels[label]}"
            for name, labels in mesh.namespaces.items()
            if (label := _label_for(mesh, name, revision))
        ],
        "pod_labels": [
            f"the new pods of {workload.owner} would be injected by it"
            for workload in mesh.workloads
            if not _label_for(mesh, workload.owner.namespace, revision)
            and any(_asks_directly(mesh, pod.namespace, pod.labels, revision) for pod in workload.pods)
        ],
        "tags": [f"tag {name} points at it" for name in _tags_at(mesh, revision)],
        "validator": [
            f"{DEFAULT_VALIDATOR} points at it"
            for thing in mesh.raw["validating"]
            if thing["metadata"]["name"] == DEFAULT_VALIDATOR and labels_of(thing).get(REVISION_LABEL) == revision
        ],
        "config": [f"{ref} is pinned to it" for ref in config],
    }
    return {guard: sorted(sentences) for guard, sentences in found.items() if sentences}


def _label_for(mesh: Mesh, namespace: str, revision: str) -> str | None:
    """The label by which a namespace asks for this revision and not for a tag, None when it does not."""
    labels = mesh.namespaces.get(namespace, {})
    if INJECTION_LABEL in labels:
        return INJECTION_LABEL if _asks_directly(mesh, namespace, {}, revision) else None
    return REVISION_LABEL if labels.get(REVISION_LABEL) == revision and revision not in mesh.tags else None


def _asks_directly(mesh: Mesh, namespace: str, pod: Labels, revision: str) -> bool:
    """Whether the revision's own injector, not one of a tag, acts on such a pod, be it alive or not."""
    injector = mesh.verdict(namespace, pod).injector
    return injector is not None and injector.revision == revision and injector.tag is None


def _tags_at(mesh: Mesh, revision: str) -> set[str]:
    """The tags of which anything points at a revision: the webhook, one entry of it that istioctl left behind, or the Service."""
    entries = {injector.tag for injector in mesh.injectors if injector.tag is not None and injector.revision == revision}
    return entries | {tag.name for tag in mesh.tags.values() if revision in (tag.revision, tag.service_revision)}


def refuse_if_needed(revision: str, found: Mapping[str, Sequence[str]], waive: Sequence[str], sample_size: int) -> None:
    """Stop when something that is not waived still needs the revision.

    Raises:
        Refusal: it names every guard with a sample of what it found; nothing has been deleted.
    """
    kept_by = {guard: list(sentences) for guard, sentences in found.items() if guard not in waive}
    if kept_by:
        samples = "; ".join(f"{guard}: {_sample(sentences, sample_size)}" for guard, sentences in kept_by.items())
        raise Refusal(
            f'revision "{revision}" is kept, nothing was deleted, because it is still needed. {samples}. Move these first, '
            f"or waive a guard by its name ({', '.join(kept_by)}).",
            blockers=kept_by,
        )


def _sample(sentences: Sequence[str], size: int) -> str:
    more = f" and {len(sentences) - size} more" if len(sentences) > size else ""
    return ", ".join(sentences[:size]) + more


def own_objects(mesh: Mesh, revision: str) -> list[Ref]:
    """Every object that belongs to one revision alone, in the order of removal: webhooks first, so that nothing new is injected.

    Source: the istiod chart; the names follow from the revision. Shared objects (CRDs, base, CNI, ztunnel, gateways, the CA secret,
    root certificates, tags, the default validator) are not among them.
    """
    home = mesh.revisions[revision].namespace if revision in mesh.revisions else mesh.istio_namespace
    suffix = f"-{mesh.istio_namespace}"
    istiod = istiod_name(revision)
    config_maps = ("istio", "istio-sidecar-injector", "values", "pilot-jwks-extra-cacerts")
    cluster_roles = ("istiod-clusterrole", "istiod-gateway-controller", "istio-reader-clusterrole")
    classes = [
        thing["metadata"]["name"]
        for thing in mesh.raw["config_maps"]
        if labels_of(thing).get(REVISION_LABEL) == revision and "gateway.istio.io/defaults-for-class" in labels_of(thing)
    ]
    return [
        Ref("MutatingWebhookConfiguration", None, injector_name(revision, mesh.istio_namespace)),
        Ref("ValidatingWebhookConfiguration", None, validator_name(revision, mesh.istio_namespace)),
        Ref("HorizontalPodAutoscaler", home, istiod),
        Ref("PodDisruptionBudget", home, istiod),
        Ref("Deployment", home, istiod),
        Ref("Service", home, istiod),
        Ref("NetworkPolicy", home, istiod),
        *(Ref("ConfigMap", home, with_revision(name, revision)) for name in config_maps),
        *(Ref("ConfigMap", home, name) for name in classes),
        Ref("RoleBinding", home, istiod),
        Ref("Role", home, istiod),
        *(Ref("ClusterRoleBinding", None, with_revision(name, revision) + suffix) for name in cluster_roles),
        *(Ref("ClusterRole", None, with_revision(name, revision) + suffix) for name in cluster_roles),
        Ref("ServiceAccount", home, istiod),
    ]


def kept_objects(mesh: Mesh, crds: Iterable[Mapping[str, Any]]) -> list[str]:
    """The shared objects that stay, for the report."""
    return [
        *(f"CustomResourceDefinition {crd['metadata']['name']}" for crd in crds),
        *(f"MutatingWebhookConfiguration {thing['metadata']['name']}" for thing in mesh.raw["mutating"] if TAG_LABEL in labels_of(thing)),
        *(
            f"ValidatingWebhookConfiguration {DEFAULT_VALIDATOR}"
            for thing in mesh.raw["validating"]
            if thing["metadata"]["name"] == DEFAULT_VALIDATOR
        ),
    ]
