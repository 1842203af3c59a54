# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What lies around a mesh and tells of its past: read by those who look, not by those who act."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from ..mesh.names import CONFIG_GROUPS, REMOTE_CLUSTER_SELECTOR, REVISION_LABEL, TAG_LABEL
from .client import Cluster, Object, Objects
from .errors import Forbidden, Missing
from .parallel import AT_ONCE
from .paths import API_GROUPS, CUSTOM_RESOURCE_DEFINITIONS, LEASES, MUTATING_WEBHOOKS, SECRETS, Resource
from .read import Raw, without_managed_fields

ROUTES = "routes.gateway.networking.k8s.io"
"""The kinds of the Gateway API that istiod reads by revision as it reads its own; a Gateway may name a tag."""


def read_surroundings(cluster: Cluster, istio_namespace: str) -> Raw:
    """Metadata only, by noun.

    Nouns: crds (Istio's), config (objects of Istio and routes that carry a revision label), leases, remote_secrets,
    tag_records (the webhook configurations of tags, with the record of who set which field).

    What the user may not read is missing in them; the noun unread has its "what", and the sentence "why". The kind of a config object is
    its resource as kubectl takes it: "virtualservices.networking.istio.io".
    """
    reader = _Reader(cluster)
    definitions = reader.list("custom resource definitions", CUSTOM_RESOURCE_DEFINITIONS())
    names = [thing["metadata"]["name"] for thing in definitions]
    read_by_istiod = [name for name in names if name.endswith(ROUTES) or name.partition(".")[2] in CONFIG_GROUPS]
    versions = _versions(cluster)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        leases = pool.submit(reader.list, f"leases in {istio_namespace}", LEASES(istio_namespace))
        secrets = pool.submit(reader.list, f"remote secrets in {istio_namespace}", SECRETS(istio_namespace), REMOTE_CLUSTER_SELECTOR)
        tags = pool.submit(cluster.list, MUTATING_WEBHOOKS(), metadata_only=True, label_selector=TAG_LABEL)
        config = list(pool.map(lambda name: reader.config(name, versions.get(name.partition(".")[2], ())), read_by_istiod))
    return {
        "crds": [thing for thing in definitions if thing["metadata"]["name"].partition(".")[2] in CONFIG_GROUPS],
        "config": [thing for found in config for thing in found],
        "leases": leases.result(),
        "remote_secrets": secrets.result(),
        "tag_records": tags.result(),
        "unread": reader.unread,
    }


def _versions(cluster: Cluster) -> dict[str, list[str]]:
    """API group → its served versions, the preferred one first."""
    groups = (cluster.get(API_GROUPS) or {}).get("groups") or ()
    return {group["name"]: [version["version"] for version in group["versions"]] for group in groups}


class _Reader:
    """Lists metadata, and remembers what it was not allowed to."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.unread: Objects = []

    def list(self, what: str, path: str, label_selector: str = "") -> Objects:
        try:
            return self._cluster.list(path, metadata_only=True, label_selector=label_selector, trim=without_managed_fields)
        except Forbidden as error:
            self.unread.append({"what": what, "why": str(error)})
            return []

    def config(self, name: str, versions: Sequence[str]) -> Objects:
        """The objects of one definition with a revision label; not every kind is served in every version of its group."""
        plural, _dot, group = name.partition(".")
        for version in versions:
            try:
                found = self.list(name, Resource(f"apis/{group}/{version}", plural, name)(), REVISION_LABEL)
            except Missing:
                continue
            return [_named(thing, name) for thing in found]
        return []


def _named(thing: Object, kind: str) -> Object:
    return {"kind": kind, "metadata": thing["metadata"]}
