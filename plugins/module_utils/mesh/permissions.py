# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a run asks of the API server, stage by stage, and which of it the user may not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .finding import ERROR, WARNING, Finding
from .words import some

EVERYWHERE, ISTIO, SCOPE = "everywhere", "istio", "scope"
"""Where a right is needed: in the whole cluster, in the namespace of Istio, in the namespaces that the upgrade moves."""

CORE, APPS, ADMISSION, DISCOVERY = "", "apps", "admissionregistration.k8s.io", "discovery.k8s.io"
RBAC, POLICY, SCALING, CRDS = "rbac.authorization.k8s.io", "policy", "autoscaling", "apiextensions.k8s.io"


@dataclass(frozen=True)
class Right:
    """One verb on one resource, "pods" or "pods/portforward", somewhere."""

    verb: str
    group: str
    resource: str
    place: str
    optional: bool = False

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}"


def _rights(verbs: str, group: str, resources: str, place: str, *, optional: bool = False) -> list[Right]:
    return [Right(verb, group, resource, place, optional) for resource in resources.split() for verb in verbs.split()]


READ = [
    *_rights("list", ADMISSION, "mutatingwebhookconfigurations validatingwebhookconfigurations", EVERYWHERE),
    *_rights("list get", CORE, "namespaces", EVERYWHERE),
    *_rights("list", CORE, "pods", EVERYWHERE),
    *_rights("list", APPS, "replicasets deployments statefulsets daemonsets", EVERYWHERE),
    *_rights("list", CORE, "services configmaps", ISTIO),
    *_rights("get", CORE, "configmaps", ISTIO),
    *_rights("list", DISCOVERY, "endpointslices", ISTIO),
]
JOURNAL = _rights("create update", CORE, "configmaps", ISTIO)
LABELS = _rights("patch", CORE, "namespaces", EVERYWHERE)
TAGS = [
    *_rights("get create update patch delete", ADMISSION, "mutatingwebhookconfigurations", EVERYWHERE),
    *_rights("get create update delete", ADMISSION, "validatingwebhookconfigurations", EVERYWHERE),
    *_rights("get create update delete", CORE, "services", ISTIO),
    *_rights("create", CORE, "pods", SCOPE, optional=True),
]
RESTART = _rights("get patch", APPS, "deployments statefulsets daemonsets", SCOPE)
GATE = _rights("create get", CORE, "pods/portforward", ISTIO)
ADOPT = _rights("list", SCALING, "horizontalpodautoscalers", ISTIO)
INSTALL = [
    *ADOPT,
    *_rights("get create patch", CRDS, "customresourcedefinitions", EVERYWHERE),
    *_rights("get create patch delete", RBAC, "clusterroles clusterrolebindings", EVERYWHERE),
    *_rights("get create patch delete", ADMISSION, "mutatingwebhookconfigurations validatingwebhookconfigurations", EVERYWHERE),
    *_rights("get create patch delete", RBAC, "roles rolebindings", ISTIO),
    *_rights("get create patch delete", CORE, "configmaps services serviceaccounts", ISTIO),
    *_rights("get create patch delete", APPS, "deployments", ISTIO),
    *_rights("get create patch delete", POLICY, "poddisruptionbudgets", ISTIO),
    *_rights("get create patch delete", SCALING, "horizontalpodautoscalers", ISTIO),
]
REMOVE = [
    *_rights("list", CRDS, "customresourcedefinitions", EVERYWHERE),
    *_rights("list", "batch", "jobs cronjobs", EVERYWHERE),
    *_rights("list", CORE, "secrets", ISTIO),
    *_rights("get delete", ADMISSION, "mutatingwebhookconfigurations validatingwebhookconfigurations", EVERYWHERE),
    *_rights("get delete", ADMISSION, "validatingadmissionpolicies validatingadmissionpolicybindings", EVERYWHERE),
    *_rights("get delete", RBAC, "clusterroles clusterrolebindings", EVERYWHERE),
    *_rights("get delete", RBAC, "roles rolebindings", ISTIO),
    *_rights("get delete", CORE, "configmaps services serviceaccounts", ISTIO),
    *_rights("get delete", APPS, "deployments", ISTIO),
    *_rights("get delete", POLICY, "poddisruptionbudgets", ISTIO),
    *_rights("get delete", SCALING, "horizontalpodautoscalers", ISTIO),
    *_rights("get delete", "networking.k8s.io", "networkpolicies", ISTIO),
]

