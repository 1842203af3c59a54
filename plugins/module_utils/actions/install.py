# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Running istioctl: rendering a revision, and installing it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Callable

from ..cluster.client import Cluster, Objects
from ..cluster.kubeconfig import kubeconfig_file, private_file
from ..mesh.refusal import Refusal
from ..mesh.yaml_text import load_all

RunCommand = Callable[..., "tuple[int, str, str]"]


@dataclass(frozen=True)
class Istioctl:
    """An istioctl of one version, with the specification of one revision.

    Attributes:
        run: AnsibleModule.run_command.
        binary: path or name of the program.
        revision: what it installs.
        spec: the spec of an IstioOperator.
    """

    run: RunCommand
    cluster: Cluster
    binary: str
    revision: str
    spec: Mapping[str, Any]
    istio_namespace: str

    def render(self) -> Objects:
        """The manifests of the revision; asks the cluster nothing.

        Raises:
            Refusal: istioctl cannot be run, or finds the specification wrong.
        """
        with self._operator_file() as operator:
            output = self._call(["manifest", "generate", "--filename", operator, "--revision", self.revision])
        return load_all(output)

    def install(self, wait_timeout: float) -> None:
        """Install the revision and wait for its pods.

        Raises:
            Refusal: the install failed, with what istioctl says.
        """
        with self._operator_file() as operator, kubeconfig_file(self.cluster.api_client) as kubeconfig:
            arguments = ["install", "--filename", operator, "--revision", self.revision, "--skip-confirmation"]
            self._call([*arguments, "--kubeconfig", kubeconfig, "--readiness-timeout", f"{int(wait_timeout)}s"])

    def _call(self, arguments: Sequence[str]) -> str:
        try:
            code, output, errors = self.run([self.binary, *arguments], handle_exceptions=False)
        except OSError as error:
            raise Refusal(
                f'istioctl cannot be run: "{self.binary}": {error.strerror or error}. Name one of the version to install (option istioctl).'
            ) from error
        if code:
            said = " ".join((errors or output).split())[-1500:]
            raise Refusal(f'istioctl {arguments[0]} of revision "{self.revision}" failed: {said}')
        return output

    @contextmanager
    def _operator_file(self) -> Iterator[str]:
        operator = {"apiVersion": "install.istio.io/v1alpha1", "kind": "IstioOperator", "metadata": {"namespace": self.istio_namespace}}
        with private_file({**operator, "spec": dict(self.spec)}) as path:
            yield path
