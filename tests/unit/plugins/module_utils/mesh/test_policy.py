# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What istiod decides by itself, against the order of its own checks (pkg/kube/inject/inject.go, injectRequired)."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from mesh_objects import INJECT

from ansible_collections.meshops.istio.plugins.module_utils.mesh.pod_template import PodTemplate
from ansible_collections.meshops.istio.plugins.module_utils.mesh.policy import doubt, parse_policy, why_declined, why_refused

NEVER, ALWAYS = {"matchLabels": {"app": "never"}}, {"matchExpressions": [{"key": "app", "operator": "In", "values": ["always"]}]}


def policy_of(**settings: Any) -> Any:
    return parse_policy(yaml.safe_dump({"policy": "enabled", "templates": {"sidecar": "", "gateway": ""}, **settings}))


def as_istiod(version: int, settings: dict[str, Any], namespace: str, pod: PodTemplate) -> bool:
    """istiod's checks, one by one in its own order."""
    if pod.host_network or namespace in ("kube-system", "kube-public", "kube-node-lease", "local-path-storage"):
        return False
    word = pod.labels[INJECT] if INJECT in pod.labels else pod.annotations.get(INJECT, "")
    if version >= 28:
        decided = {"true": True, "false": False}.get(word)
    else:
        decided = None if word == "" else word in ("y", "yes", "true", "on")
    if decided is None and pod.labels.get("app") == "never" and settings["neverInjectSelector"]:
        decided = False
    if decided is None and pod.labels.get("app") == "always" and settings["alwaysInjectSelector"]:
        decided = True
    if settings["policy"] not in ("enabled", "disabled"):
        return False
    return settings["policy"] == "enabled" if decided is None else decided


WORDS = st.sampled_from(["", "true", "false", "yes", "y", "on", "no", "True"])
SETTINGS = st.fixed_dictionaries(
    {
        "policy": st.sampled_from(["enabled", "disabled"]),
        "neverInjectSelector": st.sampled_from([[], [NEVER], [{"matchLabels": {"app": "x"}}, NEVER]]),
        "alwaysInjectSelector": st.sampled_from([[], [ALWAYS]]),
    }
)
TEMPLATES = st.builds(
    PodTemplate,
    labels=st.fixed_dictionaries({}, optional={"app": st.sampled_from(["never", "always", "web"]), INJECT: WORDS}),
    annotations=st.fixed_dictionaries({}, optional={INJECT: WORDS}),
    host_network=st.sampled_from([False, False, False, True]),
)


@given(st.sampled_from([24, 28, 31]), SETTINGS, st.sampled_from(["shop", "shop", "kube-public", "kube-system"]), TEMPLATES)
def test_istiod_says_yes_and_no_in_its_own_order(version: int, settings: dict[str, Any], namespace: str, pod: PodTemplate) -> None:
    declined = why_declined(namespace, pod, policy_of(**settings), f"1.{version}.2")

    assert (not declined) is as_istiod(version, settings, namespace, pod)


@given(SETTINGS, TEMPLATES)
def test_never_wins_over_always_and_the_word_of_the_pod_over_both(settings: dict[str, Any], pod: PodTemplate) -> None:
    policy = policy_of(**{**settings, "neverInjectSelector": [NEVER], "alwaysInjectSelector": [NEVER, ALWAYS]})
    pod = PodTemplate({**pod.labels, "app": "never"}, pod.annotations)
    word = pod.labels.get(INJECT, pod.annotations.get(INJECT, ""))

    assert (not why_declined("shop", pod, policy, "1.31.0")) is (word == "true")


