# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""A connection to a port of a pod, through the API server."""

from __future__ import annotations

from typing import Any

from .client import Cluster, discovering_nothing
from .errors import chain, refused, unanswered
from .paths import PODS

try:
    from kubernetes.client import ApiClient
    from kubernetes.dynamic import DynamicClient
    from kubernetes.dynamic.exceptions import DynamicApiError
    from kubernetes.stream import portforward
except ImportError:
    pass  # connection.IMPORT_ERRORS has it, and mesh_module says so before a Cluster is made


class NoForward(Exception):
    """The API server does not connect: a finished sentence."""


class Forward:
    """A connection to one port of one pod. Impersonation does not reach it: it happens as the user who connects.

    Raises:
        NoForward: the API server does not make it.
    """

    def __init__(self, cluster: Cluster, namespace: str, pod: str, port: int) -> None:
        path = PODS(namespace, pod, "portforward")
        self._port = port
        try:
            self._forward = portforward(_Request(cluster, port).open, path)
        except DynamicApiError as error:
            raise NoForward(_why_not(cluster, path, error)) from error

    @property
    def socket(self) -> Any:
        """What http.client and ssl can talk through."""
        return self._forward.socket(self._port)

    def failure(self, error: BaseException) -> str:
        """In a few words, why talking through it failed with an error: what the node says, or else the error itself."""
        return str(self._forward.error(self._port) or str(error) or type(error).__name__).strip()

    def close(self) -> None:
        self._forward.close()


class _Request:
    """One request for a port-forward, in the form that kubernetes.stream wants it: a method of something that has an API client.

    The stream replaces a function of that client meanwhile, so it gets a client of its own.
    """

    def __init__(self, cluster: Cluster, port: int) -> None:
        self.api_client = ApiClient(cluster.api_client.configuration)
        self._port = port

    def open(self, path: str, **_options: Any) -> Any:
        client = DynamicClient(self.api_client, discoverer=discovering_nothing)
        return client.request("GET", path, query_params=[("ports", str(self._port))], serialize=False)


def _why_not(cluster: Cluster, path: str, error: BaseException) -> str:
    """The client drops the API server's answer to a refused handshake; the error of its websocket library below still has it."""
    for link in chain(error):
        status = getattr(link, "status_code", None)
        if status:
            return str(refused("GET", path, int(status), getattr(link, "resp_body", None)))
    return str(unanswered("GET", path, cluster.host, error))
