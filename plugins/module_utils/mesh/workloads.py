# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pods, and the workloads that own them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .names import GATEWAY_TEMPLATES_ANNOTATION, INJECT_LABEL, PROXY_CONTAINER, REVISION_LABEL, STATUS_ANNOTATION
from .pod_template import PodTemplate
from .revisions import annotations_of, labels_of
from .versions import version_of_image

ROLLING_KINDS = ("DaemonSet", "Deployment", "StatefulSet")
"""Kinds whose controller replaces the pods when the pod template changes."""


@dataclass(frozen=True)
class Owner:
    """What owns pods: the outermost controller that is known, or the pod itself."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


@dataclass(frozen=True)
class Pod:
    """A pod with a proxy in it, alive or terminating."""

    namespace: str
    name: str
    labels: Mapping[str, str]
    owner: Owner
    revision: str
    gateway: bool
    ready: bool
    terminating: bool
    trouble: str = ""
    annotations: Mapping[str, str] = field(default_factory=dict)
    host_network: bool = False
    version: str | None = None

    @property
    def template(self) -> PodTemplate:
        """What of it decides who injects its successor."""
        return PodTemplate(self.labels, self.annotations, self.host_network)

    @property
    def rendered(self) -> bool:
        """Whether no webhook put the proxy in: an install or istiod itself wrote it into the template (Gateway API, istioctl profiles)."""
        return self.labels.get(INJECT_LABEL) == "false"

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True)
class Workload:
    """All pods with a proxy of one owner."""

    owner: Owner
    pods: tuple[Pod, ...]

    @property
    def gateway(self) -> bool:
        return any(pod.gateway for pod in self.pods)

    @property
    def rendered(self) -> bool:
        return all(pod.rendered for pod in self.pods)

    @property
    def revisions(self) -> dict[str, int]:
        """How many pods each revision injected."""
        return dict(sorted(Counter(pod.revision for pod in self.pods).items()))


def revision_of_pod(pod: Mapping[str, Any]) -> str | None:
    """The revision that injected a pod, None without a proxy.

    Istio stamps the resolved revision, never the tag, as an annotation (pkg/kube/inject/webhook.go); the label of the same name is
    the user's wish only.
    """
    annotations = annotations_of(pod)
    if STATUS_ANNOTATION not in annotations and proxy_of(pod) is None:
        return None
    return annotations.get(REVISION_LABEL) or _status_revision(annotations.get(STATUS_ANNOTATION))


def _status_revision(status: str | None) -> str | None:
    try:
        found = json.loads(status or "{}")
    except ValueError:
        return None
    revision = found.get("revision") if isinstance(found, dict) else None
    return revision if isinstance(revision, str) else None


def proxy_of(pod: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The container of a pod's proxy, None without one. ztunnel has a container of that name too, but carries the pods of its node."""
    spec = pod["spec"]
    containers = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    found = next((part for part in containers if part.get("name") == PROXY_CONTAINER), None)
    return None if found and "ztunnel" in (found.get("args") or ()) else found


def pods_of(pods: Iterable[Mapping[str, Any]], replica_sets: Iterable[Mapping[str, Any]]) -> list[Pod]:
    """Every pod with a proxy that is not over yet (phase Succeeded or Failed)."""
    deployments = {
        (replica_set["metadata"]["namespace"], replica_set["metadata"]["name"]): controller["name"]
        for replica_set in replica_sets
        if (controller := _controller(replica_set)) and controller["kind"] == "Deployment"
    }
    return [_pod(pod, revision, deployments) for pod in pods if not is_over(pod) and (revision := revision_of_pod(pod))]


def is_over(pod: Mapping[str, Any]) -> bool:
    """Whether a pod has ended for good."""
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def _controller(thing: Mapping[str, Any]) -> Mapping[str, Any] | None:
    return next((owner for owner in thing["metadata"].get("ownerReferences") or () if owner.get("controller")), None)


def _pod(pod: Mapping[str, Any], revision: str, deployments: Mapping[tuple[str, str], str]) -> Pod:
    metadata, status = pod["metadata"], pod.get("status") or {}
    namespace, controller = metadata["namespace"], _controller(pod)
    owner = Owner(controller["kind"], namespace, controller["name"]) if controller else Owner("Pod", namespace, metadata["name"])
    if owner.kind == "ReplicaSet" and (namespace, owner.name) in deployments:
        owner = Owner("Deployment", namespace, deployments[namespace, owner.name])
    return Pod(
        namespace=namespace,
        name=metadata["name"],
        labels=labels_of(pod),
        owner=owner,
        revision=revision,
        gateway=_is_gateway(pod),
        ready=any(part["type"] == "Ready" and part["status"] == "True" for part in status.get("conditions") or ()),
        terminating=bool(metadata.get("deletionTimestamp")),
        trouble=trouble_of(pod),
        annotations=annotations_of(pod),
        host_network=bool(pod["spec"].get("hostNetwork")),
        version=_proxy_version(pod),
    )


def _proxy_version(pod: Mapping[str, Any]) -> str | None:
    """The version of its proxy, as its image tells it."""
    return version_of_image((proxy_of(pod) or {}).get("image") or "")


def _is_gateway(pod: Mapping[str, Any]) -> bool:
    if "gateway" in annotations_of(pod).get(GATEWAY_TEMPLATES_ANNOTATION, ""):
        return True
    return not {"router", "waypoint"}.isdisjoint((proxy_of(pod) or {}).get("args") or ())


HOPELESS = ("ImagePullBackOff", "InvalidImageName", "CreateContainerConfigError", "CrashLoopBackOff")
"""Why a container waits, when waiting longer seldom helps."""

CRASHES = 3
"""A container may crash a time or two while its proxy starts."""


def trouble_of(pod: Mapping[str, Any]) -> str:
    """Why a pod will not become ready by waiting, empty when nothing says so."""
    status = pod.get("status") or {}
    for part in [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]:
        reason = ((part.get("state") or {}).get("waiting") or {}).get("reason")
        if reason in HOPELESS and (reason != "CrashLoopBackOff" or part.get("restartCount", 0) >= CRASHES):
            return f'container "{part["name"]}" is in {reason}'
    return ""


def template_of(controller: Mapping[str, Any]) -> PodTemplate:
    """What of the pods of a Deployment, StatefulSet or DaemonSet decides who injects them."""
    return PodTemplate.parse(controller["spec"]["template"])


def workloads_of(pods: Iterable[Pod]) -> list[Workload]:
    """The pods by owner, in order of namespace, kind and name. A terminating pod belongs to its workload until it is gone."""
    grouped: dict[Owner, list[Pod]] = {}
    for pod in pods:
        grouped.setdefault(pod.owner, []).append(pod)
    return [
        Workload(owner, tuple(sorted(grouped[owner], key=str)))
        for owner in sorted(grouped, key=lambda owner: (owner.namespace, owner.kind, owner.name))
    ]
