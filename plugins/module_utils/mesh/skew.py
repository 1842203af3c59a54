# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which versions of Kubernetes and Istio go together. What is not known here is said to be unknown, and stops nobody."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .finding import ERROR, INFO, WARNING, Finding
from .names import CONFIG_GROUPS, VERSION_LABELS
from .revisions import labels_of
from .versions import Minor, dotted, minor_of
from .words import some

KUBERNETES_MINIMUM: dict[Minor, Minor] = {
    (1, 24): (1, 28),
    (1, 28): (1, 30),
    (1, 29): (1, 30),
    (1, 30): (1, 32),
    (1, 31): (1, 32),
}
"""Istio → the oldest Kubernetes that it is for (istioctl/pkg/install/k8sversion/version.go); other minors were not read."""

MINORS_AT_ONCE = 2
"""An upgrade by revision may jump so many minor versions (istio.io, canary upgrades)."""


def skew_findings(kubernetes: str | None, before: str | None, after: str | None) -> Iterator[Finding]:
    """What speaks against an Istio version on a Kubernetes version, after another Istio version.

    Args:
        kubernetes: of the API server, "v1.32.4".
        before: of the revision to move away from.
        after: of the revision to move to.
    """
    server, old, new = minor_of(kubernetes), minor_of(before), minor_of(after)
    minimum = KUBERNETES_MINIMUM.get(new) if new else None
    if server and minimum and server < minimum:
        yield Finding(
            "kubernetes-too-old",
            WARNING,
            "Cluster",
            f"Istio {after} is made for Kubernetes {dotted(minimum)} and newer, and this is {kubernetes}.",
            "Upgrade Kubernetes first, or choose an older Istio.",
        )
    unknown = [str(version) for version, minor in ((kubernetes, server), (before, old), (after, new)) if version and not minor]
    if unknown or (new and minimum is None):
        what = f"version {unknown[0]} tells no minor version" if unknown else f"the oldest Kubernetes for Istio {after} is not known here"
        yield Finding(
            "skew-unknown",
            INFO,
            "Upgrade",
            f"{what}, so nobody has judged whether Kubernetes {kubernetes}, Istio {before} and Istio {after} go together.",
            "Look at the table of supported releases of Istio.",
        )
    if old and new and new < old:
        yield Finding(
            "istio-downgrade",
            ERROR,
            "Upgrade",
            f"the revision to move to has Istio {after}, older than {before}: its proxies may get configuration that it does not know.",
            "Name the newer revision as mesh_to. To go back after an upgrade use the rollback, which needs no other plan.",
        )
    if old and new and (new[0] != old[0] or new[1] - old[1] > MINORS_AT_ONCE):
        yield Finding(
            "istio-jumps",
            ERROR,
            "Upgrade",
            f"from Istio {before} to {after} are more than {MINORS_AT_ONCE} minor versions. Nobody tests that, and proxies and istiods "
            "of both run side by side for a while.",
            "Go over a version in between.",
        )


def definition_findings(definitions: Iterable[Mapping[str, Any]], after: str | None) -> Iterator[Finding]:
    """The definitions of Istio's configuration that are older than the Istio to come, where whoever brings that may not bring them.

    Args:
        definitions: metadata of custom resource definitions.
        after: the version to come.
    """
    new = minor_of(after)
    old = sorted(
        thing["metadata"]["name"]
        for thing in definitions
        if thing["metadata"]["name"].partition(".")[2] in CONFIG_GROUPS and new and _minors(thing) and max(_minors(thing)) < new
    )
    if old:
        yield Finding(
            "crds-behind-target",
            WARNING,
            f"CustomResourceDefinition {old[0]}",
            f"the definitions of Istio's configuration are older than Istio {after}: {some(old)}. Fields that it knows are refused "
            "or dropped.",
            "Upgrade the base chart before its istiod.",
        )


def _minors(definition: Mapping[str, Any]) -> list[Minor]:
    """What its version labels tell; the newest counts, because only one of the tools that write them has upgraded it."""
    return [minor for label in VERSION_LABELS if (minor := minor_of(labels_of(definition).get(label)))]
