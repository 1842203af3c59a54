# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Moving a tag: which objects change, in which order, and what must not be done."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .changes import Change, Object
from .injection import Outcome
from .names import (
    DEFAULT,
    HELM_NAMESPACE_ANNOTATION,
    HELM_RELEASE_ANNOTATION,
    OPERATOR_LABEL_PART,
    REVISION_LABEL,
    TAG_LABEL,
    is_dns_label,
)
from .refusal import Refusal
from .revisions import annotations_of, installers_of, labels_of
from .snapshot import Mesh
from .tag_objects import canonical_injector, service_change, switch_off_others, validator_change, webhook_change
from .transition import Transition, marked, unfinished_tags, unmarked

WITNESSES = 5
"""How many namespaces are asked for a dry-run pod until one of them says something about injection."""


@dataclass(frozen=True)
class TagMove:
    """What moving or removing a tag takes. The validator follows only when the new injector has been proved to answer.

    Attributes:
        revision: where it points afterwards, None when it is removed.
        previous: where it pointed before, also before a run that died under way.
        users: the namespaces whose pods are injected through it now.
        unfinished: the move of a run that died.
    """

    name: str
    revision: str | None
    previous: str | None
    users: tuple[str, ...]
    changes: tuple[Change, ...]
    after_proof: tuple[Change, ...] = ()
    unfinished: Transition | None = None

    @property
    def changed(self) -> bool:
        return bool(self.changes or self.after_proof or self.unfinished)


class TargetNotReady(Refusal):
    """The revision that a tag shall point at cannot inject pods now."""


def plan_tag(mesh: Mesh, name: str, revision: str, expect_revision: str | None = None) -> TagMove:
    """Point a tag at a revision, or finish what a run that died has begun.

    The new owner goes live before an old injector is switched off: for a moment two webhooks fire, which still gives a pod one
    sidecar; the other order, istioctl's, gives pods without one. While it moves, the webhook carries a note of the transition.

    Raises:
        TargetNotReady: the revision cannot inject now; nothing has been written.
        Refusal: the tag or the revision cannot be used so; nothing has been written.
    """
    _refuse_bad_names(mesh, name, revision)
    refuse_foreign(mesh, name)
    unfinished = unfinished_tags(mesh).get(name)
    current = mesh.tags[name].revision if name in mesh.tags else None
    previous = unfinished.previous if unfinished else current
    if expect_revision is not None and not {previous, current} & {expect_revision, revision}:
        raise Refusal(
            f'tag "{name}" points at {_quoted(previous)}, not at the expected "{expect_revision}". Somebody moved it: look first.'
        )
    target = mesh.require_revision(revision)
    if not target.ready:
        raise TargetNotReady(
            f'tag "{name}" stays where it is: revision "{revision}" is not ready: {target.reason}. Repair it, then run again.'
        )
    _refuse_another_mesh(mesh, name, revision)
    webhook = webhook_change(mesh, name, revision, canonical_injector(mesh, revision))
    others = [service_change(mesh, name, revision), *(switch_off_others(mesh) if name == DEFAULT else ())]
    after_proof = tuple(change for change in [validator_change(mesh, revision)] if name == DEFAULT and change.needed)
    if unfinished or _differs(webhook) or after_proof or any(change.needed for change in others):
        webhook = Change(webhook.ref, webhook.before, marked(webhook.after or {}, Transition(previous, revision)))
    changes = tuple(change for change in [webhook, *others] if change.needed)
    return TagMove(name, revision, previous, users_of(mesh, name), changes, after_proof, unfinished)


def users_of(mesh: Mesh, tag: str) -> tuple[str, ...]:
    """The namespaces whose pods are injected through a tag now."""
    return tuple(name for name in sorted(mesh.namespaces) if mesh.tag_used_by(name) == tag)


def witnesses(mesh: Mesh, tag: str) -> list[tuple[str, Mapping[str, str]]]:
    """Namespace and pod labels for dry-run pods that a tag should inject: in namespaces that use it, else by a label of the pod alone."""
    choices: tuple[Mapping[str, str], ...] = ({}, {REVISION_LABEL: tag})
    sure = [(name, labels) for labels in choices for name in sorted(mesh.namespaces) if _is_sure(mesh, name, labels, tag)]
    return sure[:WITNESSES]


def _is_sure(mesh: Mesh, namespace: str, labels: Mapping[str, str], tag: str) -> bool:
    verdict = mesh.verdict(namespace, labels)
    return verdict.outcome is Outcome.INJECTED and verdict.certain and verdict.tag == tag


def _differs(webhook: Change) -> bool:
    """Whether a webhook has to change for another reason than the note of a move under way."""
    return webhook.before is None or unmarked(webhook.before) != unmarked(webhook.after or {})


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


def refuse_foreign(mesh: Mesh, name: str) -> None:
    """Stop before somebody's tag is changed who would put it back, or of whom nobody can tell which one counts.

    Raises:
        Refusal: Sail owns it, or several webhook configurations carry it.
    """
    webhooks = [thing for thing in mesh.raw["mutating"] if labels_of(thing).get(TAG_LABEL) == name]
    services = [thing for thing in mesh.raw["services"] if labels_of(thing).get(TAG_LABEL) == name]
    for thing in [*webhooks, *services]:
        if "sail" in installers_of(thing):
            owner = thing["metadata"]["ownerReferences"][0]
            raise Refusal(
                f'tag "{name}" is left alone: {owner["kind"]} {owner["name"]} of the Sail operator owns it and would put it back. '
                "Change targetRef there."
            )
    if len(webhooks) > 1:
        names = ", ".join(sorted(thing["metadata"]["name"] for thing in webhooks))
        raise Refusal(
            f'tag "{name}" is left alone: {len(webhooks)} MutatingWebhookConfigurations carry it ({names}), and all of them act on its '
            "pods. Delete those that are not in use."
        )


def _refuse_another_mesh(mesh: Mesh, name: str, revision: str) -> None:
    owner = mesh.revisions.get(mesh.tags[name].revision) if name in mesh.tags else None
    home = mesh.revisions[revision].namespace
    if owner and owner.namespace and home and owner.namespace != home:
        raise Refusal(
            f'tag "{name}" is left alone: it belongs to revision "{owner.name}" in namespace {owner.namespace}, and "{revision}" lives in '
            f"{home}: another mesh, with tags of its own. Choose another name, or remove the tag there first."
        )


def is_claimed(webhook: Object) -> bool:
    """Whether a webhook of a tag has marks of an installer."""
    return any(OPERATOR_LABEL_PART in label for label in labels_of(webhook)) or HELM_RELEASE_ANNOTATION in annotations_of(webhook)


def maker_of(webhook: Object, managers: Iterable[str]) -> str:
    """Who made a webhook of a tag that is claimed: "istioctl", or "Helm release namespace/name".

    istioctl tag set copies labels and annotations from the injector of the revision, Helm's too where Helm has installed that (measured,
    1.31 and 1.32): only the record of field managers tells the two apart.

    Args:
        webhook: with the marks of an installer.
        managers: its field managers.
    """
    notes = annotations_of(webhook)
    if HELM_RELEASE_ANNOTATION in notes and any(manager.startswith("helm") for manager in managers):
        return f"Helm release {notes.get(HELM_NAMESPACE_ANNOTATION, '')}/{notes[HELM_RELEASE_ANNOTATION]}"
    return "istioctl"
