# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from ansible_collections.meshops.istio.plugins.module_utils.mesh.quantities import amount, requests_of


@pytest.mark.parametrize(
    ("quantity", "number"),
    [
        ("250m", "0.25"),
        ("2", "2"),
        (2, "2"),
        ("1Gi", str(2**30)),
        ("1G", "1000000000"),
        ("1.5", "1.5"),
        ("1e3", "1000"),
        ("128974848000m", "128974848"),
        ("100n", "1e-7"),
        ("odd", "0"),
        ("5x", "0"),
        (None, "0"),
    ],
)
def test_a_quantity_is_the_number_that_kubernetes_reads(quantity: Any, number: str) -> None:
    assert amount(quantity) == Decimal(number)


def asks(cpu: str, **more: str) -> dict[str, Any]:
    return {"resources": {"requests": {"cpu": cpu}}, **more}


@pytest.mark.parametrize(
    ("spec", "cpu"),
    [
        ({"containers": [asks("100m"), asks("200m")]}, "0.3"),
        ({"containers": [asks("100m")], "initContainers": [asks("1"), asks("500m")]}, "1"),
        ({"containers": [asks("100m")], "initContainers": [asks("50m", restartPolicy="Always"), asks("10m")]}, "0.15"),
    ],
)
def test_a_pod_asks_for_its_containers_or_for_its_largest_init_container(spec: dict[str, Any], cpu: str) -> None:
    assert requests_of(spec) == {"cpu": Decimal(cpu)}


def test_a_pod_that_asks_for_nothing() -> None:
    assert requests_of({"containers": [{}]}) == {}
