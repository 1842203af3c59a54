# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the API server refuses, as sentences.

No sentence contains a header, a token or a key: they are made of the method, the path and the message of the API server only.
"""

from __future__ import annotations

import http.client
import json
import re
import socket
import ssl
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from .paths import describe

VERBS = {"GET": "read", "POST": "create", "PUT": "replace", "PATCH": "change", "DELETE": "delete"}

_DENIED = re.compile(
    r'User "(?P<user>[^"]*)" cannot (?P<verb>\S+) resource "(?P<resource>[^"]*)" in API group "(?P<group>[^"]*)"'
    r'(?: in the namespace "(?P<namespace>[^"]*)")?'
)


class ClusterError(Exception):
    """A request that failed: a finished sentence, the HTTP status (None without an answer) and the API server's reason.

    Attributes:
        status: HTTP status, None when the API server did not answer.
        reason: machine-readable reason as in metav1.Status ("NotFound", "Invalid", …), "Unreachable", or "".
        detail: the API server's own message, "" when it gave none.
    """

    def __init__(self, message: str, *, status: int | None = None, reason: str = "", detail: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.detail = detail


class Conflict(ClusterError):
    """The object has changed since it was read, exists already, or has fields that another manager owns (409)."""


class Missing(ClusterError):
    """What should be changed does not exist (404)."""


class Forbidden(ClusterError):
    """The user lacks a permission (403 from authorization, not from admission)."""


def refused(method: str, path: str, status: int, body: bytes | str | None, http_reason: str = "") -> ClusterError:
    """The error for an answer of the API server that is not a success."""
    answer = _status_object(body)
    reason = str(answer.get("reason") or http_reason or "")
    detail = str(answer.get("message") or "").strip()
    attempt = f"cannot {VERBS.get(method, method)} {describe(path)}"
    kind, sentence = _kind_and_sentence(status, reason, detail)
    return kind(f"{attempt}: {sentence}", status=status, reason=reason, detail=detail)


def _kind_and_sentence(status: int, reason: str, detail: str) -> tuple[type[ClusterError], str]:
    because = _period(detail or reason or f"the API server answered {status}")
    if status == 401:
        return ClusterError, "the API server does not accept the credentials (401). Check token, certificate or kubeconfig context."
    if status == 403:
        denied = _DENIED.search(detail)
        return (Forbidden, _denied(denied)) if denied else (ClusterError, f"the API server does not admit it (403). {because}")
    if status == 404:
        return Missing, f"it does not exist (404). {because}" if detail else "the API server has no such kind (404)."
    if status == 409:
        return Conflict, f"{because} Run again to work on its present state."
    if status == 422:
        return ClusterError, f"the API server finds it invalid (422). {because}"
    if status == 429:
        return ClusterError, f"the API server is overloaded (429). {because} Try again later."
    if status == 504:
        return ClusterError, f"the API server timed out (504). {because} Try again later."
    return ClusterError, f"the API server answered {status}. {because}"


def _denied(match: re.Match[str]) -> str:
    user, verb, resource, group, namespace = match.group("user", "verb", "resource", "group", "namespace")
    where = f' in namespace "{namespace}"' if namespace else ""
    what = f'"{resource}"' + (f' in API group "{group}"' if group else "")
    return f'user "{user}" may not {verb} {resource}{where} (403). Grant the verb "{verb}" on {what}{where}, or use other credentials.'


def unanswered(method: str, path: str, host: str, error: BaseException) -> ClusterError:
    """The error for a request that got no answer: refused connection, unknown name, TLS, time-out."""
    return ClusterError(
        f"cannot {VERBS.get(method, method)} {describe(path)}: the API server at {without_credentials(host)} gives no answer "
        f"({_cause(error)}). Check host, proxy and network, and that the cluster is up.",
        reason="Unreachable",
    )


def chain(error: BaseException) -> Iterator[BaseException]:
    """An error and what led to it, outermost first: libraries wrap errors several times."""
    link: BaseException | None = error
    while link is not None:
        yield link
        link = link.__cause__ or link.__context__


def _cause(error: BaseException) -> str:
    """The reason in a few words. Only errors of the operating system and of TLS are quoted: they cannot hold a header."""
    for link in chain(error):
        if isinstance(link, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted: {link.verify_message}; see ca_cert and validate_certs"
        if isinstance(link, ssl.SSLError):
            return f"TLS fails: {link.reason or type(link).__name__}"
        if isinstance(link, socket.gaierror):
            return "its name does not resolve"
        if isinstance(link, (socket.timeout, TimeoutError)):
            return "timed out"
        if isinstance(link, http.client.RemoteDisconnected):
            return "it closed the connection"
        if isinstance(link, OSError) and link.strerror:
            return link.strerror.lower()
        if isinstance(link, json.JSONDecodeError):
            return "what it sent is not JSON; is this the URL of an API server?"
    return type(error).__name__


def without_credentials(url: str) -> str:
    """A URL as it may be shown: without user, password and query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}" if parts.netloc else url


def _status_object(body: bytes | str | None) -> dict[str, Any]:
    try:
        answer = json.loads(body or "{}")
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def _period(sentence: str) -> str:
    sentence = sentence.strip()
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."
