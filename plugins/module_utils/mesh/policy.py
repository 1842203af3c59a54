# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What istiod decides by itself after the API server has called it (istio: pkg/kube/inject, injectRequired, 1.24 to 1.32)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from .names import GATEWAY_TEMPLATES_ANNOTATION, INJECT_LABEL
from .pod_template import PodTemplate
from .selectors import Requirement, Selector
from .yaml_text import load

with suppress(ImportError):  # the client library for Kubernetes needs PyYAML too, and mesh_module says when that is missing
    import yaml

IGNORED_NAMESPACES = frozenset({"kube-system", "kube-public", "kube-node-lease", "local-path-storage"})
"""istiod injects nothing in them (pkg/kube/inject/initializer.go)."""

WORDS_OF_OLD = frozenset({"y", "yes", "on"})
"""What Istio 1.24 understands as "true" too; to any other unknown word it says no."""

LAST_WITH_WORDS, FIRST_WITHOUT_WORDS = 24, 28
"""Minor versions whose source was read; in between it is not known here which of the two rules holds."""


@dataclass(frozen=True)
class InjectionPolicy:
    """The part of istiod's injection configuration that says yes or no (ConfigMap istio-sidecar-injector, key "config")."""

    enabled: bool = True
    never: tuple[Selector, ...] = ()
    always: tuple[Selector, ...] = ()
    templates: frozenset[str] = frozenset()


@lru_cache(maxsize=64)
def parse_policy(config: str) -> InjectionPolicy | None:
    """From the YAML that istiod reads; None when istiod could not read it either, and goes on with what it has read before."""
    try:
        found = load(config)
        return InjectionPolicy(
            enabled=found.get("policy") == "enabled",
            never=tuple(_selectors(found.get("neverInjectSelector"))),
            always=tuple(_selectors(found.get("alwaysInjectSelector"))),
            templates=frozenset({*(found.get("templates") or ()), *(found.get("aliases") or ())}),
        )
    except (yaml.YAMLError, AttributeError, KeyError, TypeError, ValueError):
        return None


def _selectors(listed: Sequence[Mapping[str, Any]] | None) -> Iterator[Selector]:
    """Those that count: to istiod an empty one matches nothing, and one that Kubernetes would not accept is as if it were not there."""
    for part in listed or ():
        equal = {key: _text(value) for key, value in (part.get("matchLabels") or {}).items()}
        expressions = [
            {
                "key": expression["key"],
                "operator": expression["operator"],
                "values": [_text(value) for value in expression.get("values") or ()],
            }
            for expression in part.get("matchExpressions") or ()
        ]
        selector = Selector.parse({"matchLabels": equal, "matchExpressions": expressions})
        if selector.requirements and all(map(_is_valid, selector.requirements)):
            yield selector


def _is_valid(requirement: Requirement) -> bool:
    if requirement.operator in ("In", "NotIn"):
        return bool(requirement.values)
    return requirement.operator in ("Exists", "DoesNotExist") and not requirement.values


def _text(value: Any) -> str:
    """A scalar as Kubernetes' YAML reader makes a string of it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def why_declined(namespace: str, pod: PodTemplate, policy: InjectionPolicy | None, version: str | None) -> str:
    """Why an istiod that is called leaves a pod as it is, empty when it injects.

    Args:
        namespace: its name.
        pod: what would be born.
        policy: of the istiod, None when unknown: then the one that the chart brings, which injects whatever does not object.
        version: of the istiod, None when unknown.
    """
    if pod.host_network:
        return "the pod uses the network of its node (hostNetwork)"
    if namespace in IGNORED_NAMESPACES:
        return f'it ignores namespace "{namespace}"'
    policy = policy or InjectionPolicy()
    wish, source = _wish(pod, version)
    if wish is not None:
        return "" if wish else f"the pod {source} says no"
    if any(selector.matches(pod.labels) for selector in policy.never):
        return "its neverInjectSelector matches the labels of the pod"
    if policy.enabled or any(selector.matches(pod.labels) for selector in policy.always):
        return ""
    return 'its injection policy is not "enabled", and the pod does not ask for injection'


def doubt(pod: PodTemplate, version: str | None) -> str:
    """What cannot be known about the decision of an istiod of this version, empty when it can."""
    word = _word(pod)[0]
    if word in ("", "true", "false") or _minor(version) not in range(LAST_WITH_WORDS + 1, FIRST_WITHOUT_WORDS):
        return ""
    return f"what {INJECT_LABEL}={word} means to Istio {version} is not known here"


def why_refused(pod: PodTemplate, policy: InjectionPolicy | None) -> str:
    """Why istiod refuses a pod that it shall inject, so that the pod is not born; empty when nothing is seen that it would mind.

    Seen are templates that it does not have, and annotations that are no number, no truth value or no interception mode where they must be.
    Not seen are wrong port lists, address ranges, quantities, and a wrong proxy.istio.io/config.
    """
    if policy and policy.templates and GATEWAY_TEMPLATES_ANNOTATION in pod.annotations:
        names = [name.strip() for name in pod.annotations[GATEWAY_TEMPLATES_ANNOTATION].split(",")]
        unknown = [name for name in names if name not in policy.templates]
        if unknown:
            return f'the pod annotation {GATEWAY_TEMPLATES_ANNOTATION} names "{unknown[0]}", a template that it does not have'
    for name, value in sorted(pod.annotations.items()):
        if name in ANNOTATION_RULES and not ANNOTATION_RULES[name](value):
            return f"the pod annotation {name}={value} is invalid"
    return ""


def _wish(pod: PodTemplate, version: str | None) -> tuple[bool | None, str]:
    """What the pod asks for, None for nothing that istiod understands, and by what it does."""
    word, source = _word(pod)
    described = f"{source} {INJECT_LABEL}={word}"
    if word in ("true", "false"):
        return word == "true", described
    minor = _minor(version)
    if word and minor is not None and minor <= LAST_WITH_WORDS:
        return word in WORDS_OF_OLD, described
    return None, ""


def _word(pod: PodTemplate) -> tuple[str, str]:
    """The label, or else the annotation of the same name."""
    if INJECT_LABEL in pod.labels:
        return pod.labels[INJECT_LABEL], "label"
    return pod.annotations.get(INJECT_LABEL, ""), "annotation"


def _minor(version: str | None) -> int | None:
    found = re.match(r"1\.(\d+)", version or "")
    return int(found.group(1)) if found else None


def _is_number(value: str) -> bool:
    return re.fullmatch(r"[0-9]+", value) is not None and int(value) < 2**32


def _is_truth(value: str) -> bool:
    return value in ("1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False")


ANNOTATION_RULES = {
    "sidecar.istio.io/interceptionMode": lambda value: value in ("REDIRECT", "TPROXY", "NONE"),
    "readiness.status.sidecar.istio.io/initialDelaySeconds": _is_number,
    "readiness.status.sidecar.istio.io/periodSeconds": _is_number,
    "readiness.status.sidecar.istio.io/failureThreshold": _is_number,
    "prometheus.istio.io/merge-metrics": _is_truth,
}
"""Annotations whose value istiod checks before it injects (pkg/kube/inject/validate.go), as far as the check can be told exactly."""
