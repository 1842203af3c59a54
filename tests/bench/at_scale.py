# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A mesh of 300 namespaces and 3,000 injected pods, beside the bare reads, the loop and the istioctl that one would use instead.

Run as a program it measures inside the lab. The pods are injected by the real istiod but find no node, so no Envoy starts.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
SCENARIOS = HERE.parent / "lab" / "scenarios"

NAMESPACES = [f"scale-{number:03}" for number in range(300)]
PODS = 10
"""Pods of a namespace, of one Deployment."""

LOOPED = 30
"""Namespaces of the loop over kubernetes.core.k8s, which takes minutes for all; its time is taken times ten."""

FEW = len(NAMESPACES) // 10
"""Namespaces with pods in the small mesh, whose memory is compared with that of the whole."""

ROUNDS = 3
MIB = 1024.0

Figure = tuple[str, float, float, str]
"""Name, value, value of the baseline, unit."""


def measure(lab: Path) -> Iterator[Figure]:
    """All figures; the lab has to be empty."""
    done = subprocess.run([lab, "exec", "--", sys.executable, __file__], check=True, stdout=subprocess.PIPE, text=True)
    for line in done.stdout.splitlines():
        yield tuple(json.loads(line))


def inside() -> None:
    """Make the mesh step by step, measure, print a JSON list for each figure."""
    sys.path.insert(0, str(SCENARIOS))
    import manifests
    from kubectl import kubectl
    from world import Mesh

    files = Path(tempfile.mkdtemp())
    mesh = Mesh(files)
    mesh.revisions("stable", "canary")
    mesh.tag("prod", "stable")
    mesh.namespace("shop", {"istio.io/rev": "prod"})
    _tell(_tag_figures(files, "istio_tag_vs_istioctl"))
    kubectl("create", "--filename=-", manifests=[manifests.namespace(name, {"istio.io/rev": "stable"}) for name in NAMESPACES])
    _tell(_label_figures(files))
    # Gigabytes of lab share the machine, so the least of a few runs says most about a program.
    _fill(NAMESPACES[:FEW], FEW)
    _, small, small_bare = _info(files)
    _fill(NAMESPACES[FEW:], len(NAMESPACES))
    times, large, large_bare = _info(files)
    _tell(
        [
            ("mesh_info_scale", *times, "s"),
            ("mesh_info_scale_memory", large, large_bare, "MiB"),
            ("mesh_info_scale_memory_of_2700_pods_more", large - small, large_bare - small_bare, "MiB"),
        ]
    )
    _tell(_tag_figures(files, "istio_tag_vs_istioctl_scale"))


def _tell(figures: Any) -> None:
    for figure in figures:
        print(json.dumps(figure), flush=True)


# Moving a tag


def _tag_figures(files: Path, name: str) -> Iterator[Figure]:
    """The module beside istioctl and a wait until a pod is born with the other revision: as processes, and as tasks of a playbook."""
    import manifests
    from collection import module

    pod = files / "pod.json"
    pod.write_text(json.dumps(manifests.pod("born-now", "shop", {})))

    def moved_by_module(revision: str) -> None:
        if not module("istio_tag", {"name": "prod", "revision": revision}).get("changed"):
            sys.exit("istio_tag did not move the tag, so its time says nothing")

    empty = min(_playbook_seconds(files, []) for _ in range(ROUNDS))
    process, istioctl, task, tasks = [], [], [], []
    for _ in range(ROUNDS):
        process.append(_seconds(lambda: moved_by_module("canary")))
        istioctl.append(_seconds(lambda: _moved_by_istioctl("stable")))
        task.append(_playbook_seconds(files, [{"meshops.istio.istio_tag": {"name": "prod", "revision": "canary"}}]) - empty)
        tasks.append(_playbook_seconds(files, _istioctl_tasks("stable", pod)) - empty)
    yield name, median(process), median(istioctl), "s"
    yield f"{name}_as_tasks", median(task), median(tasks), "s"


def _istioctl_tasks(revision: str, pod: Path) -> list[dict[str, Any]]:
    """What a playbook does without the module: istioctl, then dry-run pods until one comes from the other revision."""
    from world import ISTIOCTL

    moving = [ISTIOCTL[revision], "tag", "set", "prod", f"--revision={revision}", "--overwrite", "--skip-confirmation"]
    asking = ["kubectl", "create", "--dry-run=server", "--output=json", f"--filename={pod}"]
    return [
        {"ansible.builtin.command": {"argv": moving}},
        {
            "ansible.builtin.command": {"argv": asking},
            "register": "born",
            "until": f"(born.stdout | from_json).metadata.annotations['istio.io/rev'] == '{revision}'",
            "retries": 100,
            "delay": 0,
            "changed_when": False,
        },
    ]


