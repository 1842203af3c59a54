# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Injecting webhooks that cannot be called, or that get in each other's way."""

from __future__ import annotations

from collections.abc import Iterator

from ..finding import ERROR, WARNING, Finding
from ..injectors import Injector, Reachability
from ..names import DEFAULT, INJECTION_LABEL, NEVER_MATCH, REVISION_LABEL
from ..selectors import Labels, Selector
from ..snapshot import Mesh
from ..validators import Validator
from ..words import some
from ..workloads import template_of

SWITCHED_OFF = Selector.parse(NEVER_MATCH)


def injector_findings(mesh: Mesh) -> Iterator[Finding]:
    """By the webhook configurations alone, and by who depends on them."""
    used = _in_use(mesh)
    yield from _uncallable(mesh, used)
    yield from _istiods_not_ready(mesh, used)
    yield from _entries_that_differ(mesh)
    yield from _overlaps(mesh)


def _in_use(mesh: Mesh) -> set[str]:
    """The Services of istiods that some namespace, pod template, or the successor of some pod depends on."""
    verdicts = [
        *(mesh.verdict(namespace) for namespace in mesh.namespaces),
        *(mesh.verdict_of(pod.namespace, pod.template) for pod in mesh.pods),
        *(mesh.verdict_of(owner.namespace, template_of(controller)) for owner, controller in mesh.controllers.items()),
    ]
    return {verdict.injector.service for verdict in verdicts if verdict.injector}


def _live(mesh: Mesh) -> list[Injector]:
    """Those that are not switched off, so that the API server calls them for something."""
    return [injector for injector in mesh.injectors if injector.namespaces != SWITCHED_OFF]


def _uncallable(mesh: Mesh, used: set[str]) -> Iterator[Finding]:
    for injector in {injector.configuration: injector for injector in _live(mesh) if not injector.reachable.ok}.values():
        thing = f"MutatingWebhookConfiguration {injector.configuration}"
        if injector.reachable is Reachability.NO_SERVICE and injector.tag is None:
            yield Finding(
                "injector-dangling",
                ERROR if injector.service in used else WARNING,
                thing,
                f'"{injector.configuration}" is left of {injector.name}, whose Service {injector.service} does not exist: pods that ask '
                "for it are rejected.",
                "Install the revision again, or remove what is left of it with istio_revision state=absent.",
            )
        elif injector.reachable not in (Reachability.NO_SERVICE, Reachability.NO_ENDPOINTS):
            yield Finding(
                "webhook-certificate",
                ERROR,
                thing,
                f'the API server cannot call {injector.name} through "{injector.configuration}": {injector.reachable.value}. Pods that ask '
                "for it are rejected.",
                "Wait a few seconds: istiod writes it. If it does not, read the log of that istiod, or move the tag with istio_tag, which "
                "waits.",
            )


def _istiods_not_ready(mesh: Mesh, used: set[str]) -> Iterator[Finding]:
    webhooks: list[Injector | Validator] = [*_live(mesh), *mesh.validators]
    silent: dict[str, list[Injector | Validator]] = {}
    for webhook in webhooks:
        if webhook.reachable is Reachability.NO_ENDPOINTS:
            silent.setdefault(webhook.service, []).append(webhook)
    closed = {validator.service for validator in mesh.validators if validator.fails_closed and validator.objects.matches({})}
    for service, calling in sorted(silent.items()):
        callers, revision = sorted({webhook.configuration for webhook in calling}), calling[0].revision
        yield Finding(
            "istiod-not-ready",
            ERROR if service in used | closed else WARNING,
            f"Revision {revision}",
            f'revision "{revision}" has no ready istiod behind Service {service}: what {some(callers)} would be asked about is refused.',
            "Look at its istiod pods and bring them back, or move everything away and remove the revision with istio_revision.",
        )


def _entries_that_differ(mesh: Mesh) -> Iterator[Finding]:
    for configuration in sorted({injector.configuration for injector in _live(mesh)}):
        called = {injector.service: injector.revision for injector in _live(mesh) if injector.configuration == configuration}
        if len(called) > 1:
            yield Finding(
                "webhook-entries-differ",
                WARNING,
                f"MutatingWebhookConfiguration {configuration}",
                f'the entries of "{configuration}" call different revisions ({some(sorted(called.values()))}): which one injects a pod '
                "depends on how it asks.",
                "Set the tag again with istio_tag, which writes all entries.",
            )


def _overlaps(mesh: Mesh) -> Iterator[Finding]:
    """Several webhooks act on the same pods. Evaluated, because names do not tell: a deactivated one keeps its name."""
    seen = set()
    for asked, namespace in _ways_to_ask(mesh):
        acting = {injector.configuration: injector for injector in mesh.injectors if injector.acts_on(namespace, {})}
        names = tuple(sorted(acting))
        if len(names) < 2 or names in seen:
            continue
        seen.add(names)
        default = asked in (f"{INJECTION_LABEL}=enabled", f"{REVISION_LABEL}={DEFAULT}")
        if default:
            yield _two_defaults(asked, [acting[name] for name in names])
        elif namespace[REVISION_LABEL] not in mesh.revisions:  # otherwise the tag has the name of a revision, which is told elsewhere
            yield Finding(
                "injectors-overlap",
                ERROR,
                f"MutatingWebhookConfiguration {names[0]}",
                f"{' and '.join(names)} all act on {asked}; the last one wins.",
                "Remove the one that you do not mean: two installs of Istio have a tag of the same name.",
            )


def _ways_to_ask(mesh: Mesh) -> Iterator[tuple[str, Labels]]:
    for name, value in [(INJECTION_LABEL, "enabled"), *((REVISION_LABEL, name) for name in sorted({DEFAULT, *mesh.revisions, *mesh.tags}))]:
        yield f"{name}={value}", {name: value}


def _two_defaults(asked: str, acting: list[Injector]) -> Finding:
    stale = [injector.configuration for injector in acting if injector.tag is None and any(other.tag for other in acting)]
    which = f"; {some(stale)} is the stale one, because the default tag stands for it" if stale else ""
    return Finding(
        "default-owners",
        ERROR,
        "Tag default",
        f"{' and '.join(injector.configuration for injector in acting)} all act on {asked}{which}. The last one wins: {acting[-1].name}.",
        "Run istio_tag for the tag default with the revision you want; it switches the other off.",
    )
