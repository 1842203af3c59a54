# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
from typing import Any

import pytest
from mesh_objects import INJECTION, REV, thing

from ansible_collections.meshops.istio.plugins.module_utils.mesh.managers import Habit, managers_of, tracker_of

TIME = "2026-11-30T20:00:00Z"


def wrote(manager: str, *labels: str, operation: str = "Update") -> dict[str, Any]:
    fields = {"f:metadata": {"f:labels": {".": {}, **{f"f:{label}": {} for label in labels}}}}
    return {"manager": manager, "operation": operation, "time": TIME, "apiVersion": "v1", "fieldsV1": fields}


def namespace(*entries: dict[str, Any], annotations: dict[str, str] | None = None, **labels: str) -> dict[str, Any]:
    found = thing("v1", "Namespace", "shop", labels=labels)
    found["metadata"].update(managedFields=list(entries), annotations=annotations or {})
    return found


def applied(**labels: str) -> dict[str, str]:
    return {"kubectl.kubernetes.io/last-applied-configuration": json.dumps({"metadata": {"labels": labels}})}


@pytest.mark.parametrize(
    ("manager", "operation", "habit", "product"),
    [
        ("argocd-controller", "Apply", Habit.RECONCILES, "Argo CD"),
        ("argocd-controller", "Update", Habit.RECONCILES, "Argo CD"),
        ("argocd-application-controller", "Update", Habit.RECONCILES, "Argo CD"),
        ("kustomize-controller", "Apply", Habit.RECONCILES, "Flux"),
        ("helm-controller", "Update", Habit.RECONCILES, "Flux"),
        ("kubectl-client-side-apply", "Update", Habit.DECLARES, "kubectl-client-side-apply"),
        ("kubectl", "Apply", Habit.DECLARES, "kubectl"),
        ("helm", "Update", Habit.DECLARES, "helm"),
        ("Terraform", "Apply", Habit.DECLARES, "Terraform"),
        ("somebody", "Apply", Habit.DECLARES, "somebody"),
        ("kubectl-label", "Update", Habit.WROTE, "kubectl-label"),
        ("kubectl-edit", "Update", Habit.WROTE, "kubectl-edit"),
        ("kubectl-create", "Update", Habit.WROTE, "kubectl-create"),
        ("somebody", "Update", Habit.WROTE, "somebody"),
    ],
)
def test_only_gitops_controllers_put_a_label_back_by_themselves(manager: str, operation: str, habit: Habit, product: str) -> None:
    (found,) = managers_of(namespace(wrote(manager, REV, operation=operation)))

    assert (found.habit, found.product, found.puts_back) == (habit, product, habit is Habit.RECONCILES)
    assert found.as_result() == {
        "name": manager,
        "operation": operation,
        "time": TIME,
        "labels": [REV],
        "habit": habit.value,
        "puts_back": habit is Habit.RECONCILES,
    }


def test_a_manager_of_other_fields_is_none_of_the_labels_and_we_are_no_other() -> None:
    created = wrote("argocd-controller", "kubernetes.io/metadata.name", "team")
    status = {"manager": "kube-controller-manager", "operation": "Update", "subresource": "status", "fieldsV1": {"f:status": {}}}

    assert not managers_of(namespace(created, status, wrote("meshops.istio", REV)))
    assert not managers_of(thing("v1", "Namespace", "shop"))


def test_everybody_is_listed_with_the_labels_that_are_theirs_and_the_one_that_puts_them_back_first() -> None:
    found = managers_of(namespace(wrote("kubectl-label", REV), wrote("kustomize-controller", INJECTION, operation="Apply")))

    assert [(manager.name, manager.labels) for manager in found] == [("kustomize-controller", (INJECTION,)), ("kubectl-label", (REV,))]


def test_what_was_applied_counts_after_somebody_else_has_taken_the_label_over() -> None:
    by_hand = namespace(wrote("kubectl-label", REV), annotations=applied(**{REV: "stable"}))
    by_argo = namespace(annotations={**applied(**{REV: "stable"}), "argocd.argoproj.io/tracking-id": "apps:/Namespace:shop/shop"})

    assert [(manager.name, manager.operation, manager.habit) for manager in managers_of(by_hand)] == [
        ("kubectl-client-side-apply", "LastApplied", Habit.DECLARES),
        ("kubectl-label", "Update", Habit.WROTE),
    ]
    (argo,) = managers_of(by_argo)
    assert (argo.product, argo.operation, argo.labels, argo.puts_back) == ("Argo CD", "LastApplied", (REV,), True)


def test_what_was_applied_is_not_told_twice() -> None:
    (found,) = managers_of(namespace(wrote("kubectl-client-side-apply", REV), annotations=applied(**{REV: "stable"})))

    assert found.operation == "Update"


def test_a_namespace_that_is_kept_in_git_without_these_labels_is_no_reason_to_warn() -> None:
    (found,) = managers_of(namespace(**{"kustomize.toolkit.fluxcd.io/name": "apps", REV: "stable"}))

    assert (found.product, found.operation, found.labels, found.puts_back) == ("Flux", "Track", (), False)


@pytest.mark.parametrize("text", ["", "not JSON", "[]", "{}", '{"metadata": null}', '{"metadata": {"labels": null}}'])
def test_an_annotation_that_nobody_wrote_by_apply_says_nothing(text: str) -> None:
    assert not managers_of(namespace(annotations={"kubectl.kubernetes.io/last-applied-configuration": text}))


def test_the_label_that_every_chart_sets_is_no_mark_of_argo() -> None:
    assert tracker_of(namespace(**{"app.kubernetes.io/instance": "shop"})) is None
    assert tracker_of(namespace(**{"argocd.argoproj.io/instance": "shop"})) == "argocd"
