# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.meshops.istio.plugins.module_utils.mesh.json_patch import patched

KEYS = st.sampled_from(["a", "b", "c/d", "e~f"])
DOCUMENTS = st.recursive(
    st.none() | st.integers(0, 3), lambda parts: st.lists(parts, max_size=3) | st.dictionaries(KEYS, parts, max_size=3), max_leaves=8
)


def operations(old: Any, new: Any, path: str = "") -> list[dict[str, Any]]:
    """A patch from one document to another: by key where both are objects, at the end where both are lists, else as a whole."""
    if isinstance(old, dict) and isinstance(new, dict):
        found = [{"op": "remove", "path": f"{path}/{escaped(key)}"} for key in old.keys() - new.keys()]
        found += [{"op": "add", "path": f"{path}/{escaped(key)}", "value": new[key]} for key in new.keys() - old.keys()]
        return found + [part for key in old.keys() & new.keys() for part in operations(old[key], new[key], f"{path}/{escaped(key)}")]
    if isinstance(old, list) and isinstance(new, list):
        common = min(len(old), len(new))
        found = [part for position in range(common) for part in operations(old[position], new[position], f"{path}/{position}")]
        found += [{"op": "remove", "path": f"{path}/{position}"} for position in reversed(range(common, len(old)))]
        return found + [{"op": "add", "path": f"{path}/{position}", "value": new[position]} for position in range(common, len(new))]
    return [] if old == new else [{"op": "replace", "path": path, "value": new}]


def escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


@given(DOCUMENTS, DOCUMENTS)
def test_a_patch_leads_from_one_document_to_the_other(old: Any, new: Any) -> None:
    before = repr(old)

    assert patched(old, operations(old, new)) == new
    assert repr(old) == before, "the given document stays as it is"


def test_adding_in_a_list_moves_the_rest() -> None:
    assert patched({"a": [1, 2]}, [{"op": "add", "path": "/a/0", "value": 0}, {"op": "add", "path": "/a/-", "value": 3}]) == {
        "a": [0, 1, 2, 3]
    }


@pytest.mark.parametrize(
    ("operation", "why"),
    [
        ({"op": "move", "from": "/a", "path": "/b"}, 'the patch operation "move" is unknown'),
        ({"op": "add", "path": "/x/y", "value": 1}, 'the patch "add /x/y" does not fit'),
        ({"op": "remove", "path": "/x"}, 'the patch "remove /x" does not fit'),
        ({"op": "replace", "path": "/a/1", "value": 1}, 'the patch "replace /a/1" does not fit'),
        ({"op": "add", "path": "/a/2", "value": 1}, 'the patch "add /a/2" does not fit'),
        ({"path": "/a"}, 'the patch "None /a" does not fit'),
    ],
)
def test_what_does_not_fit_is_an_error(operation: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        patched({"a": [1]}, [operation])
