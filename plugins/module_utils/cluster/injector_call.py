# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Asking the istiod of a revision what it would make of a pod, as the API server does, whatever the labels say and without making one."""

from __future__ import annotations

import http.client
import json
import ssl
from types import TracebackType

from ..mesh.names import ISTIOD_SELECTOR, REVISION_LABEL
from ..mesh.rendering import Endpoint, pod_after, review_of
from .client import Cluster, Object
from .istiods import is_ready
from .paths import PODS
from .port_forward import Forward, NoForward

ANSWER_SECONDS = 15.0


class RenderError(Exception):
    """The istiod does not say what it would make of a pod: a finished sentence."""


class InjectorCall:
    """One connection to the istiod behind an endpoint, over the API server's port-forward.

    Raises:
        RenderError: nobody answers there.
        ClusterError: the pods of the istiod cannot be listed.
    """

    def __init__(self, cluster: Cluster, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        selector = f"{ISTIOD_SELECTOR},{REVISION_LABEL}={endpoint.revision}"
        pod = next((pod for pod in cluster.list(PODS(endpoint.namespace), label_selector=selector) if is_ready(pod)), None)
        if pod is None:
            raise RenderError(f'revision "{endpoint.revision}" cannot be asked: no pod of its istiod in "{endpoint.namespace}" is ready.')
        try:
            self._forward = Forward(cluster, endpoint.namespace, pod["metadata"]["name"], endpoint.port)
        except NoForward as error:
            raise RenderError(str(error)) from error
        self._connection = http.client.HTTPConnection("localhost", endpoint.port)
        try:
            self._forward.socket.settimeout(ANSWER_SECONDS)
            self._connection.sock = _trusting(endpoint.ca_bundle).wrap_socket(self._forward.socket, server_hostname=endpoint.server_name)
        except (OSError, ValueError) as error:
            raise self._failed(error) from error

    def __enter__(self) -> InjectorCall:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def render(self, pod: Object) -> Object:
        """A pod as it would be born; the same when the istiod leaves it alone.

        Raises:
            RenderError: it refuses the pod, or does not answer.
        """
        try:
            headers = {"Content-Type": "application/json"}
            self._connection.request("POST", self._endpoint.path, body=json.dumps(review_of(pod)), headers=headers)
            response = self._connection.getresponse()
            content = response.read()
            if response.status != 200:
                raise ValueError(f"it answered {response.status}")
            return dict(pod_after(pod, json.loads(content)))
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self._failed(error) from error

    def close(self) -> None:
        self._connection.close()
        self._forward.close()

    def _failed(self, error: Exception) -> RenderError:
        return RenderError(
            f'revision "{self._endpoint.revision}" does not say what it would make of the pod: {self._forward.failure(error)}'
        )


def _trusting(authority: str) -> ssl.SSLContext:
    """What the API server trusts when it calls: the caBundle of the webhook alone, and the name of the Service in the certificate.

    Python 3.13 asks for extensions that istiod's own CA does not write, and the API server does not ask for.
    """
    context = ssl.create_default_context(cadata=authority)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context
