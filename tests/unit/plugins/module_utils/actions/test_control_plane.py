# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

import pytest
from mesh_objects import World
from revision_options import wanted

from ansible_collections.meshops.istio.plugins.module_utils.actions.revision import refuse_to_take_default
from ansible_collections.meshops.istio.plugins.module_utils.mesh.refusal import Refusal


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"revision": "1.31"}, '"1.31" cannot be a revision'),
        ({"revision": "new", "operator_spec": {"profile": "minimal"}}, "operator_spec contradicts method adopt"),
    ],
)
def test_options_that_cannot_work_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(Refusal, match=message):
        wanted(**options)


def test_istioctl_may_not_take_the_default_from_an_injector_without_a_tag() -> None:
    with pytest.raises(Refusal, match='"default" serves istio-injection=enabled without a default tag'):
        refuse_to_take_default(World("default").mesh(), "canary")
    for world in (World("stable"), World("stable").tag("default", "stable"), World("default").tag("default", "default")):
        refuse_to_take_default(world.mesh(), "canary")
    refuse_to_take_default(World("default").mesh(), "default")
