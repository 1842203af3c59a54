# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.meshops.istio.plugins.module_utils.mesh.ordering import limited
from ansible_collections.meshops.istio.plugins.module_utils.mesh.refusal import Refusal

NAMES = st.sets(st.text("abcdef", min_size=1, max_size=6), max_size=30)


@given(NAMES, st.integers(0, 100), st.integers(0, 100))
def test_a_larger_limit_takes_all_that_a_smaller_one_took(names: set[str], one: int, other: int) -> None:
    small, large = sorted((one, other))
    for unit in ("", "%"):
        assert set(limited(names, f"{small}{unit}")) <= set(limited(names, f"{large}{unit}"))


@given(NAMES, st.integers(0, 100))
def test_a_share_is_rounded_up_and_a_number_is_one(names: set[str], number: int) -> None:
    assert len(limited(names, f"{number}%")) == -(-len(names) * number // 100)
    assert len(limited(names, str(number))) == min(number, len(names))


@given(NAMES)
def test_which_ones_does_not_depend_on_the_order_in_which_they_are_given(names: set[str]) -> None:
    assert limited(sorted(names), "50%") == limited(sorted(names, reverse=True), "50%")


def test_without_a_limit_all_stay_in_their_own_order() -> None:
    assert limited(["b", "a"], None) == ["b", "a"]


@pytest.mark.parametrize("limit", ["", "some", "-1", "101%", "1.5", "5 %x"])
def test_a_limit_that_is_none_is_refused(limit: str) -> None:
    with pytest.raises(Refusal, match="limit is a number of namespaces"):
        limited(["a"], limit)
