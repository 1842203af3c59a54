# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Bringing a control plane, waiting for it, and removing its own objects."""

from __future__ import annotations

from collections.abc import Iterable

from ..cluster.client import Cluster, Objects
from ..cluster.errors import Missing
from ..cluster.paths import CUSTOM_RESOURCE_DEFINITIONS, Resource
from ..cluster.read import read_control_plane
from ..cluster.waiting import poll
from ..mesh.changes import Ref
from ..mesh.names import DEFAULT, REVISION_LABEL
from ..mesh.refusal import Refusal
from ..mesh.revisions import Revision
from ..mesh.snapshot import Mesh
from ..mesh.tags import plan_tag_removal
from .install import Istioctl
from .tag import carry_out
from .transaction import path_to


def refuse_to_take_default(mesh: Mesh, revision: str) -> None:
    """Stop before istioctl would take istio-injection=enabled away from an injector that has no tag.

    Raises:
        Refusal: an un-revisioned injector serves it, and istioctl install would switch that off (operator/pkg/webhook/webhook.go).
    """
    if mesh.default_revision not in (None, revision) and DEFAULT not in mesh.tags:
        raise Refusal(
            f'revision "{revision}" is not installed: "{mesh.default_revision}" serves istio-injection=enabled without a default tag, and '
            f"istioctl would hand that over to the new revision at once. Set it first: istio_tag name=default "
            f"revision={mesh.default_revision}."
        )


def install(istioctl: Istioctl, before: Mesh, wait_timeout: float) -> None:
    """Install a revision, and nothing else: a default tag that istioctl adds where there was none is removed again.

    An install without a revision keeps it: istioctl switches its own injector off and serves istio-injection=enabled through the tag.

    Raises:
        Refusal: istioctl failed.
    """
    istioctl.install(wait_timeout)
    after = Mesh(read_control_plane(istioctl.cluster, before.istio_namespace), before.istio_namespace)
    if istioctl.revision != DEFAULT and DEFAULT not in before.tags and DEFAULT in after.tags:
        carry_out(plan_tag_removal(after, DEFAULT, waive=["namespaces"]), istioctl.cluster, before.istio_namespace, wait_timeout)


def wait_until_ready(cluster: Cluster, istio_namespace: str, name: str, wait_timeout: float) -> Mesh:
    """The mesh in which the revision is ready.

    Raises:
        Refusal: it does not exist, or is not ready when the time is over.
    """
    mesh = poll(
        lambda: Mesh(read_control_plane(cluster, istio_namespace), istio_namespace),
        lambda seen: name in seen.revisions and seen.revisions[name].ready,
        timeout=wait_timeout,
        longest_pause=3,
    )
    revision = mesh.revisions.get(name)
    if revision is None:
        raise Refusal(f'revision "{name}" has not appeared within {wait_timeout:g} s. Install it, or use method istioctl.')
    if not revision.ready:
        raise Refusal(f'revision "{name}" is not ready after {wait_timeout:g} s: {revision.reason}. Look at its istiod pods.')
    return mesh


def refuse_foreign(revision: Revision) -> None:
    """Stop before removing what somebody else will bring back or miss.

    Raises:
        Refusal: Helm or an operator owns the revision.
    """
    remedy = {"helm": "Uninstall its Helm release (kubernetes.core.helm)", "sail": "Delete its IstioRevision"}.get(revision.installer)
    if remedy:
        raise Refusal(f'revision "{revision.name}" belongs to {revision.installer}, nothing was deleted. {remedy} instead.')


def existing(cluster: Cluster, refs: Iterable[Ref]) -> list[Ref]:
    """Those of the objects that are there."""
    return [ref for ref in refs if cluster.get(path_to(ref)) is not None]


def remove(cluster: Cluster, refs: Iterable[Ref]) -> None:
    """Delete objects in this order."""
    for ref in refs:
        cluster.delete(path_to(ref))


def istio_crds(cluster: Cluster) -> Objects:
    """The custom resource definitions of Istio's own configuration."""
    found = cluster.list(
        CUSTOM_RESOURCE_DEFINITIONS(), trim=lambda crd: {"metadata": {"name": crd["metadata"]["name"]}, "spec": _brief(crd)}
    )
    return [crd for crd in found if crd["spec"]["group"].endswith(".istio.io")]


def _brief(crd: dict) -> dict:
    spec = crd["spec"]
    return {"group": spec["group"], "kind": spec["names"]["kind"], "plural": spec["names"]["plural"], "versions": spec["versions"]}


def pinned_config(cluster: Cluster, crds: Objects, revision: str) -> list[Ref]:
    """Istio configuration that only this revision reads, because it is labelled for it."""
    found = []
    for crd in crds:
        version = next(version["name"] for version in crd["spec"]["versions"] if version["served"])
        resource = Resource(f"apis/{crd['spec']['group']}/{version}", crd["spec"]["plural"], crd["spec"]["kind"])
        try:
            pinned = cluster.list(resource(), metadata_only=True, label_selector=f"{REVISION_LABEL}={revision}")
        except Missing:
            continue  # the definition is there, but not served yet
        found += [Ref(resource.kind, thing["metadata"].get("namespace"), thing["metadata"]["name"]) for thing in pinned]
    return found