def _moved_by_istioctl(revision: str) -> None:
    from world import Mesh, Namespace

    Mesh(Path()).tag("prod", revision)
    while Namespace("shop").injector_of_a_new_pod() != revision:
        pass


# Labelling


def _label_figures(files: Path) -> Iterator[Figure]:
    """One task on all namespaces, beside a loop; both really change every label, and the playbook itself is taken off."""
    empty = min(_playbook_seconds(files, []) for _ in range(ROUNDS))
    ours = _playbook_seconds(files, [{"meshops.istio.ns_revision_label": {"namespaces": NAMESPACES, "to": "prod"}}]) - empty
    definition = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "{{ item }}", "labels": {"istio.io/rev": "stable"}}}
    loop = {"kubernetes.core.k8s": {"state": "patched", "definition": definition}, "loop": NAMESPACES[:LOOPED]}
    theirs = _playbook_seconds(files, [loop], changed=LOOPED) - empty
    yield "ns_revision_label_300", ours, theirs * len(NAMESPACES) / LOOPED, "s"


def _playbook_seconds(files: Path, tasks: list[dict[str, Any]], changed: int = 0) -> float:
    path = files / "bench.yml"
    path.write_text(json.dumps([{"hosts": "localhost", "gather_facts": False, "tasks": tasks}]))
    began = time.monotonic()
    done = subprocess.run(["ansible-playbook", path], capture_output=True, text=True, check=False)
    took = time.monotonic() - began
    if done.returncode != 0 or (tasks and "changed=1 " not in done.stdout) or done.stdout.count("changed: [localhost]") < changed:
        sys.exit(f"the playbook did not do what is measured:\n{done.stdout}{done.stderr}")
    return took


# Reading


def _fill(names: list[str], filled: int) -> None:
    """Deployments whose pods are injected and then wait for a node; returns when the pods of so many namespaces are there."""
    import manifests
    from kubectl import kubectl
    from waiting import eventually

    things = []
    for name in names:
        deployment, _service = manifests.workload("web", name, {})
        deployment["spec"]["replicas"] = PODS
        deployment["spec"]["template"]["spec"]["nodeSelector"] = {"nowhere": "here"}
        things.append(deployment)
    kubectl("create", "--filename=-", manifests=things)

    def born() -> bool:
        listed = kubectl(
            "get", "pods", "--all-namespaces", "--selector=app=web,security.istio.io/tlsMode=istio", "--output=name", "--chunk-size=0"
        )
        return len(listed.splitlines()) == PODS * filled

    if not eventually(born, seconds=900):
        sys.exit("the pods were not all injected")


def _info(files: Path) -> tuple[tuple[float, float], float, float]:
    """Seconds of mesh_info and of the bare reads as whole processes, Python's start in both, and the most memory (MiB) of each."""
    environment = {**os.environ, "PYTHONPATH": os.environ["ANSIBLE_COLLECTIONS_PATH"]}
    requests, runner = files / "requests.json", SCENARIOS / "run_module.py"
    arguments = files / "arguments.json"
    arguments.write_text(json.dumps({"ANSIBLE_MODULE_ARGS": {}}))
    record = [sys.executable, HERE / "recorder.py", runner, requests, "mesh_info"]
    _process([str(word) for word in record], environment, arguments)
    bare = [sys.executable, str(HERE / "bare_reads.py"), str(files), _credentials(files), str(requests)]
    module = [sys.executable, str(runner), "mesh_info"]
    rounds = [(_process(module, environment, arguments), _process(bare, environment, arguments)) for _ in range(ROUNDS)]
    times = (min(ours[0] for ours, _ in rounds), min(theirs[0] for _, theirs in rounds))
    return times, median(ours[1] for ours, _ in rounds), median(theirs[1] for _, theirs in rounds)


def _process(command: list[str], environment: dict[str, str], stdin: Path) -> tuple[float, float]:
    """Seconds and most memory (MiB) of a process that has to succeed."""
    began = time.monotonic()
    with stdin.open() as given:
        process = subprocess.Popen(command, env=environment, stdin=given, stdout=subprocess.DEVNULL)
    _pid, status, used = os.wait4(process.pid, 0)
    took = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"failed: {' '.join(command)}")
    return took, used.ru_maxrss / MIB


def _credentials(files: Path) -> str:
    """Write ca, cert and key of the lab's kubeconfig; the URL of the API server."""
    from kubectl import kubectl

    config = json.loads(kubectl("config", "view", "--raw", "--flatten", "--minify", "--output=json"))
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    for name, data in (
        ("ca", cluster["certificate-authority-data"]),
        ("cert", user["client-certificate-data"]),
        ("key", user["client-key-data"]),
    ):
        (files / name).write_bytes(base64.b64decode(data))
    return str(cluster["server"])


def _seconds(action: Callable[[], None]) -> float:
    began = time.monotonic()
    action()
    return time.monotonic() - began


if __name__ == "__main__":
    inside()
