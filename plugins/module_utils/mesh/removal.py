# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether a revision may go: everything that can still need it, each guard by its own name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .changes import Ref
from .injection import SILENT
from .injectors import service_of
from .names import (
    DEFAULT_VALIDATOR,
    INJECT_LABEL,
    INJECTION_LABEL,
    INJECTION_LABELS,
    REVISION_LABEL,
    TAG_LABEL,
    injector_name,
    istiod_name,
    validator_name,
)
from .ownership import home_of
from .pod_template import PodTemplate
from .proxies import IstiodAnswer, attachments
from .refusal import Refusal
from .revisions import labels_of
from .snapshot import Mesh
from .workloads import Owner

GUARDS = (
    "proxies",
    "unanswered",
    "pods",
    "namespaces",
    "pod_labels",
    "tags",
    "webhooks",
    "validator",
    "config",
    "gateways",
    "remotes",
)
"""What can keep a revision, each waived by its own name."""


@dataclass(frozen=True)
class Template:
    """The pods that a workload will make, of which none need be alive."""

    owner: Owner
    pod: PodTemplate


@dataclass(frozen=True)
class Evidence:
    """What the guard looks at besides the mesh itself.

    Attributes:
        answers: of every istiod of every revision.
        config: Istio configuration objects labelled for the revision.
        gateways: objects of the Gateway API labelled for it.
        templates: of Jobs and CronJobs; those of Deployments, StatefulSets and DaemonSets are in the mesh.
        remotes: Secrets with which the istiods of this cluster serve others.
        unseen: guard → sentences why something could not be looked at. Unknown never counts as safe.
    """

    answers: Sequence[IstiodAnswer] = ()
    config: Sequence[Ref] = ()
    gateways: Sequence[Ref] = ()
    templates: Sequence[Template] = ()
    remotes: Sequence[Ref] = ()
    unseen: Mapping[str, Sequence[str]] = field(default_factory=dict)


def blockers(mesh: Mesh, revision: str, evidence: Evidence) -> dict[str, list[str]]:
    """What still needs a revision, by guard, each guard's sentences sorted; unknown counts as needed."""
    webhooks = list(_webhooks(mesh, revision))
    found = {
        "proxies": _proxies(revision, evidence.answers),
        "unanswered": [
            f"{answer.istiod} of revision {answer.revision} did not answer: {answer.error}" for answer in evidence.answers if answer.error
        ],
        "pods": [*(f"pod {pod} was injected by it" for pod in mesh.pods if pod.revision == revision), *_rendered(mesh, revision, evidence)],
        "namespaces": [
            f"namespace {name} is labelled {label}={labels[label]}"
            for name, labels in mesh.namespaces.items()
            if (label := _label_for(mesh, name, revision))
        ],
        "pod_labels": [f"the new pods of {owner} would be injected by it" for owner in _asking_owners(mesh, revision, evidence)],
        "tags": [f"tag {name} points at it" for name in _tags_at(mesh, revision)],
        "webhooks": [sentence for guard, sentence in webhooks if guard == "webhooks"],
        "validator": [f"{DEFAULT_VALIDATOR} points at it"] if _default_validator_needs(mesh, revision) else [],
        "config": [f"{ref} is pinned to it" for ref in evidence.config],
        "gateways": [f"{ref} is pinned to it" for ref in evidence.gateways],
        "remotes": [
            *(sentence for guard, sentence in webhooks if guard == "remotes"),
            *(f"{ref} makes it serve another cluster, whose needs cannot be seen from here" for ref in evidence.remotes),
        ],
    }
    return {
        guard: sorted({*sentences, *evidence.unseen.get(guard, ())})
        for guard, sentences in found.items()
        if sentences or evidence.unseen.get(guard)
    }


def _proxies(revision: str, answers: Iterable[IstiodAnswer]) -> list[str]:
    return [
        f"proxy {attachment.pod} hangs on {attachment.istiod}"
        for listed in attachments(answers).values()
        for attachment in listed
        if attachment.revision == revision
    ]


def templates(mesh: Mesh) -> list[Template]:
    """Those of Deployments, StatefulSets and DaemonSets."""
    return [template_of(controller) for controller in mesh.controllers.values()]


def _rendered(mesh: Mesh, revision: str, evidence: Evidence) -> Iterator[str]:
    """Templates with a proxy of the revision written into them, by Gateway API deployment, istioctl kube-inject or a profile."""
    for template in [*templates(mesh), *evidence.templates]:
        if template.pod.annotations.get(REVISION_LABEL) == revision:
            yield f"the template of {template.owner} has a proxy of it"


def _asking_owners(mesh: Mesh, revision: str, evidence: Evidence) -> set[Owner]:
    """Who would get new pods from the revision because of their own labels, also when no pod of it lives now."""
    asking = [(pod.owner, pod.template) for pod in mesh.pods] + [(each.owner, each.pod) for each in [*templates(mesh), *evidence.templates]]
    return {
        owner
        for owner, pod in asking
        if not _label_for(mesh, owner.namespace, revision) and _pod_asks(mesh, owner.namespace, pod, revision)
    }


def _pod_asks(mesh: Mesh, namespace: str, pod: PodTemplate, revision: str) -> bool:
    """Whether such a pod asks for this revision and not for a tag; by its label even when no injector is left to hear it."""
    if _asks_directly(mesh, namespace, pod, revision):
        return True
    if pod.labels.get(INJECT_LABEL) == "false" or any(label in mesh.namespaces.get(namespace, {}) for label in INJECTION_LABELS):
        return False
    return pod.labels.get(REVISION_LABEL) == revision and revision not in mesh.tags