STAGES = {
    "adopt": ADOPT,
    "install": INSTALL,
    "canary": [*JOURNAL, *LABELS, *TAGS, *RESTART, *GATE],
    "promote": [*JOURNAL, *LABELS, *TAGS, *RESTART, *GATE],
    "gateways": [*JOURNAL, *RESTART, *GATE],
    "verify": [*JOURNAL, *GATE],
    "rollback": [*JOURNAL, *LABELS, *TAGS, *RESTART, *GATE],
    "cleanup": [*JOURNAL, *GATE, *REMOVE, *_rights("delete", CORE, "configmaps", ISTIO)],
}
"""What each stage of an upgrade needs besides READ; "adopt" waits for a control plane, "install" runs istioctl."""


def rights_of(stages: Iterable[str]) -> list[Right]:
    """Everything that some stages need, each once."""
    return list(dict.fromkeys([*READ, *(right for stage in stages for right in STAGES[stage])]))


@dataclass(frozen=True)
class Missing:
    """A right that the user does not have, and the namespaces in which it is missing; none where it is needed in the whole cluster."""

    right: Right
    namespaces: tuple[str, ...] = ()


def permission_findings(missing: Sequence[Missing]) -> list[Finding]:
    """One finding for each place: what is missing there. What only a proof needs is a warning."""
    needed = [
        Finding(
            "permission-missing",
            ERROR,
            _place(namespaces),
            f"you may not {rights}: the run would stop in the middle, where it needs that.",
            f"Let somebody give you a {_role(namespaces)} with the rules in missing_rules.",
        )
        for namespaces, rights in _by_place(each for each in missing if not each.right.optional)
    ]
    helpful = [
        Finding(
            "proof-not-permitted",
            WARNING,
            _place(namespaces),
            f"you may not {rights}: tags can be moved, but that pods are really injected cannot be proved by a dry run.",
            f"Let somebody give you a {_role(namespaces)} with the rules in missing_rules.",
        )
        for namespaces, rights in _by_place(each for each in missing if each.right.optional)
    ]
    return needed + helpful


def _by_place(missing: Iterable[Missing]) -> list[tuple[tuple[str, ...], str]]:
    """Namespaces, none for the cluster, and the rights that are missing there, in words."""
    places: dict[tuple[str, ...], list[str]] = {}
    for each in missing:
        places.setdefault(each.namespaces, []).append(str(each.right))
    return [
        (namespaces, f"{some(rights)} {f'in namespace {some(namespaces)}' if namespaces else 'in the cluster'}")
        for namespaces, rights in places.items()
    ]


def _place(namespaces: Sequence[str]) -> str:
    return f"Namespace {namespaces[0]}" if namespaces else "Cluster"


def _role(namespaces: Sequence[str]) -> str:
    return "Role" if namespaces else "ClusterRole"


def rules_of(missing: Iterable[Missing]) -> list[dict[str, Any]]:
    """The rules of a Role or ClusterRole that give what is missing: as they stand in ``rules``, and where they are needed."""
    gathered: dict[tuple[tuple[str, ...], str, str], list[str]] = {}
    for each in missing:
        gathered.setdefault((each.namespaces, each.right.group, each.right.resource), []).append(each.right.verb)
    return [
        {"namespaces": list(namespaces), "apiGroups": [group], "resources": [resource], "verbs": sorted(verbs)}
        for (namespaces, group, resource), verbs in sorted(gathered.items())
    ]
