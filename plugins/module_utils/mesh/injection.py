# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who injects a pod, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from operator import attrgetter
from typing import Any

from .names import DEFAULT, INJECT_LABEL, INJECTION_LABEL, INJECTOR_SUFFIX, REVISION_LABEL, TAG_LABEL
from .selectors import Labels, Selector


class Reachability(Enum):
    """Whether the API server's call to an injector can succeed; the value says what is wrong."""

    READY = "ready"
    EXTERNAL = "outside this cluster"
    NO_SERVICE = "its Service does not exist"
    NO_ENDPOINTS = "its Service has no ready endpoint"
    NO_CA_BUNDLE = "its webhook has no caBundle yet"

    @property
    def ok(self) -> bool:
        return self in (Reachability.READY, Reachability.EXTERNAL)


@dataclass(frozen=True)
class Injector:
    """A webhook entry that can inject a pod, as the API server sees it now."""

    configuration: str
    entry: str
    revision: str
    tag: str | None
    namespaces: Selector
    objects: Selector
    service: str
    reachable: Reachability

    @property
    def name(self) -> str:
        """How the injector is called in sentences: by its tag and revision."""
        return f'tag "{self.tag}" of revision "{self.revision}"' if self.tag else f'revision "{self.revision}"'

    def acts_on(self, namespace: Labels, pod: Labels) -> bool:
        """Whether the API server calls it for a pod with these labels in a namespace with these labels."""
        return self.namespaces.matches(namespace) and self.objects.matches(pod)


class Outcome(Enum):
    """What happens to a pod born now."""

    INJECTED = "injected"
    NONE = "none"
    REJECTED = "rejected"


@dataclass(frozen=True)
class Verdict:
    """What happens to a pod born now, by whom, and why in one sentence."""

    outcome: Outcome
    reason: str
    injector: Injector | None = None

    @property
    def revision(self) -> str | None:
        """The revision that injects, None when nobody does."""
        return self.injector.revision if self.injector and self.outcome is Outcome.INJECTED else None

    @property
    def tag(self) -> str | None:
        """The tag through which it injects, if through one."""
        return self.injector.tag if self.injector and self.outcome is Outcome.INJECTED else None


def verdict(injectors: Iterable[Injector], namespace: Labels, pod: Labels) -> Verdict:
    """Who injects a pod born now, and why.

    The API server calls every injector whose selectors match, in order of configuration name; a second call replaces what the first
    put in, so the last one wins (istio: pkg/kube/inject/inject.go, reinjection).
    """
    ordered = sorted(injectors, key=attrgetter("configuration"))
    acting = [injector for injector in ordered if injector.acts_on(namespace, pod)]
    if not acting:
        return Verdict(Outcome.NONE, why_nobody(namespace, pod))
    broken = next((injector for injector in acting if not injector.reachable.ok), None)
    if broken:
        return Verdict(Outcome.REJECTED, f"{broken.name} cannot be called: {broken.reachable.value} ({broken.service})", broken)
    return Verdict(Outcome.INJECTED, _why(acting, namespace), acting[-1])


def _why(acting: Sequence[Injector], namespace: Labels) -> str:
    reason = f"injected by {acting[-1].name}"
    if namespace.get(INJECTION_LABEL) == "enabled" and REVISION_LABEL in namespace:
        reason += f": {INJECTION_LABEL}=enabled wins over {REVISION_LABEL}={namespace[REVISION_LABEL]}"
    for overwritten in acting[:-1]:
        reason += f"; {overwritten.name} acts too and is overwritten"
    return reason


