# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json

import pytest

from ansible_collections.meshops.istio.plugins.module_utils.mesh.istioctl_report import (
    JUDGED_BY_US,
    Message,
    analyze_findings,
    messages_of,
    precheck_findings,
)

# As istioctl 1.31 and 1.32 print it, with shorter sentences.
ANALYZE = """[
	{
		"code": "IST0101",
		"documentationUrl": "https://istio.io/v1.32/docs/reference/config/analysis/ist0101/?ref=istioctl-analyze",
		"level": "Error",
		"message": "Referenced gateway not found: \\"nogw\\"",
		"origin": "VirtualService shop/web"
	},
	{
		"code": "IST0132",
		"documentationUrl": "https://istio.io/v1.32/docs/reference/config/analysis/ist0132/?ref=istioctl-analyze",
		"level": "Warning",
		"message": "the host web is not found in Gateway shop/nogw.",
		"origin": "VirtualService shop/web"
	},
	{
		"code": "IST0102",
		"documentationUrl": "https://istio.io/v1.32/docs/reference/config/analysis/ist0102/?ref=istioctl-analyze",
		"level": "Info",
		"message": "The namespace is not enabled for Istio injection.",
		"origin": "Namespace plain"
	}
]"""


def test_every_message_is_read() -> None:
    assert [(message.code, message.level, message.origin) for message in messages_of(ANALYZE)] == [
        ("IST0101", "Error", "VirtualService shop/web"),
        ("IST0132", "Warning", "VirtualService shop/web"),
        ("IST0102", "Info", "Namespace plain"),
    ]


@pytest.mark.parametrize("output", ["", "\n", "[]"])
def test_a_mesh_without_any_message(output: str) -> None:
    assert messages_of(output) == []


@pytest.mark.parametrize("output", ["✔ No issues found", "{}x", '{"code": "IST0101"}', '[{"code": "IST0101"}]', "[1]", "7", "null"])
def test_an_answer_in_another_form_is_not_taken_for_a_healthy_mesh(output: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # json's own or ours
        messages_of(output)


def test_a_mistake_that_both_revisions_read_is_told_once_and_stops_nobody() -> None:
    only_new = Message("IST0106", "Error", "Gateway shop/gw", "it is invalid")

    found = list(analyze_findings({"stable": messages_of(ANALYZE) * 2, "canary": [*messages_of(ANALYZE), only_new]}))

    assert [(finding.severity, finding.object, finding.message) for finding in found] == [
        (
            "warning",
            "VirtualService shop/web",
            'istioctl analyze says IST0101 of what "stable", "canary" reads: Referenced gateway not found: "nogw".',
        ),
        (
            "info",
            "VirtualService shop/web",
            'istioctl analyze says IST0132 of what "stable", "canary" reads: the host web is not found in Gateway shop/nogw.',
        ),
        ("warning", "Gateway shop/gw", 'istioctl analyze says IST0106 of what "canary" reads: it is invalid.'),
    ]
    assert "analysis/ist0101/" in found[0].remedy


def test_an_error_of_precheck_stops_the_upgrade_and_a_warning_does_not() -> None:
    messages = [
        Message("IST0156", "Error", "CustomResourceDefinition gateways", "too old."),
        Message("IST0172", "Warning", "Cluster", "old"),
    ]

    assert [finding.severity for finding in precheck_findings(messages)] == ["error", "warning"]


@pytest.mark.parametrize("code", JUDGED_BY_US)
def test_what_is_judged_by_us_is_not_told_twice(code: str) -> None:
    message = Message(code, "Error", "Namespace shop", "two labels")

    assert not [*precheck_findings([message]), *analyze_findings({"stable": [message]})]


def test_an_origin_that_is_missing_is_the_cluster() -> None:
    entry = {"code": "IST0156", "level": "Error", "message": "too old"}

    assert messages_of(json.dumps([entry]))[0].origin == "Cluster"
