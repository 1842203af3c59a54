# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Moving a tag: which objects change, in which order, and what must not be done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from .changes import Change, Object, Ref
from .injectors import is_injecting_entry
from .names import (
    DEFAULT,
    DEFAULT_VALIDATOR,
    INJECT_LABEL,
    INJECTION_LABEL,
    INJECTOR_SUFFIX,
    MANAGED_BY,
    MANAGED_BY_LABEL,
    NEVER_MATCH,
    OPERATOR_LABEL_PART,
    REVISION_LABEL,
    TAG_LABEL,
    is_dns_label,
    istiod_name,
    tag_service_name,
    tag_webhook_name,
    validator_name,
)
from .refusal import Refusal
from .revisions import labels_of
from .snapshot import Mesh


@dataclass(frozen=True)
class TagMove:
    """What moving a tag takes. The validator follows only when the new injector has been proved to answer."""

    name: str
    revision: str | None
    previous: str | None
    users: tuple[str, ...]
    changes: tuple[Change, ...]
    after_proof: tuple[Change, ...] = ()

    @property
    def changed(self) -> bool:
        return bool(self.changes or self.after_proof)


def plan_tag(mesh: Mesh, name: str, revision: str, expect_revision: str | None = None) -> TagMove:
    """Point a tag at a revision.

    The new owner goes live before an old injector is switched off: for a moment two webhooks fire, which still gives a pod one
    sidecar; the other order, istioctl's, gives pods without one.

    Raises:
        Refusal: the tag or the revision cannot be used so; nothing has been written.
    """
    _refuse_bad_names(mesh, name, revision)
    target = mesh.require_revision(revision)
    if not target.ready:
        raise Refusal(f'tag "{name}" stays where it is: revision "{revision}" is not ready: {target.reason}. Repair it, then run again.')
    previous = mesh.tags[name].revision if name in mesh.tags else None
    if expect_revision is not None and previous not in (expect_revision, revision):
        raise Refusal(
            f'tag "{name}" points at {_quoted(previous)}, not at the expected "{expect_revision}". Somebody moved it: look first.'
        )
    canonical = _canonical(mesh, revision)
    changes = [_webhook(mesh, name, revision, canonical), _service(mesh, name, revision)]
    after_proof = []
    if name == DEFAULT:
        changes += _switch_off_others(mesh)
        after_proof = [_validator(mesh, revision)]
    return TagMove(
        name, revision, previous, users_of(mesh, name), tuple(c for c in changes if c.needed), tuple(c for c in after_proof if c.needed)
    )


def plan_tag_removal(mesh: Mesh, name: str, waive: Sequence[str] = ()) -> TagMove:
    """Remove a tag.

    Raises:
        Refusal: namespaces are injected through it and the guard "namespaces" is not waived.
    """
    users = users_of(mesh, name)
    if users and "namespaces" not in waive:
        raise Refusal(
            f'tag "{name}" is kept: {len(users)} namespaces are injected through it ({", ".join(users[:5])}) and would start pods '
            "without a sidecar. Relabel them first with ns_revision_label, or waive the guard: namespaces.",
            blockers={"namespaces": list(users)},
        )
    webhooks = [thing for thing in mesh.raw["mutating"] if labels_of(thing).get(TAG_LABEL) == name]
    services = [thing for thing in mesh.raw["services"] if labels_of(thing).get(TAG_LABEL) == name]
    validators = [thing for thing in mesh.raw["validating"] if labels_of(thing).get(TAG_LABEL) == name]
    changes = [
        *(Change(Ref("MutatingWebhookConfiguration", None, thing["metadata"]["name"]), thing, None) for thing in webhooks),
        *(Change(Ref("Service", thing["metadata"]["namespace"], thing["metadata"]["name"]), thing, None) for thing in services),
        *(Change(Ref("ValidatingWebhookConfiguration", None, thing["metadata"]["name"]), thing, None) for thing in validators),
    ]
    previous = mesh.tags[name].revision if name in mesh.tags else None
    return TagMove(name, None, previous, users, tuple(changes))


def users_of(mesh: Mesh, tag: str) -> tuple[str, ...]:
    """The namespaces whose pods are injected through a tag now."""
    return tuple(name for name in sorted(mesh.namespaces) if mesh.tag_used_by(name) == tag)


def _quoted(revision: str | None) -> str:
    return "no revision" if revision is None else f'"{revision}"'


def _refuse_bad_names(mesh: Mesh, name: str, revision: str) -> None:
    if not is_dns_label(name):
        raise Refusal(f'"{name}" cannot be the name of a tag: use lower-case letters, digits and "-", at most 63 (a DNS label).')
    if name in mesh.revisions and name != DEFAULT:
        raise Refusal(f'"{name}" cannot be a tag: a revision has this name, and labels could not tell them apart. Choose another name.')
    if revision in mesh.tags and revision not in mesh.revisions:
        raise Refusal(
            f'"{revision}" is itself a tag. Name the revision that tag "{name}" shall point at ("{mesh.tags[revision].revision}"?).'
        )


def _canonical(mesh: Mesh, revision: str) -> Object:
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
    """A copy that names the revision and is no longer pruned together with another one."""
    copy = deepcopy(dict(thing))
    labels = {key: value for key, value in labels_of(thing).items() if OPERATOR_LABEL_PART not in key}
    copy["metadata"]["labels"] = {**labels, REVISION_LABEL: revision, TAG_LABEL: tag}
    return copy


def _webhook(mesh: Mesh, tag: str, revision: str, canonical: Object) -> Change:
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


def _service(mesh: Mesh, tag: str, revision: str) -> Change:
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


def _switch_off_others(mesh: Mesh) -> list[Change]:
    """Whatever else acts on istio-injection=enabled, switched off as istioctl does it: selectors that never match."""
    acting = {
        injector.configuration
        for injector in mesh.injectors
        if injector.tag != DEFAULT and injector.acts_on({INJECTION_LABEL: "enabled"}, {})
    }
    changes = []
    for before in mesh.raw["mutating"]:
        if before["metadata"]["name"] in acting:
            after = deepcopy(dict(before))
            for entry in after["webhooks"]:
                if is_injecting_entry(entry):
                    entry.update(namespaceSelector=NEVER_MATCH, objectSelector=NEVER_MATCH)
            changes.append(Change(Ref("MutatingWebhookConfiguration", None, before["metadata"]["name"]), before, after))
    return changes


def _validator(mesh: Mesh, revision: str) -> Change:
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
