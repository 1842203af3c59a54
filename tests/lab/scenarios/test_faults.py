# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A change happens whole or not at all, whichever of its requests goes wrong, and pods are born all the while."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from faults import Change, Disturbance
from faulty_api import FaultyApi
from kubectl import must
from module_forks import ModuleForks
from world import ISTIOCTL, Mesh


@pytest.fixture(scope="module")
def control_planes(mesh: Mesh) -> None:
    """An install without a revision, and a canary beside it; a namespace on each kind of label."""
    mesh.helm("", version="old", default_revision="")
    mesh.helm("canary", version="new", default_revision="")
    mesh.namespace("legacy", {"istio-injection": "enabled"}, wait=False)
    mesh.namespace("shop", {"istio.io/rev": "prod"}, wait=False)
    mesh.namespace("direct", {"istio.io/rev": "default"}, wait=False)


@pytest.fixture(scope="module")
def api() -> Iterator[FaultyApi]:
    with FaultyApi(late=0.7) as api:
        yield api


@pytest.fixture(scope="module")
def forks() -> Iterator[ModuleForks]:
    with ModuleForks() as forks:
        yield forks


EITHER = {"default", "canary"}
MOVED = Change("istio_tag", {"name": "prod", "revision": "canary", "wait_timeout": 3}, {"shop": EITHER})
FIRST_DEFAULT = Change("istio_tag", {"name": "default", "revision": "canary", "wait_timeout": 3}, {"legacy": EITHER, "direct": EITHER})
REMOVED = Change("istio_tag", {"name": "prod", "state": "absent", "waive": ["namespaces"]}, {"shop": {"default", "nobody"}})
LABELLED = Change(
    "ns_revision_label", {"namespaces": ["legacy", "shop", "direct"], "to": "canary"}, {"legacy": EITHER, "shop": EITHER, "direct": EITHER}
)


SHOWN = 30
"""Problems in the message."""


@pytest.mark.usefixtures("control_planes")
@pytest.mark.parametrize("change", [MOVED, FIRST_DEFAULT, REMOVED, LABELLED], ids=["moved", "first-default", "removed", "labelled"])
def test_whatever_request_goes_wrong_the_change_is_whole_or_undone(
    api: FaultyApi, forks: ModuleForks, change: Change, capsys: pytest.CaptureFixture[str]
) -> None:
    must(ISTIOCTL["canary"], "tag", "set", "prod", "--revision", "default", "--overwrite", "--skip-confirmation")
    disturbance = Disturbance(api, forks, change)
    outcomes = list(disturbance.outcomes())
    with capsys.disabled():
        print(f"\n{len(outcomes)} cases: {len(disturbance.requests)} requests go wrong in turn", end=" ")
    wrong = [f"{outcome.case}: {problem}" for outcome in outcomes for problem in outcome.problems(change)]
    assert not wrong, f"{len(wrong)} of {len(outcomes)}:\n" + "\n".join(wrong[:SHOWN])
