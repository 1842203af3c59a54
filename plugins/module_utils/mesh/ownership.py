# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which objects are a revision's own, and which belong to somebody else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .changes import Object, Ref
from .names import (
    DEFAULT_VALIDATOR,
    HELM_NAMESPACE_ANNOTATION,
    HELM_RELEASE_ANNOTATION,
    REVISION_LABEL,
    TAG_LABEL,
    injector_name,
    istiod_name,
    lease_names,
    validator_name,
    with_revision,
)
from .refusal import Refusal
from .revisions import SAIL_KINDS, annotations_of, installer_of, labels_of
from .snapshot import Mesh

CHART_APPS = ("istiod", "istio-reader", "sidecar-injector")
"""The label "app" of what the istiod chart renders without a revision label, such as roles."""


def own_objects(mesh: Mesh, revision: str) -> list[Ref]:
    """Every object that belongs to one revision alone, in the order of removal: webhooks first, so that nothing new is injected.

    Source: the istiod chart; the names follow from the revision, so somebody else's object may have one: see is_of. Shared objects (CRDs,
    base, CNI, ztunnel, gateways, the CA secret, root certificates, tags, the default validator) are not among them.
    """
    home = home_of(mesh, revision)
    suffix = f"-{mesh.istio_namespace}"
    istiod = istiod_name(revision)
    config_maps = ("istio", "istio-sidecar-injector", "values", "pilot-jwks-extra-cacerts")
    cluster_roles = ("istiod-clusterrole", "istiod-gateway-controller", "istio-reader-clusterrole")
    policy = f"{with_revision('stable-channel-policy', revision)}{suffix}.istio.io"
    classes = [
        thing["metadata"]["name"]
        for thing in mesh.raw["config_maps"]
        if labels_of(thing).get(REVISION_LABEL) == revision and "gateway.istio.io/defaults-for-class" in labels_of(thing)
    ]
    return [
        Ref("MutatingWebhookConfiguration", None, injector_name(revision, mesh.istio_namespace)),
        Ref("ValidatingWebhookConfiguration", None, validator_name(revision, mesh.istio_namespace)),
        Ref("ValidatingAdmissionPolicyBinding", None, policy),
        Ref("ValidatingAdmissionPolicy", None, policy),
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


def own_leases(mesh: Mesh, revision: str) -> list[Ref]:
    """The locks of a revision that stay behind when it goes."""
    return [Ref("Lease", home_of(mesh, revision), name) for name in lease_names(revision)]


def home_of(mesh: Mesh, revision: str) -> str:
    """The namespace of a revision's istiod, or where it would be."""
    return (mesh.revisions[revision].namespace if revision in mesh.revisions else "") or mesh.istio_namespace


def is_of(thing: Object, revision: str) -> bool:
    """Whether an object with the name of a revision's own is really the revision's, and not somebody else's of the same name."""
    labels = labels_of(thing)
    if REVISION_LABEL in labels:
        return labels[REVISION_LABEL] == revision
    from_chart = "release" in labels or labels.get("app.kubernetes.io/part-of") == "istio"
    return from_chart and (labels.get("app") in CHART_APPS or thing["kind"].startswith("ValidatingAdmissionPolicy"))


def refuse_foreign(revision: str, things: Iterable[Object]) -> None:
    """Stop before removing what somebody else will bring back or miss.

    Raises:
        Refusal: Helm or an operator owns one of the objects. It says how to remove the revision instead, and has the owner in its details.
    """
    for thing in things:
        owner = _owner(thing)
        if owner:
            raise Refusal(
                f'revision "{revision}" belongs to {owner["kind"]} {owner["name"]}, which owns {_ref(thing)}; nothing was deleted, and '
                f"nothing that is not waived needs it any more. {_instead(owner)}",
                owner=owner,
            )


def _owner(thing: Object) -> dict[str, str] | None:
    installer = installer_of(thing)
    if installer == "helm":
        annotations = annotations_of(thing)
        namespace = annotations.get(HELM_NAMESPACE_ANNOTATION) or thing["metadata"].get("namespace") or ""
        return {"kind": "Helm release", "name": annotations[HELM_RELEASE_ANNOTATION], "namespace": namespace}
    if installer == "sail":
        owner = next(owner for owner in thing["metadata"]["ownerReferences"] if owner.get("kind") in SAIL_KINDS)
        return {"kind": str(owner["kind"]), "name": str(owner.get("name", "")), "namespace": ""}
    return None


def _instead(owner: Mapping[str, str]) -> str:
    name, namespace = owner["name"], owner["namespace"]
    if owner["kind"] == "Helm release":
        return (
            f"Uninstall the release instead: kubernetes.core.helm with name={name} release_namespace={namespace} state=absent "
            f"(helm uninstall {name} --namespace {namespace})."
        )
    return (
        f"Let the operator remove it: kubernetes.core.k8s with api_version=sailoperator.io/v1 kind={owner['kind']} name={name} "
        f"state=absent (kubectl delete {owner['kind'].lower()} {name}), or take it out of the Istio resource that it follows."
    )


def _ref(thing: Object) -> Ref:
    return Ref(thing["kind"], thing["metadata"].get("namespace"), thing["metadata"]["name"])


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
