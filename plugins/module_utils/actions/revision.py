# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Bringing a control plane, and waiting for it."""

from __future__ import annotations

from dataclasses import dataclass

from ..cluster.client import Cluster
from ..cluster.read import read_control_plane
from ..cluster.rollout import why_not_ready
from ..cluster.waiting import poll
from ..mesh.names import DEFAULT
from ..mesh.readiness import Diagnosis
from ..mesh.refusal import Refusal
from ..mesh.snapshot import Mesh
from ..mesh.tag_removal import TAG_GUARDS, plan_tag_removal
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
    try:
        istioctl.install(wait_timeout)
    except Refusal as refusal:
        cause = why_not_ready(istioctl.cluster, before.istio_namespace, istioctl.revision)
        raise Refusal(f"{refusal} {cause.reason}." if cause else str(refusal)) from refusal
    after = Mesh(read_control_plane(istioctl.cluster, before.istio_namespace), before.istio_namespace)
    if istioctl.revision != DEFAULT and DEFAULT not in before.tags and DEFAULT in after.tags:
        carry_out(plan_tag_removal(after, DEFAULT, waive=TAG_GUARDS), istioctl.cluster, before.istio_namespace, wait_timeout)


def wait_until_ready(cluster: Cluster, istio_namespace: str, name: str, wait_timeout: float) -> Mesh:
    """The mesh in which the revision is ready; gives up early when waiting cannot help.

    Raises:
        Refusal: it does not exist, or is not ready, and why.
    """
    seen = poll(lambda: _look(cluster, istio_namespace, name), lambda look: look.over, timeout=wait_timeout, longest_pause=3)
    revision = seen.mesh.revisions.get(name)
    if revision is None:
        raise Refusal(f'revision "{name}" has not appeared within {wait_timeout:g} s. Install it, or use method istioctl.')
    if not revision.ready:
        cause = f"{revision.reason}; {seen.cause.reason}" if seen.cause else f"{revision.reason}. Look at its istiod pods"
        when = "will not become ready by waiting" if seen.over else f"is not ready after {wait_timeout:g} s"
        raise Refusal(f'revision "{name}" {when}: {cause}.')
    return seen.mesh


@dataclass(frozen=True)
class _Look:
    mesh: Mesh
    ready: bool
    cause: Diagnosis | None

    @property
    def over(self) -> bool:
        """Whether there is nothing to wait for."""
        return self.ready or (self.cause is not None and self.cause.hopeless)


def _look(cluster: Cluster, istio_namespace: str, name: str) -> _Look:
    mesh = Mesh(read_control_plane(cluster, istio_namespace), istio_namespace)
    revision = mesh.revisions.get(name)
    if revision is None or revision.ready:
        return _Look(mesh, revision is not None, None)
    return _Look(mesh, ready=False, cause=why_not_ready(cluster, revision.namespace or istio_namespace, name))
