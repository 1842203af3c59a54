# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a tag is made of, as it is and as it shall be: webhook, Service, validator, and the injectors that the default tag switches off."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from .changes import Change, Object, Ref, without_annotation
from .injectors import is_injecting_entry
from .names import (
    DEFAULT,
    DEFAULT_VALIDATOR,
    HELM_NAMESPACE_ANNOTATION,
    HELM_RELEASE_ANNOTATION,
    INJECT_LABEL,
    INJECTION_LABEL,
    INJECTOR_SUFFIX,
    MANAGED_BY,
    MANAGED_BY_LABEL,
    NEVER_MATCH,
    OPERATOR_LABEL_PART,
    REVISION_LABEL,
    SELECTORS,
    SWITCHED_OFF_ANNOTATION,
    TAG_LABEL,
    istiod_name,
    tag_service_name,
    tag_webhook_name,
    validator_name,
)
from .refusal import Refusal
from .revisions import annotations_of, labels_of
from .snapshot import Mesh

HELM_ANNOTATIONS = (HELM_RELEASE_ANNOTATION, HELM_NAMESPACE_ANNOTATION)


def canonical_injector(mesh: Mesh, revision: str) -> Object:
    """The injector that a revision has of its own, from which its tags copy how it is called.

    Raises:
        Refusal: it has none, or more than one.
    """
    own = [
        thing for thing in mesh.raw["mutating"] if labels_of(thing).get(REVISION_LABEL) == revision and TAG_LABEL not in labels_of(thing)
    ]
    own = [thing for thing in own if any(is_injecting_entry(entry) for entry in thing.get("webhooks") or ())]
    if len(own) != 1:
        found = ", ".join(thing["metadata"]["name"] for thing in own) or "none"
        raise Refusal(
            f'revision "{revision}" must have one MutatingWebhookConfiguration of its own, found {found}. Repair the install first.'
        )
    return own[0]


def _by_name(things: Sequence[Object], name: str) -> Object | None:
    return next((thing for thing in things if thing["metadata"]["name"] == name), None)


def _labelled(thing: Object, revision: str, tag: str) -> dict[str, Any]:
    """A copy that names the revision, and is no longer pruned by istioctl together with another one or claimed by a Helm release.

    What a release has and nobody has moved stays the release's.
    """
    copy = deepcopy(dict(thing))
    labels = {key: value for key, value in labels_of(thing).items() if OPERATOR_LABEL_PART not in key}
    if labels.get(REVISION_LABEL) != revision and HELM_RELEASE_ANNOTATION in annotations_of(thing):
        for name in HELM_ANNOTATIONS:
            copy = without_annotation(copy, name)
        labels[MANAGED_BY_LABEL] = MANAGED_BY
    copy["metadata"]["labels"] = {**labels, REVISION_LABEL: revision, TAG_LABEL: tag}
    return copy


def webhook_change(mesh: Mesh, tag: str, revision: str, canonical: Object) -> Change:
    """The tag's webhook configuration, which calls as the revision's own injector does, with its caBundle: without one every call fails."""
    template = next(entry for entry in canonical["webhooks"] if is_injecting_entry(entry))
    before = next((thing for thing in mesh.raw["mutating"] if labels_of(thing).get(TAG_LABEL) == tag), None)
    if before is not None:
        after = _labelled(before, revision, tag)
        for entry in after["webhooks"]:
            if is_injecting_entry(entry):
                entry["clientConfig"] = deepcopy(template["clientConfig"])
    else:
        after = {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingWebhookConfiguration",
            "metadata": {
                "name": tag_webhook_name(tag, mesh.istio_namespace),
                "labels": {"app": "sidecar-injector", MANAGED_BY_LABEL: MANAGED_BY, REVISION_LABEL: revision, TAG_LABEL: tag},
            },
            "webhooks": [{**deepcopy(template), **entry} for entry in _entries(tag)],
        }
    return Change(Ref("MutatingWebhookConfiguration", None, after["metadata"]["name"]), before, after)


def _entries(tag: str) -> list[dict[str, Any]]:
    """The selectors of a tag's webhook (istio: templates/revision-tags-mwc.yaml); the default tag serves istio-injection too."""
    tagged = _condition(REVISION_LABEL, "In", tag)
    no_injection, no_revision = _condition(INJECTION_LABEL, "DoesNotExist"), _condition(REVISION_LABEL, "DoesNotExist")
    not_refused = _condition(INJECT_LABEL, "NotIn", "false")
    entries = [
        _entry("rev.namespace", [tagged, no_injection], [not_refused]),
        _entry("rev.object", [no_revision, no_injection], [not_refused, tagged]),
    ]
    if tag == DEFAULT:
        entries += [
            _entry("namespace", [_condition(INJECTION_LABEL, "In", "enabled")], [not_refused]),
            _entry("object", [no_injection, no_revision], [_condition(INJECT_LABEL, "In", "true"), no_revision]),
        ]
    return entries


