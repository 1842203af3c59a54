# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The API client, with exactly the options, environment and precedence of kubernetes.core.

get_api_client of kubernetes.core asks the server what it can do as soon as it is called, without a time-out and without a retry, and
keeps the answer in a file in the shared temporary directory. The steps it is made of do everything else, so they are used one by one.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from typing import Any

from .errors import ClusterError

IMPORT_ERRORS: dict[str, str] = {}
"""Library → why it cannot be used, mostly the traceback of its import; empty when everything is there."""

try:
    import kubernetes
    import kubernetes.dynamic
    import yaml
except ImportError:
    IMPORT_ERRORS["kubernetes"] = traceback.format_exc()
else:
    if kubernetes.__version__ == "36.0.0":
        IMPORT_ERRORS["kubernetes"] = "kubernetes 36.0.0 sends no bearer token (kubernetes-client/python#2582)"

try:
    from ansible_collections.kubernetes.core.plugins.module_utils.args_common import AUTH_ARG_SPEC
    from ansible_collections.kubernetes.core.plugins.module_utils.k8s.client import (
        _create_auth_spec,
        _create_configuration,
        _create_headers,
        _set_header,
    )
except ImportError:
    IMPORT_ERRORS["kubernetes.core"] = traceback.format_exc()
    AUTH_ARG_SPEC = {}


def auth_options() -> dict[str, Any]:
    """The connection options of kubernetes.core, empty when that collection is missing (mesh_module then says so)."""
    return {name: dict(option) for name, option in AUTH_ARG_SPEC.items()}


def connect(params: Mapping[str, Any]) -> Any:
    """A kubernetes.client.ApiClient from module parameters; sends nothing.

    Raises:
        ClusterError: the options, the environment and the kubeconfig do not make a connection.
    """
    given: dict[str, Any] = {name: params[name] for name in AUTH_ARG_SPEC if params.get(name) is not None}
    try:
        configuration = _create_configuration(_create_auth_spec(None, **given))
        # Cluster retries by itself, with a deadline; urllib3 would do so first, at once and several times.
        configuration.retries = False
        client = kubernetes.client.ApiClient(configuration)
        for name, value in _create_headers(None, **given).items():
            _set_header(client, name, value)
    except (kubernetes.config.ConfigException, yaml.YAMLError, OSError, ValueError, KeyError, TypeError) as error:
        raise ClusterError(f"cannot connect to a cluster: {_what(error)}. {_remedy(given)}", reason="Configuration") from error
    return client


def discovering_nothing(_client: Any, _cache_file: str | None) -> None:
    """A discoverer for kubernetes.dynamic.DynamicClient: paths are known."""


def _what(error: Exception) -> str:
    """The error in words; never the content of a kubeconfig, which parsers like to quote."""
    if isinstance(error, kubernetes.config.ConfigException):
        return str(error).rstrip(".")
    if isinstance(error, OSError):
        return f"{error.strerror or type(error).__name__}" + (f" ({error.filename})" if error.filename else "")
    return f"the kubeconfig cannot be read ({type(error).__name__})"


def _remedy(given: Mapping[str, Any]) -> str:
    used = ", ".join(sorted(given)) or "no option; K8S_AUTH_* variables, the cluster the module runs in, then the default kubeconfig"
    return f"Looked at: {used}. Set kubeconfig and context, or host and api_key."
