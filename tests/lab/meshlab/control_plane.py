# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The processes of the lab: their flags, and how one knows that they are ready."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from meshlab.api import Api
from meshlab.components import KUBERNETES_VERSION
from meshlab.paths import Paths

NODE_NAME = "process-0"
GATEWAY = "10.245.0.1"
"""The lab's own ordinary address: `istioctl proxy-status` needs one that is not loopback."""
POD_GATEWAY = "169.254.1.1"
"""The lab's end of every pod's cable, where pods find the API server."""
POD_CIDR = "10.246.0.0/16"
SERVICE_CIDR = "10.96.0.0/16"


@dataclass(frozen=True)
class Settings:
    """What a user may choose at `up` and `reset`."""

    kubelet_version: str = KUBERNETES_VERSION


@dataclass(frozen=True)
class Component:
    """A process and the question whether it is ready."""

    name: str
    arguments: tuple[str, ...]
    """After the program, which is run/bin/<program>."""
    is_ready: Callable[[Api], bool]
    program: str = ""

    @property
    def executable(self) -> str:
        return self.program or self.name


def stages(paths: Paths, settings: Settings) -> list[list[Component]]:
    """Components in the order they start; those of one stage start together.

    Simulated nodes are one more component of the last stage.
    """
    return [
        [_etcd(paths), _api_server(paths)],
        [_controller_manager(paths), _scheduler(paths), _process_node(paths, settings)],
    ]


def _etcd(paths: Paths) -> Component:
    arguments = (
        f"--data-dir={paths.etcd}",
        "--listen-client-urls=http://127.0.0.1:2379",
        "--advertise-client-urls=http://127.0.0.1:2379",
        "--listen-peer-urls=http://127.0.0.1:2380",
        "--log-level=warn",
        # The lab's data need not survive the machine, only etcd itself.
        "--unsafe-no-fsync",
    )
    # The API server's /readyz includes etcd.
    return Component("etcd", arguments, lambda api: api.is_ok(6443, "/readyz/etcd"))


def _api_server(paths: Paths) -> Component:
    pki = paths.pki
    arguments = (
        "--etcd-servers=http://127.0.0.1:2379",
        f"--cert-dir={pki}",
        "--bind-address=0.0.0.0",
        "--secure-port=6443",
        f"--advertise-address={GATEWAY}",
        f"--client-ca-file={pki}/ca.crt",
        f"--tls-cert-file={pki}/server.crt",
        f"--tls-private-key-file={pki}/server.key",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={pki}/service-account.pub",
        f"--service-account-signing-key-file={pki}/service-account.key",
        f"--service-cluster-ip-range={SERVICE_CIDR}",
        "--authorization-mode=Node,RBAC",
        "--allow-privileged=true",
        f"--kubelet-certificate-authority={pki}/ca.crt",
        f"--kubelet-client-certificate={pki}/kubelet-client.crt",
        f"--kubelet-client-key={pki}/kubelet-client.key",
        "--kubelet-preferred-address-types=InternalIP",
        # Webhooks are called at endpoint addresses: there is no kube-proxy.
        "--enable-aggregator-routing=true",
        # The address of the API server is 169.254.1.1, which no EndpointSlice may hold.
        "--endpoint-reconciler-type=none",
        "--enable-priority-and-fairness=false",
        "--max-requests-inflight=2000",
        "--max-mutating-requests-inflight=1000",
    )
    return Component("kube-apiserver", arguments, lambda api: api.is_ok(6443, "/readyz"))


def _controller_manager(paths: Paths) -> Component:
    kubeconfig = paths.kubeconfig("controller-manager")
    arguments = (
        f"--kubeconfig={kubeconfig}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        f"--service-account-private-key-file={paths.pki}/service-account.key",
        f"--root-ca-file={paths.pki}/ca.crt",
        f"--cert-dir={paths.pki}",
        "--use-service-account-credentials",
        "--leader-elect=false",
        "--allocate-node-cidrs=false",
        # A node that is slow on a busy machine is not gone.
        "--node-monitor-grace-period=3600s",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
        "--concurrent-deployment-syncs=20",
        "--concurrent-replicaset-syncs=20",
    )
    return Component("kube-controller-manager", arguments, _has_default_service_account)


def _has_default_service_account(api: Api) -> bool:
    """Pods can be created from then on: the last thing an empty cluster waits for."""
    return (
        api.is_ok(10257, "/healthz")
        and api.get("/api/v1/namespaces/default/serviceaccounts/default") is not None
        and api.get("/api/v1/namespaces/default/configmaps/kube-root-ca.crt") is not None
    )


def _scheduler(paths: Paths) -> Component:
    kubeconfig = paths.kubeconfig("scheduler")
    arguments = (
        f"--kubeconfig={kubeconfig}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        f"--cert-dir={paths.pki}",
        "--leader-elect=false",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
    )
    return Component("kube-scheduler", arguments, lambda api: api.is_ok(10259, "/healthz"))


def _process_node(paths: Paths, settings: Settings) -> Component:
    arguments = (
        f"--kubeconfig={paths.kubeconfig('node')}",
        f"--node={NODE_NAME}",
        f"--kubelet-version={settings.kubelet_version}",
        f"--bin={paths.bin}",
        f"--share={paths.share}",
        f"--work={paths.pods}",
        f"--cert={paths.pki}/node.crt",
        f"--key={paths.pki}/node.key",
        f"--ca={paths.pki}/ca.crt",
        "--address=127.0.0.1",
        "--port=10260",
        f"--pod-cidr={POD_CIDR}",
        f"--api=https://{POD_GATEWAY}:6443",
    )
    return Component("node", arguments, _node_is_ready, program="meshnode")


def _node_is_ready(api: Api) -> bool:
    node = api.get(f"/api/v1/nodes/{NODE_NAME}") or {}
    conditions = node.get("status", {}).get("conditions", [])
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)


def environment(paths: Paths) -> dict[str, str]:
    """What every component finds in its environment: nothing of the user's."""
    return {
        "PATH": f"{paths.bin}:{os.environ.get('PATH', '/usr/bin:/bin')}",
        "HOME": str(paths.run),
        "MESHLAB_RUN": str(paths.run),
    }
