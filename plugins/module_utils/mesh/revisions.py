# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Control planes (revisions) and the movable names for them (tags)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .injection import verdict
from .injectors import Injector, Reachability, istiod_version
from .names import HELM_RELEASE_ANNOTATION, INJECTION_LABEL, ISTIOD_LABELS, OWNING_NAMESPACE_LABEL, REVISION_LABEL, TAG_LABEL

SAIL_KINDS = ("IstioRevision", "IstioRevisionTag")


@dataclass(frozen=True)
class Revision:
    """A control plane: an istiod Deployment, its Service and its injector."""

    name: str
    namespace: str
    version: str | None
    installer: str
    ready: bool
    reason: str

    def as_result(self) -> dict[str, Any]:
        """As modules return it."""
        return {
            "name": self.name,
            "namespace": self.namespace,
            "version": self.version,
            "installer": self.installer,
            "ready": self.ready,
            "reason": self.reason,
        }


@dataclass(frozen=True)
class Tag:
    """A movable name for a revision: a webhook configuration and, since Istio 1.28, a Service."""

    name: str
    revision: str
    service_revision: str | None
    ready: bool
    reason: str

    def as_result(self) -> dict[str, Any]:
        """As modules return it."""
        return {"name": self.name, "revision": self.revision, "ready": self.ready, "reason": self.reason}


def labels_of(thing: Mapping[str, Any]) -> dict[str, str]:
    """The labels of an object, empty when it has none."""
    return thing["metadata"].get("labels") or {}


def annotations_of(thing: Mapping[str, Any]) -> dict[str, str]:
    """The annotations of an object, empty when it has none."""
    return thing["metadata"].get("annotations") or {}


def installer_of(thing: Mapping[str, Any]) -> str:
    """Who installed an object: helm, istioctl, sail, or unknown; the first of them when several have left their mark."""
    return next(iter(installers_of(thing)), "unknown")


def installers_of(thing: Mapping[str, Any]) -> list[str]:
    """Everybody who has left the mark of an owner on an object. Sail, which installs by Helm's library, leaves both."""
    sail = any(owner.get("kind") in SAIL_KINDS for owner in thing["metadata"].get("ownerReferences") or ())
    marks = {
        "sail": sail,
        "helm": HELM_RELEASE_ANNOTATION in annotations_of(thing) and not sail,
        "istioctl": OWNING_NAMESPACE_LABEL in labels_of(thing),
    }
    return [installer for installer, marked in marks.items() if marked]


def revisions_of(deployments: Iterable[Mapping[str, Any]], injectors: Sequence[Injector]) -> list[Revision]:
    """Every revision that has an istiod Deployment or an injector of its own, by name."""
    by_name = {
        labels_of(deployment)[REVISION_LABEL]: deployment
        for deployment in deployments
        if REVISION_LABEL in labels_of(deployment) and ISTIOD_LABELS.items() <= labels_of(deployment).items()
    }
    own = {injector.revision: injector for injector in injectors if injector.tag is None}
    return [_revision(name, by_name.get(name), own.get(name)) for name in sorted(by_name.keys() | own.keys())]


def _revision(name: str, deployment: Mapping[str, Any] | None, injector: Injector | None) -> Revision:
    reason = _why_not_ready(deployment, injector)
    return Revision(
        name=name,
        namespace=deployment["metadata"]["namespace"] if deployment else _home(injector),
        version=istiod_version(deployment) if deployment else None,
        installer=installer_of(deployment) if deployment else "unknown",
        ready=not reason,
        reason=reason or "available, and its injector can be called",
    )


def _home(injector: Injector | None) -> str:
    """The namespace of an istiod that only its injector tells of, empty when it is outside this cluster."""
    return injector.service.split("/")[0] if injector and injector.reachable is not Reachability.EXTERNAL else ""


def _why_not_ready(deployment: Mapping[str, Any] | None, injector: Injector | None) -> str:
    if injector is None:
        return "it has no injector (MutatingWebhookConfiguration)"
    if injector.reachable is Reachability.EXTERNAL:
        return ""
    if deployment is None:
        return "it has an injector, but no istiod Deployment"
    status = deployment.get("status") or {}
    if status.get("observedGeneration", 0) < deployment["metadata"].get("generation", 0):
        return "its Deployment is being updated"
    conditions = {condition["type"]: condition for condition in status.get("conditions") or ()}
    available = conditions.get("Available", {})
    if available.get("status") != "True":
        progress = conditions.get("Progressing", {})
        detail = progress.get("message") if progress.get("status") == "False" else available.get("message")
        return f"its Deployment is not available: {detail or 'no pod is ready yet'}"
    return "" if injector.reachable.ok else injector.reachable.value


def tags_of(services: Iterable[Mapping[str, Any]], injectors: Iterable[Injector]) -> list[Tag]:
    """Every tag that has a webhook configuration, by name."""
    by_service = {
        labels_of(service)[TAG_LABEL]: labels_of(service).get(REVISION_LABEL) for service in services if TAG_LABEL in labels_of(service)
    }
    by_name: dict[str, Injector] = {}
    for injector in injectors:
        if injector.tag is not None:
            by_name.setdefault(injector.tag, injector)
    return [_tag(injector, by_service.get(name)) for name, injector in sorted(by_name.items())]


def _tag(injector: Injector, service_revision: str | None) -> Tag:
    reason = "" if injector.reachable.ok else injector.reachable.value
    if service_revision not in (None, injector.revision):
        reason = f'its Service still names revision "{service_revision}", so two revisions claim it'
    return Tag(str(injector.tag), injector.revision, service_revision, not reason, reason or "its injector can be called")


def default_owner(injectors: Iterable[Injector]) -> str | None:
    """The revision behind istio-injection=enabled, None when nobody serves it."""
    found = verdict(injectors, {INJECTION_LABEL: "enabled"})
    return found.injector.revision if found.injector else None
