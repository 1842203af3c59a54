# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The connection of a client as a kubeconfig, for programs that take nothing else."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any


def kubeconfig_of(api_client: Any) -> dict[str, Any]:
    """A kubeconfig with one context that connects as the client does. It holds credentials: write it to a private file only."""
    configuration = api_client.configuration
    cluster = {
        "server": configuration.host,
        "certificate-authority": configuration.ssl_ca_cert,
        "insecure-skip-tls-verify": None if configuration.verify_ssl else True,
        "tls-server-name": getattr(configuration, "tls_server_name", None),
        "proxy-url": configuration.proxy,
    }
    if not configuration.verify_ssl:
        cluster["certificate-authority"] = None
    headers = api_client.default_headers
    user = {
        "client-certificate": configuration.cert_file,
        "client-key": configuration.key_file,
        "token": _token(configuration),
        "username": configuration.username,
        "password": configuration.password,
        "as": headers.get("Impersonate-User"),
        "as-groups": [value for name, value in headers.items() if str(name) == "Impersonate-Group"],
    }
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "mesh", "cluster": _present(cluster)}],
        "users": [{"name": "mesh", "user": _present(user)}],
        "contexts": [{"name": "mesh", "context": {"cluster": "mesh", "user": "mesh"}}],
        "current-context": "mesh",
    }


@contextmanager
def kubeconfig_file(api_client: Any) -> Iterator[str]:
    """The path of a kubeconfig of the client's own connection, so that a program cannot reach another cluster; gone afterwards."""
    with private_file(kubeconfig_of(api_client)) as path:
        yield path


@contextmanager
def private_file(content: Mapping[str, Any]) -> Iterator[str]:
    """The path of a JSON file that only this user can read; gone afterwards."""
    handle, path = tempfile.mkstemp(suffix=".json", prefix="meshops-")
    try:
        with os.fdopen(handle, "w") as file:
            json.dump(content, file)
        yield path
    finally:
        os.unlink(path)


def _token(configuration: Any) -> str | None:
    """The bearer token; the client keeps it under one of two names, by version, with or without its prefix."""
    for name in ("BearerToken", "authorization"):
        value = configuration.get_api_key_with_prefix(name)
        if value:
            return str(value).removeprefix("Bearer ").strip()
    return None


def _present(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value}
