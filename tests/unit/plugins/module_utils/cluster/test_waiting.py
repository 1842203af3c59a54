# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from fake_api import Clock

from ansible_collections.meshops.istio.plugins.module_utils.cluster.waiting import poll


def look(clock: Clock, looks: list[float]) -> int:
    looks.append(clock.now)
    return len(looks)


def test_the_first_look_that_satisfies_is_returned(clock: Clock) -> None:
    looks: list[float] = []
    seen = poll(lambda: look(clock, looks), lambda count: count == 3, timeout=60, pause=1, clock=clock, sleep=clock.sleep)

    assert seen == 3
    assert looks == [0, 1, 2.5]


def test_the_last_look_is_at_the_deadline(clock: Clock) -> None:
    looks: list[float] = []
    seen = poll(lambda: look(clock, looks), lambda _count: False, timeout=4, pause=1, clock=clock, sleep=clock.sleep)

    assert looks == [0, 1, 2.5, 4]
    assert seen == 4


def test_no_time_is_one_look(clock: Clock) -> None:
    assert poll(lambda: "state", lambda _state: False, timeout=0, clock=clock, sleep=clock.sleep) == "state"
    assert clock.slept == []


def test_pauses_grow_to_a_limit(clock: Clock) -> None:
    poll(lambda: None, lambda _none: False, timeout=60, pause=4, longest_pause=8, clock=clock, sleep=clock.sleep)

    assert clock.slept[:4] == [4, 6, 8, 8]
