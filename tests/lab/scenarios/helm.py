# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Installing Istio with Helm, with the charts that the lab's istioctls bring: the other way users take."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from kubectl import LAB, must

sys.path.insert(0, str(LAB.parent))
from meshlab.components import ISTIO_NEW, ISTIO_OLD

OPERATOR = LAB.parent / "meshlab" / "operator.yaml"
VERSIONS = {"old": ISTIO_OLD, "new": ISTIO_NEW}
HUB = "registry.istio.io/testing"
BASE = "istio-base"


def chart(version: str, name: str) -> Path:
    """The directory of a chart of the old or the new Istio, such as "base" or "istio-control/istio-discovery"."""
    return Path(os.environ["MESHLAB_RUN"]) / "share" / f"charts-{VERSIONS[version]}" / name


def values(version: str, revision: str = "", tags: Sequence[str] = ()) -> dict[str, Any]:
    """The values of the istiod chart that say what operator.yaml says to istioctl."""
    spec = yaml.safe_load(OPERATOR.read_text())["spec"]
    given = {key: value for key, value in spec["values"].items() if key != "pilot"}
    named = {**given["global"], "hub": HUB, "tag": VERSIONS[version]}
    return {
        **given,
        **spec["values"]["pilot"],
        "meshConfig": spec["meshConfig"],
        "global": named,
        "revision": revision,
        "revisionTags": [*tags],
    }


def release(name: str, path: Path, given: Mapping[str, Any], namespace: str) -> None:
    """Install or upgrade a release, and wait until it is ready."""
    must(
        "helm",
        "upgrade",
        "--install",
        name,
        path,
        f"--namespace={namespace}",
        "--create-namespace",
        "--wait",
        "--values=-",
        text=json.dumps(given),
    )


def istiod(namespace: str, version: str, revision: str = "", tags: Sequence[str] = ()) -> None:
    """A control plane in a release ``istiod-<revision>``, or ``istiod`` without a revision."""
    name = f"istiod-{revision}" if revision else "istiod"
    release(name, chart(version, "istio-control/istio-discovery"), values(version, revision, tags), namespace)


def base(namespace: str, version: str, default_revision: str = "default") -> None:
    """The CRDs and the default validator; "default" is the chart's own value, "" leaves the validator out."""
    release(BASE, chart(version, "base"), {"defaultRevision": default_revision}, namespace)


def uninstall(name: str, namespace: str) -> None:
    """Uninstall a release, and wait until its pods are gone."""
    must("helm", "uninstall", name, f"--namespace={namespace}", "--wait", "--cascade=foreground")


def releases() -> set[str]:
    """The releases of the cluster."""
    return {found["name"] for found in json.loads(must("helm", "list", "--all-namespaces", "--output=json"))}