def _entry(prefix: str, namespaces: list[dict[str, Any]], objects: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "name": f"{prefix}.{INJECTOR_SUFFIX}",
        "namespaceSelector": {"matchExpressions": namespaces},
        "objectSelector": {"matchExpressions": objects},
    }


def _condition(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)} if values else {"key": key, "operator": operator}


def service_change(mesh: Mesh, tag: str, revision: str) -> Change:
    """The tag's Service, by which proxies that name the tag reach the revision's istiods (since Istio 1.28).

    Raises:
        Refusal: the revision has no Service itself.
    """
    own = _by_name(mesh.raw["services"], istiod_name(revision))
    if own is None:
        raise Refusal(
            f'revision "{revision}" has no Service {istiod_name(revision)}, so the tag could not have one. Repair the install first.'
        )
    name = tag_service_name(tag)
    namespace = own["metadata"]["namespace"]
    before = _by_name([thing for thing in mesh.raw["services"] if thing["metadata"]["namespace"] == namespace], name)
    spec = {"ports": _without_node_ports(own["spec"]["ports"]), "selector": own["spec"]["selector"]}
    if before is not None:
        after = _labelled(before, revision, tag)
        after["spec"] = {**after["spec"], "selector": spec["selector"]}
    else:
        labels = {"app": "istiod", "istio": "pilot", MANAGED_BY_LABEL: MANAGED_BY, REVISION_LABEL: revision, TAG_LABEL: tag}
        metadata = {"name": name, "namespace": namespace, "labels": labels}
        after = {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}
    return Change(Ref("Service", after["metadata"]["namespace"], name), before, after)


def _without_node_ports(ports: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in port.items() if key != "nodePort"} for port in ports]


def switch_off_others(mesh: Mesh) -> list[Change]:
    """Whatever else acts on istio-injection=enabled, switched off as istioctl does it: selectors that never match.

    What they were is kept in an annotation, so that the way back leads to where the mesh was.
    """
    acting = {
        injector.configuration
        for injector in mesh.injectors
        if injector.tag != DEFAULT and injector.acts_on({INJECTION_LABEL: "enabled"}, {})
    }
    changes = []
    for before in mesh.raw["mutating"]:
        if before["metadata"]["name"] in acting:
            after = deepcopy(dict(before))
            selectors = {}
            for entry in after["webhooks"]:
                if is_injecting_entry(entry):
                    selectors[entry["name"]] = {selector: entry.get(selector) for selector in SELECTORS}
                    entry.update(dict.fromkeys(SELECTORS, NEVER_MATCH))
            after["metadata"].setdefault("annotations", {})[SWITCHED_OFF_ANNOTATION] = json.dumps(selectors, sort_keys=True)
            changes.append(Change(Ref("MutatingWebhookConfiguration", None, before["metadata"]["name"]), before, after))
    return changes


def switch_on_again(mesh: Mesh) -> list[Change]:
    """The injectors that a default tag has switched off, with the selectors that they had; not those that istioctl switched off."""
    changes = []
    for before in mesh.raw["mutating"]:
        kept = annotations_of(before).get(SWITCHED_OFF_ANNOTATION)
        if kept is not None:
            after = without_annotation(before, SWITCHED_OFF_ANNOTATION)
            for entry in after["webhooks"]:
                was = _selectors(kept).get(entry["name"])
                if was and entry.get("namespaceSelector") == NEVER_MATCH:
                    entry.update(was)
            changes.append(Change(Ref("MutatingWebhookConfiguration", None, before["metadata"]["name"]), before, after))
    return changes


def _selectors(kept: str) -> dict[str, Any]:
    """What an annotation keeps; nothing when somebody has written something else into it."""
    try:
        found = json.loads(kept)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def validator_change(mesh: Mesh, revision: str) -> Change:
    """The default validator, which must point at a living revision or no Istio configuration can be written."""
    ref = Ref("ValidatingWebhookConfiguration", None, DEFAULT_VALIDATOR)
    before = _by_name(mesh.raw["validating"], DEFAULT_VALIDATOR)
    own = _by_name(mesh.raw["validating"], validator_name(revision, mesh.istio_namespace))
    if own is None:
        return Change(ref, before, before)
    client = own["webhooks"][0]["clientConfig"]
    if before is not None:
        after = _labelled(before, revision, DEFAULT) if TAG_LABEL in labels_of(before) else deepcopy(dict(before))
        after["metadata"].setdefault("labels", {})[REVISION_LABEL] = revision
        for entry in after["webhooks"]:
            entry["clientConfig"] = deepcopy(client)
    else:
        entry = {**deepcopy(own["webhooks"][0]), "name": "validation.istio.io", "failurePolicy": "Ignore"}
        entry["objectSelector"] = {"matchExpressions": [_condition(REVISION_LABEL, "DoesNotExist")]}
        labels = {"app": "istiod", "istio": "istiod", MANAGED_BY_LABEL: MANAGED_BY, REVISION_LABEL: revision, TAG_LABEL: DEFAULT}
        after = {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": DEFAULT_VALIDATOR, "labels": labels},
            "webhooks": [entry],
        }
    return Change(ref, before, after)
