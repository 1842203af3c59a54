# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the traffic clients counted is summed, also of clients that are gone."""

from __future__ import annotations

import json

from lab_under_test import Lab

from meshlab import traffic
from meshlab.paths import Paths


def test_the_report_sums_all_counters(tmp_path) -> None:
    paths = Paths(tmp_path)
    paths.traffic.mkdir(parents=True)
    (paths.traffic / "a.one.json").write_text(json.dumps({"sent": 10, "failed": 1, "errors": {"503": 1}}))
    (paths.traffic / "a.two.json").write_text(json.dumps({"sent": 5, "failed": 3, "errors": {"503": 1, "timeout": 2}}))

    counted = traffic.report(paths)

    assert counted == {"sent": 15, "failed": 4, "errors": {"503": 2, "timeout": 2}, "clients": 2}
    assert traffic.as_text(counted) == "15 requests sent by 2 clients, 4 failed\n  2 x 503\n  2 x timeout"


def test_clients_send_until_they_are_stopped_and_are_counted_after(lab: Lab) -> None:
    lab.inside("kubectl", "create", "namespace", "shop")
    lab.inside("kubectl", "create", "deployment", "web", "-n", "shop", "--image=meshlab/app", "--port=8080")
    lab.inside("kubectl", "rollout", "status", "deployment/web", "-n", "shop", "--timeout=60s")
    address = lab.inside("kubectl", "get", "pods", "-n", "shop", "-o", "jsonpath={.items[0].status.podIP}")

    started = lab.must("traffic", "start", "--namespace", "shop", "--rate", "20", f"http://{address}:8080/")
    lab.must("traffic", "stop")

    assert "has no sidecar" in started
    assert lab.inside("kubectl", "get", "deployments", "-n", "shop", "-o", "name") == "deployment.apps/web\n"
    counted = json.loads(lab.must("traffic", "report", "--json"))
    assert counted["sent"] > 0
    assert counted["failed"] == 0


def test_a_namespace_that_does_not_exist_is_a_sentence(lab: Lab) -> None:
    refused = lab("traffic", "start", "--namespace", "nowhere", "http://web.shop:8080/")

    assert refused.returncode == 1
    assert 'namespaces "nowhere" not found' in refused.stderr