def why_nobody(namespace: Labels, pod: Labels) -> str:
    """Why no injector acts on such a pod."""
    injection, revision = namespace.get(INJECTION_LABEL), namespace.get(REVISION_LABEL)
    ignored = f"; {REVISION_LABEL}={revision} is ignored beside it" if revision is not None else ""
    if pod.get(INJECT_LABEL) == "false":
        return f"the pod label {INJECT_LABEL}=false switches injection off"
    if injection is not None and injection != "enabled":
        return f"the namespace label {INJECTION_LABEL}={injection} switches injection off{ignored}"
    if injection == "enabled":
        return f"{INJECTION_LABEL}=enabled asks for the default tag, and no revision owns it{ignored}"
    if revision is not None:
        return f"the namespace label {REVISION_LABEL}={revision} names no revision and no tag"
    if pod.get(REVISION_LABEL) is not None:
        return f"the pod label {REVISION_LABEL}={pod[REVISION_LABEL]} names no revision and no tag"
    if pod.get(INJECT_LABEL) == "true":
        return f"the pod label {INJECT_LABEL}=true asks for the default tag, and no revision owns it"
    return "neither the namespace nor the pod asks for injection"


def is_injecting_entry(entry: Mapping[str, Any]) -> bool:
    """Whether a webhook entry is one of Istio's injectors."""
    return str(entry.get("name", "")).endswith(INJECTOR_SUFFIX)


def is_injector_refusal(message: str) -> bool:
    """Whether the API server refused a pod because an injector could not be called or denied it, not because of somebody else's rule."""
    return INJECTOR_SUFFIX in message


def ready_services(endpoint_slices: Iterable[Mapping[str, Any]]) -> set[str]:
    """The Services ("namespace/name") with at least one ready endpoint."""
    return {
        f"{part['metadata']['namespace']}/{part['metadata'].get('labels', {}).get('kubernetes.io/service-name')}"
        for part in endpoint_slices
        if any((endpoint.get("conditions") or {}).get("ready") is not False for endpoint in part.get("endpoints") or ())
    }


def injectors_of(
    configurations: Iterable[Mapping[str, Any]], services: Iterable[Mapping[str, Any]], endpoint_slices: Iterable[Mapping[str, Any]]
) -> list[Injector]:
    """Every injecting webhook entry of the cluster, from the API server's own objects."""
    existing = {f"{service['metadata']['namespace']}/{service['metadata']['name']}": service for service in services}
    ready = ready_services(endpoint_slices)
    return [
        Injector(
            configuration=configuration["metadata"]["name"],
            entry=entry["name"],
            revision=_revision_called(entry, configuration, existing),
            tag=(configuration["metadata"].get("labels") or {}).get(TAG_LABEL),
            namespaces=Selector.parse(entry.get("namespaceSelector")),
            objects=Selector.parse(entry.get("objectSelector")),
            service=service_of(entry),
            reachable=_reachability(entry, existing, ready),
        )
        for configuration in configurations
        for entry in configuration.get("webhooks") or ()
        if is_injecting_entry(entry)
    ]


def service_of(entry: Mapping[str, Any]) -> str:
    """Where a webhook entry calls: "namespace/name" of a Service, or a URL."""
    client = entry["clientConfig"]
    service = client.get("service")
    return f"{service['namespace']}/{service['name']}" if service else str(client.get("url"))


def _revision_called(entry: Mapping[str, Any], configuration: Mapping[str, Any], existing: Mapping[str, Mapping[str, Any]]) -> str:
    """The revision whose istiod answers.

    The Service decides, not the label of the configuration: when istioctl installs an Istio without a revision over a default tag with
    --auto-inject-namespaces, the entry of that option stays in the tag's webhook and goes on calling the revision from before.
    """
    service = existing.get(service_of(entry), {})
    called = {**(service.get("metadata", {}).get("labels") or {}), **(service.get("spec", {}).get("selector") or {})}
    labels = configuration["metadata"].get("labels") or {}
    return str(called.get(REVISION_LABEL) or labels.get(REVISION_LABEL, DEFAULT))


def _reachability(entry: Mapping[str, Any], existing: Mapping[str, Any], ready: set[str]) -> Reachability:
    service = service_of(entry)
    if "service" not in entry["clientConfig"]:
        return Reachability.EXTERNAL
    if service not in existing:
        return Reachability.NO_SERVICE
    if service not in ready:
        return Reachability.NO_ENDPOINTS
    if not entry["clientConfig"].get("caBundle"):
        return Reachability.NO_CA_BUNDLE
    return Reachability.READY
