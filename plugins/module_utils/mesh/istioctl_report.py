# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What istioctl x precheck and istioctl analyze print, as findings; what this collection judges better is left to it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from .finding import ERROR, INFO, WARNING, Finding
from .words import some

JUDGED_BY_US = {
    "IST0103": "pods-without-sidecar: istioctl looks only at istio-injection=enabled",
    "IST0123": "namespace-two-labels: which of the two wins is known",
    "IST0139": "injectors-overlap, default-owners, injector-dangling: istioctl sees one revision at a time",
    "IST0141": "permission-missing: istioctl wants every right of an installer, whatever the upgrade does",
    "IST0142": "kubernetes-too-old",
    "IST0158": "workloads that are stale: in the middle of every upgrade, and istioctl does not resolve tags",
}
"""Messages that are dropped, and what says it instead."""


@dataclass(frozen=True)
class Message:
    """One message of istioctl.

    Attributes:
        code: "IST0101".
        level: "Error", "Warning" or "Info".
        origin: "VirtualService shop/web"; "Cluster".
        text: a sentence.
    """

    code: str
    level: str
    origin: str
    text: str


def messages_of(output: str) -> list[Message]:
    """What istioctl printed with --output=json: nothing at all when it found nothing (istioctl/pkg/precheck/precheck.go).

    Raises:
        ValueError: it is not a list of messages.
    """
    if not output.strip():
        return []
    try:
        return [Message(entry["code"], entry["level"], entry.get("origin") or "Cluster", entry["message"]) for entry in json.loads(output)]
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a list of messages: {error}") from error


def precheck_findings(messages: Iterable[Message]) -> Iterator[Finding]:
    """What keeps a newer Istio from being installed beside the old."""
    for message in _worth_telling(messages):
        yield Finding(
            "istioctl-precheck",
            ERROR if message.level == "Error" else WARNING,
            message.origin,
            f"istioctl x precheck says {message.code}: {_sentence(message.text)}",
            f"See {_page(message)}.",
        )


def analyze_findings(by_revision: Mapping[str, Iterable[Message]]) -> Iterator[Finding]:
    """Mistakes in the configuration of the mesh. They were there before the upgrade, so none of them is an error that stops it.

    Args:
        by_revision: revision → what analyze prints for it; what it says of several is told once.
    """
    revisions: dict[Message, list[str]] = {}
    for revision, messages in by_revision.items():
        for message in _worth_telling(dict.fromkeys(messages)):
            revisions.setdefault(message, []).append(f'"{revision}"')
    for message, names in revisions.items():
        yield Finding(
            "istioctl-analyze",
            WARNING if message.level == "Error" else INFO,
            message.origin,
            f"istioctl analyze says {message.code} of what {some(names)} reads: {_sentence(message.text)}",
            f"See {_page(message)}.",
        )


def _worth_telling(messages: Iterable[Message]) -> Iterator[Message]:
    """Neither what is only a hint (that a namespace is not in the mesh, how a port is named) nor what is judged by us."""
    return (message for message in messages if message.level in ("Error", "Warning") and message.code not in JUDGED_BY_US)


def _sentence(text: str) -> str:
    return f"{text.strip().rstrip('.')}."


def _page(message: Message) -> str:
    return f"https://istio.io/latest/docs/reference/config/analysis/{message.code.lower()}/"