@pytest.mark.parametrize(
    ("namespace", "pod", "settings", "why"),
    [
        ("shop", PodTemplate(host_network=True), {}, "the pod uses the network of its node (hostNetwork)"),
        ("kube-public", PodTemplate({INJECT: "true"}), {}, 'it ignores namespace "kube-public"'),
        ("shop", PodTemplate(annotations={INJECT: "false"}), {}, "the pod annotation sidecar.istio.io/inject=false says no"),
        ("shop", PodTemplate({INJECT: "true"}, {INJECT: "false"}), {}, ""),
        ("shop", PodTemplate({INJECT: "perhaps"}, {INJECT: "false"}), {}, ""),
        ("shop", PodTemplate({"app": "never"}), {"neverInjectSelector": [NEVER]}, "its neverInjectSelector matches the labels of the pod"),
        ("shop", PodTemplate(), {"policy": "disabled"}, 'its injection policy is not "enabled", and the pod does not ask for injection'),
        ("shop", PodTemplate({INJECT: "true"}), {"policy": "disabled"}, ""),
        ("shop", PodTemplate({"app": "always"}), {"policy": "disabled", "alwaysInjectSelector": [ALWAYS]}, ""),
    ],
)
def test_istiod_leaves_a_pod_alone_for_a_reason(namespace: str, pod: PodTemplate, settings: dict[str, Any], why: str) -> None:
    assert why_declined(namespace, pod, policy_of(**settings), "1.31.0") == why


@pytest.mark.parametrize(
    "selector",
    [
        {},  # matches nothing, unlike everywhere else in Kubernetes
        {"matchLabels": None},
        {"matchExpressions": [{"key": "app", "operator": "In"}]},
        {"matchExpressions": [{"key": "app", "operator": "Exists", "values": ["web"]}]},
        {"matchExpressions": [{"key": "app", "operator": "Gt", "values": ["1"]}]},
    ],
)
def test_a_selector_that_is_empty_or_invalid_counts_for_nothing(selector: dict[str, Any]) -> None:
    assert why_declined("shop", PodTemplate({"app": "web"}), policy_of(neverInjectSelector=[selector]), None) == ""


def test_values_without_quotes_are_strings_to_istiod() -> None:
    policy = parse_policy("policy: enabled\nneverInjectSelector: [{matchLabels: {canary: true}}, {matchLabels: {shard: 7}}]")

    assert why_declined("shop", PodTemplate({"canary": "true"}), policy, None)
    assert why_declined("shop", PodTemplate({"shard": "7"}), policy, None)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "policy: [", "neverInjectSelector: 5", "neverInjectSelector: [5]", "alwaysInjectSelector: [{matchExpressions: [{}]}]"],
)
def test_a_configuration_that_cannot_be_read_is_unknown_not_empty(text: str) -> None:
    assert parse_policy(text) is None


@pytest.mark.parametrize(
    ("version", "word", "doubtful"),
    [("1.24.2", "yes", False), ("1.26.1", "yes", True), ("1.26.1", "true", False), ("1.28.0", "yes", False), (None, "yes", False)],
)
def test_a_word_whose_meaning_depends_on_an_unread_version_is_a_doubt(version: str | None, word: str, doubtful: bool) -> None:
    assert bool(doubt(PodTemplate(annotations={INJECT: word}), version)) is doubtful


@pytest.mark.parametrize(
    ("annotations", "why"),
    [
        ({"inject.istio.io/templates": "sidecar, gateway"}, ""),
        ({"inject.istio.io/templates": "proxy"}, ""),
        (
            {"inject.istio.io/templates": "sidecar,mine"},
            'the pod annotation inject.istio.io/templates names "mine", a template that it does not have',
        ),
        ({"readiness.status.sidecar.istio.io/periodSeconds": "10"}, ""),
        (
            {"readiness.status.sidecar.istio.io/periodSeconds": "10s"},
            "the pod annotation readiness.status.sidecar.istio.io/periodSeconds=10s is invalid",
        ),
        (
            {"readiness.status.sidecar.istio.io/failureThreshold": str(2**32)},
            "the pod annotation readiness.status.sidecar.istio.io/failureThreshold=4294967296 is invalid",
        ),
        ({"prometheus.istio.io/merge-metrics": "True"}, ""),
        ({"prometheus.istio.io/merge-metrics": "yes"}, "the pod annotation prometheus.istio.io/merge-metrics=yes is invalid"),
        ({"sidecar.istio.io/interceptionMode": "TPROXY"}, ""),
        ({"sidecar.istio.io/interceptionMode": "tproxy"}, "the pod annotation sidecar.istio.io/interceptionMode=tproxy is invalid"),
    ],
)
def test_istiod_refuses_what_it_checks_before_it_injects(annotations: dict[str, str], why: str) -> None:
    assert why_refused(PodTemplate(annotations=annotations), policy_of(aliases={"proxy": ["sidecar"]})) == why
