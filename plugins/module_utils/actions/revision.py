# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Bringing a control plane, and waiting for it."""

from __future__ import annotations

from ..cluster.client import Cluster
from ..cluster.read import read_control_plane
from ..cluster.waiting import poll
from ..mesh.names import DEFAULT
from ..mesh.refusal import Refusal
from ..mesh.snapshot import Mesh
from ..mesh.tags import plan_tag_removal
from .install import Istioctl
from .tag import carry_out


def refuse_to_take_default(mesh: Mesh, revision: str) -> None:
    """Stop before istioctl would take istio-injection=enabled away from whom it belongs to (operator/pkg/webhook/webhook.go).

    Raises:
        Refusal: an un-revisioned injector serves it without a tag, and istioctl install would switch that off; or the default tag points
            elsewhere, and an install without a revision would move it.
    """
    if mesh.default_revision not in (None, revision) and DEFAULT not in mesh.tags:
        raise Refusal(
            f'revision "{revision}" is not installed: "{mesh.default_revision}" serves istio-injection=enabled without a default tag, and '
            f"istioctl would hand that over to the new revision at once. Set it first: istio_tag name=default "
            f"revision={mesh.default_revision}."
        )
    if revision == DEFAULT and DEFAULT in mesh.tags and mesh.tags[DEFAULT].revision != DEFAULT:
        raise Refusal(
            f'the install without a revision is not touched: the default tag points at "{mesh.tags[DEFAULT].revision}", and istioctl would '
            "move it here at once, with every namespace that has istio-injection=enabled. Install a revision with a name of its own, or "
            "remove the default tag first: istio_tag name=default state=absent."
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
