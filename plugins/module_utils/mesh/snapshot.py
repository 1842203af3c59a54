# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""One look at the mesh: everything the other rooms compute on, read at one time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .changes import Change
from .injection import Verdict, verdict
from .injectors import Injector, injectors_of
from .names import DEFAULT_ISTIO_NAMESPACE, INJECTION_LABELS
from .pod_template import PodTemplate
from .refusal import Refusal
from .revisions import Revision, Tag, default_owner, labels_of, revisions_of, tags_of
from .selectors import Labels
from .validators import Validator, validators_of
from .workloads import Owner, Pod, Workload, pods_of, workloads_of

NOUNS = {"MutatingWebhookConfiguration": "mutating", "ValidatingWebhookConfiguration": "validating", "Service": "services"}
"""Kind → noun of what a change of a tag touches."""

Raw = Mapping[str, Sequence[Mapping[str, Any]]]
"""Lists of Kubernetes objects by noun, as module_utils/cluster/read.py returns them; a noun that was not read is absent."""


@dataclass(frozen=True)
class Mesh:
    """The mesh as the API server describes it, with everything that follows from it worked out on demand."""

    raw: Raw
    istio_namespace: str = DEFAULT_ISTIO_NAMESPACE

    @cached_property
    def injectors(self) -> list[Injector]:
        raw = self.raw
        return injectors_of(raw["mutating"], raw["services"], raw["endpoint_slices"], raw["config_maps"], raw["istiod_deployments"])

    @cached_property
    def validators(self) -> list[Validator]:
        return validators_of(self.raw["validating"], self.raw["services"], self.raw["endpoint_slices"])

    @cached_property
    def revisions(self) -> dict[str, Revision]:
        return {revision.name: revision for revision in revisions_of(self.raw["istiod_deployments"], self.injectors)}

    @cached_property
    def tags(self) -> dict[str, Tag]:
        return {tag.name: tag for tag in tags_of(self.raw["services"], self.injectors)}

    @cached_property
    def default_revision(self) -> str | None:
        return default_owner(self.injectors)

    @cached_property
    def namespaces(self) -> dict[str, Labels]:
        """The labels of every namespace that is not being deleted."""
        return {
            namespace["metadata"]["name"]: labels_of(namespace)
            for namespace in self.raw["namespaces"]
            if not namespace["metadata"].get("deletionTimestamp")
        }

    @cached_property
    def namespace_objects(self) -> dict[str, Mapping[str, Any]]:
        """The namespaces, as the API server has them."""
        return {namespace["metadata"]["name"]: namespace for namespace in self.raw["namespaces"]}

    @cached_property
    def pods(self) -> list[Pod]:
        return pods_of(self.raw["pods"], self.raw["replica_sets"])

    @cached_property
    def workloads(self) -> list[Workload]:
        return workloads_of(self.pods)

    @cached_property
    def controllers(self) -> dict[Owner, Mapping[str, Any]]:
        """The Deployments, StatefulSets and DaemonSets, as the API server has them."""
        return {Owner(thing["kind"], thing["metadata"]["namespace"], thing["metadata"]["name"]): thing for thing in self.raw["workloads"]}

    @cached_property
    def pods_by_revision(self) -> dict[str, dict[str, int]]:
        """Namespace → revision → pods."""
        counted: dict[str, Counter[str]] = {}
        for pod in self.pods:
            counted.setdefault(pod.namespace, Counter())[pod.revision] += 1
        return {namespace: dict(sorted(counter.items())) for namespace, counter in counted.items()}

    @cached_property
    def tags_of_pods(self) -> dict[str, set[str]]:
        """Namespace → tags that inject successors of its pods, also through a label of the pod alone, as gateways have it."""
        used: dict[str, set[str]] = {}
        for pod in self.pods:
            injector = self.verdict_of(pod.namespace, pod.template).injector
            if injector is not None and injector.tag is not None:
                used.setdefault(pod.namespace, set()).add(injector.tag)
        return used

    def after(self, changes: Iterable[Change]) -> Mesh:
        """The mesh once changes of webhook configurations and Services have been made."""
        raw = dict(self.raw)
        for change in changes:
            noun = NOUNS[change.ref.kind]
            key = (change.ref.namespace, change.ref.name)
            raw[noun] = [thing for thing in raw[noun] if (thing["metadata"].get("namespace"), thing["metadata"]["name"]) != key]
            if change.after is not None:
                raw[noun] = [*raw[noun], change.after]
        return Mesh(raw, self.istio_namespace)

    def verdict(self, namespace: str, pod: Labels | None = None) -> Verdict:
        """Who injects a pod with these labels born now in a namespace."""
        return self.verdict_of(namespace, PodTemplate(pod or {}))

    def verdict_of(self, namespace: str, pod: PodTemplate) -> Verdict:
        """Who injects such a pod born now in a namespace. Worked out once for all pods that look the same."""
        key = (namespace, frozenset(pod.labels.items()), frozenset(pod.annotations.items()), pod.host_network)
        if key not in self._verdicts:
            self._verdicts[key] = verdict(self.injectors, self.namespaces.get(namespace, {}), pod)
        return self._verdicts[key]

    @cached_property
    def _verdicts(self) -> dict[tuple[object, ...], Verdict]:
        return {}

    def wanted(self, pod: Pod) -> str | None:
        """The revision that a successor of this pod would get, None when nobody injects it."""
        return pod.revision if pod.rendered else self.verdict_of(pod.namespace, pod.template).revision

    def tag_used_by(self, namespace: str) -> str | None:
        """The tag through which pods of a namespace are injected now, or rejected while its injector cannot be called."""
        injector = self.verdict(namespace).injector
        return injector.tag if injector else None

    def require_revision(self, name: str) -> Revision:
        """The revision of this name.

        Raises:
            Refusal: no control plane has it.
        """
        if name not in self.revisions:
            known = ", ".join(self.revisions) or "none"
            raise Refusal(f'revision "{name}" does not exist in this cluster (known: {known}). Install it first, or correct the name.')
        return self.revisions[name]

    def require_namespaces(self, names: Sequence[str]) -> list[str]:
        """The same names, once each and in order.

        Raises:
            Refusal: at least one of them does not exist.
        """
        missing = sorted(set(names) - self.namespaces.keys())
        if missing:
            raise Refusal(f"namespace {', '.join(missing)} does not exist in this cluster. Correct the name, or create it first.")
        return list(dict.fromkeys(names))

    def resolve(self, name: str) -> Revision:
        """The revision behind the name of a revision or a tag.

        Raises:
            Refusal: it is neither, so a pod that asks for it would start without a sidecar, silently.
        """
        if name in self.tags:
            return self.require_revision(self.tags[name].revision)
        if name in self.revisions:
            return self.revisions[name]
        known = ", ".join([*self.revisions, *self.tags]) or "none"
        raise Refusal(
            f'"{name}" is no revision and no tag of this cluster (known: {known}); pods that ask for it would start without a sidecar. '
            "Install the revision or set the tag first, or correct the name."
        )


def injection_labels(labels: Labels) -> dict[str, str | None]:
    """The two labels that decide about injection, None for an absent one: the shape in which they are remembered and restored."""
    return {label: labels.get(label) for label in INJECTION_LABELS}
