# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ansible_collections.meshops.istio.plugins.doc_fragments import mesh, sample, wait
from ansible_collections.meshops.istio.plugins.module_utils import _argspec
from ansible_collections.meshops.istio.plugins.module_utils._argspec import AUTH, MESH, SAMPLE, ArgumentSpec


def test_two_specs_are_one_with_the_rules_of_both() -> None:
    one = ArgumentSpec({"a": {"type": "str"}}, mutually_exclusive=[("a", "b")], required_if=[("a", "x", ["b"])], required_by={"a": ["b"]})
    other = ArgumentSpec(
        {"b": {"type": "int"}}, mutually_exclusive=[("a", "c")], required_one_of=[("a", "b")], required_together=[("a", "b")]
    )

    assert (one + other).to_kwargs() == {
        "argument_spec": {"a": {"type": "str"}, "b": {"type": "int"}},
        "mutually_exclusive": [["a", "b"], ["a", "c"]],
        "required_together": [["a", "b"]],
        "required_one_of": [["a", "b"]],
        "required_if": [["a", "x", ["b"]]],
        "required_by": {"a": ["b"]},
    }


def test_merging_changes_neither() -> None:
    MESH.merge(SAMPLE)

    assert list(MESH.options) == ["istio_namespace", "cluster_uid"]


def test_rules_reach_ansible() -> None:
    spec = ArgumentSpec({"a": {"type": "str"}, "b": {"type": "str"}}, mutually_exclusive=[("a", "b")]).to_kwargs()
    result = ArgumentSpecValidator(**spec).validate({"a": "1", "b": "2"})

    assert result.error_messages == ["parameters are mutually exclusive: a|b"]


def test_connection_options_are_those_of_kubernetes_core() -> None:
    assert {"kubeconfig", "context", "host", "api_key", "impersonate_user"} <= AUTH.options.keys()


@pytest.mark.parametrize(("spec", "fragment"), [(MESH, mesh), (SAMPLE, sample), (_argspec.wait(60), wait)])
def test_every_shared_option_is_documented(spec: ArgumentSpec, fragment: object) -> None:
    documented = yaml.safe_load(fragment.ModuleDocFragment.DOCUMENTATION)["options"]

    assert documented.keys() == spec.options.keys()
    for name, option in spec.options.items():
        assert documented[name]["type"] == option["type"]
        assert documented[name].get("default", option.get("default")) == option.get("default")
