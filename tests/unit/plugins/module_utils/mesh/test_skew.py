# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from ansible_collections.meshops.istio.plugins.module_utils.mesh.skew import skew_findings


@pytest.mark.parametrize(
    ("kubernetes", "before", "after", "codes"),
    [
        ("v1.34.1", "1.30.3", "1.31.0", []),
        ("v1.31.9", "1.30.3", "1.31.0", ["kubernetes-too-old"]),
        ("v1.27.1+k3s1", "1.23.0", "1.24.0", ["kubernetes-too-old"]),
        ("v1.34.1", "1.29.0", "1.31.0", []),
        ("v1.34.1", "1.28.0", "1.31.0", ["istio-jumps"]),
        ("v1.34.1", "1.31.0", "1.30.0", ["istio-downgrade"]),
        ("v1.34.1", "1.31.2", "1.31.0", []),
        ("v1.20.0", "1.30.0", "1.40.0", ["istio-jumps"]),
        ("v1.34.1", None, "1.31.0", []),
        (None, "1.30.0", None, []),
        ("v1.34.1", "1.31.0-dev.20260423", "1.32.0-dev.20260827", []),
        ("v1.34.1", "unknown", "latest", []),
    ],
)
def test_versions_that_do_not_go_together(kubernetes: str | None, before: str | None, after: str | None, codes: list[str]) -> None:
    assert [found.code for found in skew_findings(kubernetes, before, after)] == codes
