# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Versions of Istio, as images and labels tell them."""

from __future__ import annotations

import re

_VERSION = re.compile(r"v?(\d+)\.(\d+)(?:[.-]|$)")
_PLACEHOLDER = (1, 0)
"""Charts and images that were built without a version say 1.0.0."""

Minor = tuple[int, int]


def minor_of(version: str | None) -> Minor | None:
    """Major and minor of a version such as "1.30.3" or "1.31.0-dev.20260423", None when it tells none."""
    match = _VERSION.match(version or "")
    minor = (int(match.group(1)), int(match.group(2))) if match else None
    return None if minor == _PLACEHOLDER else minor


def dotted(minor: Minor) -> str:
    """As people write it: "1.30"."""
    return ".".join(str(part) for part in minor)


def version_of_image(image: str) -> str | None:
    """The tag of an image, None when it has none: "1.30.3-distroless" of "registry:5000/istio/proxyv2:1.30.3-distroless@sha256:…"."""
    tag = image.partition("@")[0].rpartition("/")[2].partition(":")[2]
    return tag or None