def _label_for(mesh: Mesh, namespace: str, revision: str) -> str | None:
    """The label by which a namespace asks for this revision and not for a tag, None when it does not."""
    labels = mesh.namespaces.get(namespace, {})
    if INJECTION_LABEL in labels:
        return INJECTION_LABEL if _asks_directly(mesh, namespace, SILENT, revision) else None
    return REVISION_LABEL if labels.get(REVISION_LABEL) == revision and revision not in mesh.tags else None


def _asks_directly(mesh: Mesh, namespace: str, pod: PodTemplate, revision: str) -> bool:
    """Whether the revision's own injector, not one of a tag, acts on such a pod, be it alive or not."""
    injector = mesh.verdict_of(namespace, pod).injector
    return injector is not None and injector.revision == revision and injector.tag is None


def _tags_at(mesh: Mesh, revision: str) -> set[str]:
    """The tags of which anything points at a revision: the webhook, one entry of it that istioctl left behind, or the Service."""
    entries = {injector.tag for injector in mesh.injectors if injector.tag is not None and injector.revision == revision}
    return entries | {tag.name for tag in mesh.tags.values() if revision in (tag.revision, tag.service_revision)}


def _default_validator_needs(mesh: Mesh, revision: str) -> bool:
    """Whether the default validator's label or, whatever that says, its Service is the revision's."""
    services = services_at(mesh, revision)
    return any(
        labels_of(thing).get(REVISION_LABEL) == revision or any(service_of(entry) in services for entry in thing.get("webhooks") or ())
        for thing in mesh.raw["validating"]
        if thing["metadata"]["name"] == DEFAULT_VALIDATOR
    )


def services_at(mesh: Mesh, revision: str) -> set[str]:
    """The Services ("namespace/name") behind which the revision's istiods are, also the one that is gone."""
    found = {
        f"{thing['metadata']['namespace']}/{thing['metadata']['name']}"
        for thing in mesh.raw["services"]
        if revision in (labels_of(thing).get(REVISION_LABEL), ((thing.get("spec") or {}).get("selector") or {}).get(REVISION_LABEL))
    }
    return found | {f"{home_of(mesh, revision)}/{istiod_name(revision)}"}


def _webhooks(mesh: Mesh, revision: str) -> Iterator[tuple[str, str]]:
    """Guard and sentence for every webhook entry of any name that needs the revision, besides those that other guards know."""
    services = services_at(mesh, revision)
    own = (injector_name(revision, mesh.istio_namespace), validator_name(revision, mesh.istio_namespace))
    for thing in [*mesh.raw["mutating"], *mesh.raw["validating"]]:
        name = thing["metadata"]["name"]
        if name == DEFAULT_VALIDATOR or TAG_LABEL in labels_of(thing):
            continue
        for entry in thing.get("webhooks") or ():
            called = service_of(entry)
            if "service" in entry["clientConfig"]:
                if called in services and name not in own:
                    yield "webhooks", f"{thing['kind']} {name} calls its Service {called}"
            elif name in own:
                yield "remotes", f"its own {thing['kind']} {name} calls {called}: its istiod is not in this cluster and cannot be asked"
            elif labels_of(thing).get(REVISION_LABEL) == revision or _service_in(called) in services:
                yield "remotes", f"{thing['kind']} {name} calls it at {called}"


def _service_in(host: str) -> str:
    """The "namespace/name" of the Service that a host names, as in istiod-x.istio-system.svc:443."""
    name, _dot, rest = host.partition(":")[0].partition(".")
    return f"{rest.partition('.')[0]}/{name}"


def refuse_if_needed(revision: str, found: Mapping[str, Sequence[str]], waive: Sequence[str], sample_size: int) -> None:
    """Stop when something that is not waived still needs the revision.

    Raises:
        Refusal: it names every guard with a sample of what it found; nothing has been deleted. Its details have the sample and the counts.
    """
    kept_by = {guard: list(sentences) for guard, sentences in found.items() if guard not in waive}
    if kept_by:
        samples = "; ".join(f"{guard}: {_sample(sentences, sample_size)}" for guard, sentences in kept_by.items())
        raise Refusal(
            f'revision "{revision}" is kept, nothing was deleted, because it is still needed. {samples}. Move these first, '
            f"or waive a guard by its name ({', '.join(kept_by)}).",
            **sampled(kept_by, sample_size),
        )


def sampled(found: Mapping[str, Sequence[str]], size: int) -> dict[str, Any]:
    """What needs the revision as modules return it: the first sentences of every guard, and how many there are."""
    return {
        "blockers": {guard: list(sentences[:size]) for guard, sentences in found.items()},
        "count_blockers": {guard: len(sentences) for guard, sentences in found.items()},
    }


def _sample(sentences: Sequence[str], size: int) -> str:
    more = f" and {len(sentences) - size} more" if len(sentences) > size else ""
    return ", ".join(sentences[:size]) + more


def witnesses(mesh: Mesh) -> dict[str, str]:
    """Namespace → revision that acts on its pods, alive or not: one namespace for every injector, to ask before and after a removal."""
    found: dict[str, tuple[str, str]] = {}
    for name in sorted(mesh.namespaces):
        injector = mesh.verdict(name).injector
        if injector is not None:
            found.setdefault(injector.configuration, (name, injector.revision))
    return dict(found.values())


def template_of(thing: Mapping[str, Any]) -> Template:
    """The pod template of a workload that has it at ``spec.template``."""
    owner = Owner(thing["kind"], thing["metadata"]["namespace"], thing["metadata"]["name"])
    return Template(owner, PodTemplate.parse(thing["spec"]["template"]))
