# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The one way to talk to the API server: plain JSON in and out, known paths, errors as sentences."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any, Callable

from .connection import connect, discovering_nothing
from .errors import ClusterError, Missing, refused, unanswered
from .paths import resource_at

try:
    from kubernetes.client.exceptions import ApiException
    from kubernetes.dynamic import DynamicClient
    from kubernetes.dynamic.exceptions import DynamicApiError
    from urllib3.exceptions import HTTPError, NewConnectionError
except ImportError:
    pass  # connection.IMPORT_ERRORS has it, and mesh_module says so before a Cluster is made

Object = dict[str, Any]
Objects = list[Object]

FIELD_MANAGER = "meshops.istio"
"""Who we are in managedFields."""

PAGE = 500
"""Objects per page of a list."""

CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 65.0
"""The API server gives up after 60 s by itself; a little more lets its own answer arrive."""

RETRY_SECONDS = 60.0
"""How long a request is repeated before its error counts."""

FIRST_CONTACT_SECONDS = 5.0
"""The same for a server that has never answered: more likely the host is wrong than that it is just being restarted."""

OVERLOADED = frozenset({429, 502, 503, 504})
"""The API server, or what stands before it, could not take the request."""

METADATA_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


class Cluster:
    """A Kubernetes cluster. Safe to use from several threads.

    Reads and writes that may be repeated are, with growing pauses, when the API server is overloaded or the connection breaks; a create
    is only when it certainly did not arrive. Every method raises ClusterError, or one of its kinds, with a finished sentence.
    """

    def __init__(
        self,
        api_client: Any,
        *,
        retry_seconds: float = RETRY_SECONDS,
        timeout: tuple[float, float] = (CONNECT_SECONDS, ANSWER_SECONDS),
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.api_client = api_client
        self._http = DynamicClient(api_client, discoverer=discovering_nothing)
        self._retry_seconds = retry_seconds
        self._timeout = timeout
        self._clock = clock
        self._sleep = sleep
        self._has_answered = False

    @classmethod
    def from_params(cls, params: Mapping[str, Any]) -> Cluster:
        """The cluster that kubernetes.core's connection options and environment point at."""
        return cls(connect(params))

    @property
    def host(self) -> str:
        """The URL of the API server."""
        return str(self.api_client.configuration.host)

    def get(self, path: str) -> Object | None:
        """One object, None when it does not exist."""
        try:
            return self._request("GET", path)
        except Missing:
            return None

    def list(
        self,
        path: str,
        *,
        metadata_only: bool = False,
        label_selector: str = "",
        field_selector: str = "",
        trim: Callable[[Object], Object] | None = None,
    ) -> Objects:
        """All objects at a path, with kind and apiVersion filled in; trim is applied page by page, to keep memory small.

        A list that expires under way (410) starts over, the third time in one piece.

        Raises:
            Missing: the API server has no such kind.
        """
        query = {"labelSelector": label_selector, "fieldSelector": field_selector}
        for page in (PAGE, PAGE, 0):
            try:
                return self._pages(path, {**query, "limit": page}, metadata_only=metadata_only, trim=trim)
            except ClusterError as error:
                if error.status != 410 or not page:
                    raise
        raise ValueError("unreachable: the last round returns or raises")

    def create(self, path: str, body: Object, *, dry_run: bool = False) -> Object:
        """Create an object in the collection at a path.

        Raises:
            Conflict: it exists already.
        """
        return self._request("POST", path, body=body, query=_write(dry_run))

    def replace(self, path: str, body: Object, *, dry_run: bool = False) -> Object:
        """Put an object in place of the one at a path; with metadata.resourceVersion only if that is still the one read.

        Raises:
            Conflict: somebody changed it meanwhile.
            Missing: it does not exist.
        """
        return self._request("PUT", path, body=body, query=_write(dry_run))

    def merge_patch(self, path: str, body: Object, *, dry_run: bool = False) -> Object:
        """Change fields of the object at a path, null removes one (RFC 7386); metadata.resourceVersion in it works as in replace.

        Raises:
            Conflict: somebody changed it meanwhile.
            Missing: it does not exist.
        """
        return self._request("PATCH", path, body=body, query=_write(dry_run), content_type="application/merge-patch+json")

    def apply(self, path: str, body: Object, *, field_manager: str = FIELD_MANAGER, force: bool = False, dry_run: bool = False) -> Object:
        """Server-side apply: the object at a path has these fields, and others are left alone.

        Raises:
            Conflict: another manager owns a field, and force is false.
        """
        query = {**_write(dry_run), "fieldManager": field_manager, "force": str(force).lower()}
        return self._request("PATCH", path, body=body, query=query, content_type="application/apply-patch+yaml")

    def delete(
        self, path: str, *, uid: str = "", resource_version: str = "", propagation: str = "Background", dry_run: bool = False
    ) -> bool:
        """Delete the object at a path, only this very one when uid or resource_version is given. False when it did not exist.

        Raises:
            Conflict: it is not the one of this uid or resource_version any more.
        """
        preconditions = {key: value for key, value in (("uid", uid), ("resourceVersion", resource_version)) if value}
        body: Object = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation}
        if preconditions:
            body["preconditions"] = preconditions
        if dry_run:
            body["dryRun"] = ["All"]
        try:
            self._request("DELETE", path, body=body)
        except Missing:
            return False
        return True

    def _pages(self, path: str, query: Mapping[str, Any], *, metadata_only: bool, trim: Callable[[Object], Object] | None) -> Objects:
        resource = resource_at(path)
        found: Objects = []
        token = ""
        while True:
            answer = self._request("GET", path, query={**query, "continue": token}, accept=METADATA_ONLY if metadata_only else "")
            kind = resource.kind if resource else str(answer.get("kind", "")).removesuffix("List")
            version = resource.api_version if resource else answer.get("apiVersion")
            for item in answer.get("items") or ():
                item.update(apiVersion=version, kind=kind)  # the API server leaves both out of the items of a list
                found.append(trim(item) if trim else item)
            token = (answer.get("metadata") or {}).get("continue") or ""
            if not token:
                return found
            del answer  # before the next page comes to lie beside it

    def _request(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        query: Mapping[str, Any] | None = None,
        content_type: str = "application/json",
        accept: str = "",
    ) -> Object:
        """One request, repeated as its method allows until it succeeds, its error is final or the time is over."""
        start = self._clock()
        pause = 0.25
        while True:
            try:
                return self._once(method, path, body=body, query=query or {}, content_type=content_type, accept=accept)
            except _FailedAttemptError as failed:
                self._has_answered |= failed.error.status is not None
                patience = self._retry_seconds if self._has_answered else min(self._retry_seconds, FIRST_CONTACT_SECONDS)
                wait = max(pause, failed.retry_after)
                if not failed.may_repeat or self._clock() + wait > start + patience:
                    raise failed.error from failed.__cause__
            self._sleep(wait)
            pause = min(pause * 2, 5.0)

    def _once(self, method: str, path: str, *, body: Any, query: Mapping[str, Any], content_type: str, accept: str) -> Object:
        try:
            response = self._http.request(
                method,
                path,
                body=body,
                query_params=[(name, value) for name, value in query.items() if value],
                header_params={"Accept": accept or "application/json"},
                content_type=content_type,
                serialize=False,
                _request_timeout=self._timeout,
            )
            answer = json.loads(response.data or b"{}")
            self._has_answered = True
            return answer
        except DynamicApiError as error:
            may_repeat = _may_repeat(method, error.status)
            raise _FailedAttemptError(self._error(method, path, error), may_repeat, _retry_after(error.headers)) from error
        except ApiException as error:  # TLS, and what the client itself finds wrong
            raise _FailedAttemptError(self._error(method, path, error), may_repeat=False) from error
        except HTTPError as error:
            may_repeat = method != "POST" or isinstance(error, NewConnectionError)
            raise _FailedAttemptError(unanswered(method, path, self.host, error), may_repeat) from error
        except ValueError as error:  # an answer that is not JSON
            raise _FailedAttemptError(unanswered(method, path, self.host, error), may_repeat=False) from error

    def _error(self, method: str, path: str, error: Any) -> ClusterError:
        if not error.status:
            return unanswered(method, path, self.host, error)
        return refused(method, path, int(error.status), error.body, error.reason)


class _FailedAttemptError(Exception):
    """One attempt of a request that failed."""

    def __init__(self, error: ClusterError, may_repeat: bool, retry_after: float = 0.0) -> None:
        super().__init__(str(error))
        self.error = error
        self.may_repeat = may_repeat
        self.retry_after = retry_after


def _write(dry_run: bool) -> dict[str, str]:
    return {"fieldManager": FIELD_MANAGER, "dryRun": "All" if dry_run else ""}


def _may_repeat(method: str, status: int | None) -> bool:
    """A 500 to a write may be somebody's webhook, which a repetition does not cure; a create may have arrived unless it says 429."""
    if method == "POST":
        return status == 429
    return status in OVERLOADED or (method == "GET" and status == 500)


def _retry_after(headers: Any) -> float:
    """Seconds the API server asks for; it never gives a date."""
    value = (headers or {}).get("Retry-After") or "0"
    return float(value) if str(value).isdigit() else 0.0
