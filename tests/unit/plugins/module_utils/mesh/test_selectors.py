# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.meshops.istio.plugins.module_utils.mesh.selectors import Requirement, Selector

KEYS, VALUES = st.sampled_from(["rev", "tag", "app"]), st.sampled_from(["", "a", "b", "c"])
LABELS = st.dictionaries(KEYS, VALUES)
EXPRESSIONS = st.one_of(
    st.fixed_dictionaries(
        {"key": KEYS, "operator": st.sampled_from(["In", "NotIn"]), "values": st.lists(VALUES, min_size=1, max_size=3, unique=True)}
    ),
    st.fixed_dictionaries({"key": KEYS, "operator": st.sampled_from(["Exists", "DoesNotExist"])}),
)
SELECTORS = st.none() | st.fixed_dictionaries({}, optional={"matchLabels": LABELS, "matchExpressions": st.lists(EXPRESSIONS, max_size=4)})


def naive(selector: dict[str, Any] | None, labels: dict[str, str]) -> bool:
    """The words of the Kubernetes documentation, one by one."""
    if selector is None:
        return True
    for key, value in selector.get("matchLabels", {}).items():
        if key not in labels or labels[key] != value:
            return False
    for expression in selector.get("matchExpressions", []):
        there = expression["key"] in labels
        listed = there and labels[expression["key"]] in expression.get("values", [])
        met = {"In": listed, "NotIn": not listed, "Exists": there, "DoesNotExist": not there}
        if not met[expression["operator"]]:
            return False
    return True


@given(SELECTORS, LABELS)
def test_a_selector_decides_as_kubernetes_documents_it(selector: dict[str, Any] | None, labels: dict[str, str]) -> None:
    assert Selector.parse(selector).matches(labels) is naive(selector, labels)


def test_an_unknown_operator_is_an_error_not_a_match() -> None:
    with pytest.raises(ValueError, match='operator "Gt" on label "rev" is unknown'):
        Requirement("rev", "Gt").matches({"rev": "1"})
