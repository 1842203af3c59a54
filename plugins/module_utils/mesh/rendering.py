# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""How to ask the istiod of a revision what it makes of a pod, with the words of the API server, and how to read the answer."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .injectors import is_injecting_entry
from .json_patch import patched
from .names import REVISION_LABEL, TAG_LABEL
from .refusal import Refusal
from .revisions import labels_of
from .snapshot import Mesh

Object = Mapping[str, Any]

WEBHOOK_PORT = 15017
"""Where istiod listens for the API server, unless its Service says otherwise."""


@dataclass(frozen=True)
class Endpoint:
    """Where the istiod of a revision answers for its injector, and what proves that it is the one."""

    revision: str
    namespace: str
    port: int
    path: str
    server_name: str
    ca_bundle: str


def endpoint_of(mesh: Mesh, revision: str) -> Endpoint:
    """The endpoint that the revision's own injector calls.

    Raises:
        Refusal: the revision has no injector in this cluster, or one without a certificate.
    """
    for configuration in mesh.raw["mutating"]:
        labels = labels_of(configuration)
        for entry in configuration.get("webhooks") or ():
            if labels.get(REVISION_LABEL) == revision and TAG_LABEL not in labels and is_injecting_entry(entry):
                return _endpoint(mesh, revision, entry["clientConfig"])
    raise Refusal(f'revision "{revision}" cannot be asked what it would make of a pod: it has no injector. See mesh_info.')


def _endpoint(mesh: Mesh, revision: str, client: Object) -> Endpoint:
    service = client.get("service")
    if not service:
        raise Refusal(f'revision "{revision}" cannot be asked what it would make of a pod: its istiod is outside this cluster. Ask there.')
    try:
        authority = base64.b64decode(client.get("caBundle") or "", validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        authority = ""
    if not authority:
        raise Refusal(f'revision "{revision}" cannot be asked yet: its injector has no caBundle. Wait until it is ready (istio_revision).')
    return Endpoint(
        revision=revision,
        namespace=service["namespace"],
        port=_target_port(mesh, service),
        path=service.get("path") or "/",
        server_name=f"{service['name']}.{service['namespace']}.svc",
        ca_bundle=authority,
    )


def _target_port(mesh: Mesh, called: Object) -> int:
    """The port of the pod behind the port of the Service."""
    for service in mesh.raw["services"]:
        if (service["metadata"]["namespace"], service["metadata"]["name"]) == (called["namespace"], called["name"]):
            for port in service["spec"].get("ports") or ():
                if port.get("port") == called.get("port", 443) and isinstance(port.get("targetPort"), int):
                    return int(port["targetPort"])
    return WEBHOOK_PORT


def pod_from(template: Object, namespace: str, name: str) -> dict[str, Any]:
    """A pod as a controller makes it of its template."""
    metadata = template.get("metadata") or {}
    kept = {key: metadata[key] for key in ("labels", "annotations") if metadata.get(key)}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**kept, "generateName": f"{name}-", "namespace": namespace},
        "spec": {"containers": [{"name": "app", "image": "app"}], **(template.get("spec") or {})},
    }


def review_of(pod: Object) -> dict[str, Any]:
    """The question of the API server about a pod (admission.k8s.io/v1), marked as one without consequences."""
    kind = {"group": "", "version": "v1", "kind": "Pod"}
    resource = {"group": "", "version": "v1", "resource": "pods"}
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "00000000-0000-0000-0000-000000000000",
            "kind": kind,
            "resource": resource,
            "requestKind": kind,
            "requestResource": resource,
            "namespace": pod["metadata"]["namespace"],
            "operation": "CREATE",
            "userInfo": {},
            "object": pod,
            "dryRun": True,
        },
    }


def pod_after(pod: Object, answer: Object) -> Object:
    """The pod as the answer to its review makes it.

    Raises:
        ValueError: istiod refuses the pod, or what it answers is none.
    """
    response = answer.get("response")
    if not isinstance(response, Mapping):
        raise ValueError("its answer is no admission review")
    if not response.get("allowed"):
        raise ValueError(str((response.get("status") or {}).get("message") or "it refuses the pod"))
    patch = response.get("patch")
    result: Object = patched(pod, json.loads(base64.b64decode(patch))) if patch else pod
    return result
