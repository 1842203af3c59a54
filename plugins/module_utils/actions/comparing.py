# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether istioctl install would change anything: what it renders compared with what is there."""

from __future__ import annotations

from ..cluster.client import Cluster, Object, Objects
from ..cluster.paths import (
    AUTOSCALERS,
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    CONFIG_MAPS,
    DAEMON_SETS,
    DEPLOYMENTS,
    DISRUPTION_BUDGETS,
    MUTATING_WEBHOOKS,
    ROLE_BINDINGS,
    ROLES,
    SERVICE_ACCOUNTS,
    SERVICES,
    VALIDATING_WEBHOOKS,
    path_of,
)
from ..mesh.changes import same_but_for_istiod
from ..mesh.names import (
    COMPONENT_LABEL,
    DEFAULT_VALIDATOR,
    NEVER_MATCH,
    NOT_PRUNED_LABEL,
    OPERATOR_LABEL_PART,
    OPERATOR_VERSION_LABEL,
    READER_SERVICE_ACCOUNT,
    REVISION_LABEL,
    SELECTORS,
    istiod_name,
)
from ..mesh.refusal import Refusal
from ..mesh.revisions import labels_of

ISTIOCTL_MANAGER = "istio-operator"
"""The field manager of istioctl install."""

PRUNED = (
    DEPLOYMENTS,
    DAEMON_SETS,
    SERVICES,
    CONFIG_MAPS,
    SERVICE_ACCOUNTS,
    ROLES,
    ROLE_BINDINGS,
    DISRUPTION_BUDGETS,
    AUTOSCALERS,
    MUTATING_WEBHOOKS,
    VALIDATING_WEBHOOKS,
    CLUSTER_ROLES,
    CLUSTER_ROLE_BINDINGS,
)
"""The kinds that istioctl install prunes (operator/pkg/uninstall/prune.go), as far as charts render them."""


def differing(cluster: Cluster, manifests: Objects) -> list[str]:
    """The revision's own objects that are not as rendered, by server-side apply dry run; empty when an install would change nothing.

    The shared base (CRDs and the like) is left out: a newer revision may have brought a newer one, which is no reason to install again.
    """
    return [
        f"{manifest['kind']} {manifest['metadata']['name']}"
        for manifest in manifests
        if not is_shared(manifest) and _differs(cluster, manifest)
    ]


def is_shared(manifest: Object) -> bool:
    """Whether an object belongs to all revisions: what the base chart brings."""
    return manifest["kind"] == "CustomResourceDefinition" or manifest["metadata"]["name"] in (READER_SERVICE_ACCOUNT, DEFAULT_VALIDATOR)


def as_applied(cluster: Cluster, manifest: Object) -> Object:
    """What a manifest would become, with the API server's defaults; nothing is stored."""
    return _applied(cluster, manifest, cluster.get(_path(manifest)))


def _applied(cluster: Cluster, manifest: Object, live: Object | None) -> Object:
    # What istioctl install adds to everything that manifest generate renders (operator/pkg/install/install.go).
    owner_labels = {key: value for key, value in labels_of(live or manifest).items() if OPERATOR_LABEL_PART in key or key == REVISION_LABEL}
    metadata = {**manifest["metadata"], "labels": {**owner_labels, **labels_of(manifest)}}
    return cluster.apply(_path(manifest), {**manifest, "metadata": metadata}, field_manager=ISTIOCTL_MANAGER, force=True, dry_run=True)


def _path(manifest: Object) -> str:
    try:
        return path_of(manifest)
    except KeyError as error:
        raise Refusal(f"istioctl renders a {manifest['kind']}, a kind this collection does not know. Use method adopt.") from error


def _differs(cluster: Cluster, manifest: Object) -> bool:
    live = cluster.get(_path(manifest))
    return live is None or not same_but_for_istiod(_switched_off_as(live, _applied(cluster, manifest, live)), live)


def _switched_off_as(live: Object, manifest: Object) -> Object:
    """A rendered injector, switched off where the live one is: whoever serves istio-injection=enabled by a default tag wants it so."""
    off = {entry["name"] for entry in live.get("webhooks") or () if entry.get("namespaceSelector") == NEVER_MATCH}
    if not off:
        return manifest
    webhooks = [{**entry, **dict.fromkeys(SELECTORS, NEVER_MATCH)} if entry["name"] in off else entry for entry in manifest["webhooks"]]
    return {**manifest, "webhooks": webhooks}


def left_over(cluster: Cluster, manifests: Objects, revision: str, istio_namespace: str) -> list[str]:
    """The objects that a former specification of the revision brought and this one does not; istioctl install prunes them.

    It prunes what the same version of it has installed, and no more.
    """
    istiod = cluster.get(DEPLOYMENTS(istio_namespace, istiod_name(revision)))
    version = labels_of(istiod).get(OPERATOR_VERSION_LABEL) if istiod else None
    if version is None:
        return []
    selector = f"{REVISION_LABEL}={revision},{OPERATOR_VERSION_LABEL}={version},{COMPONENT_LABEL},!{NOT_PRUNED_LABEL}"
    rendered = {_path(manifest) for manifest in manifests}
    return [
        f"{thing['kind']} {thing['metadata']['name']}, no longer wanted"
        for resource in PRUNED
        for thing in cluster.list(resource(), metadata_only=True, label_selector=selector)
        if path_of(thing) not in rendered
    ]
