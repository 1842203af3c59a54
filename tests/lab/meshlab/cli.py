# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands of `tests/lab/lab`."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from typing import Any

from meshlab.errors import LabError
from meshlab.paths import Paths


def main(arguments: Sequence[str]) -> int:
    """Runs one command and returns its exit code: 1 with a sentence when it could not."""
    chosen = _parser().parse_args(arguments)
    try:
        return int(chosen.command(Paths.from_environment(), chosen) or 0)
    except LabError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("lab: interrupted", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tests/lab/lab",
        description="The test mesh: a real Kubernetes and two real Istios in one sandbox. State: $MESHLAB_HOME or ~/.cache/meshlab.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Any, text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(command=run)
        return sub

    for name, run, text in (
        ("up", up, "Build what is missing and start what does not run."),
        ("reset", reset, "Back to an empty cluster in seconds: same programs, same keys."),
    ):
        sub = command(name, run, text)
        sub.add_argument(
            "--kubelet-version", metavar="V", help="what the nodes say they run; before v1.33.0 Istio injects classic sidecars"
        )
    command("down", down, "End the lab and everything in it.")
    command("build", build, "Only build what is missing.")
    sub = command("status", status, "What runs. Exit code 0: all is ready; 3: it is not.")
    sub.add_argument("--json", action="store_true", help="as the supervisor writes it")
    command("shell", shell, "A shell inside the lab.")
    sub = command("exec", execute, "Run a command inside the lab: KUBECONFIG set, the lab's programs first on PATH.")
    sub.add_argument("words", nargs=argparse.REMAINDER, metavar="-- COMMAND ...")
    sub = command("logs", logs, "A log of a component, or of a pod.")
    sub.add_argument("name", metavar="NAME", help="a component (see status), supervisor, or NAMESPACE/POD[/CONTAINER]")
    sub.add_argument("-f", "--follow", action="store_true", help="go on as it grows")
    _traffic_parser(command("traffic", None, "Clients that send a steady stream of requests and count every failure."))
    return parser


def _traffic_parser(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    sub = commands.add_parser("start", help="deploy clients into a namespace and wait until they send")
    sub.set_defaults(command=traffic_start)
    sub.add_argument("targets", nargs="+", metavar="URL", help="http://SERVICE.NAMESPACE:PORT/")
    sub.add_argument("-n", "--namespace", required=True, help="where the clients run; its labels decide whether they are meshed")
    sub.add_argument("--name", default="traffic", help="of the Deployment (default: traffic)")
    sub.add_argument("--rate", type=float, default=10, help="requests per second of each client (default: 10)")
    sub.add_argument("--clients", type=int, default=1, help="how many clients (default: 1)")
    sub = commands.add_parser("report", help="what all clients counted since the lab was reset, also those gone by now")
    sub.set_defaults(command=traffic_report)
    sub.add_argument("--json", action="store_true")
    sub = commands.add_parser("stop", help="remove the clients; what they counted stays")
    sub.set_defaults(command=traffic_stop)
    sub.add_argument("-n", "--namespace", help="only there")


# The heavy imports wait until a command needs them: `lab exec` is called often.


def up(paths: Paths, chosen: argparse.Namespace) -> None:
    """Idempotent: everything runs and is ready afterwards."""
    from meshlab import checks, sandbox
    from meshlab.build import build as build_programs
    from meshlab.locking import locked
    from meshlab.progress import Progress, duration

    progress, started = Progress(), time.monotonic()
    checks.machine(paths.home)
    with locked(paths.lock, progress):
        build_programs(paths, progress)
        pid = sandbox.pid(paths)
        if pid and _up_already(paths, chosen.kubelet_version, progress):
            return
        if not pid:
            progress.start("sandbox", "making")
            pid = sandbox.create(paths)
            progress.done("made")
        _request(paths, {"do": "start", "pid": pid, "kubelet_version": chosen.kubelet_version}, progress)
    progress.say(
        f"The lab is up after {duration(time.monotonic() - started)}. Next: tests/lab/lab shell, or tests/lab/lab exec -- kubectl get nodes"
    )


def _up_already(paths: Paths, kubelet_version: str | None, progress: Any) -> bool:
    state = read_state(paths)
    if kubelet_version and kubelet_version != state.get("kubelet_version"):
        raise LabError(
            f"the lab is up with kubelet {state.get('kubelet_version')}, not {kubelet_version}. "
            f"Change it with: tests/lab/lab reset --kubelet-version {kubelet_version}"
        )
    for name in outdated(paths, state):
        progress.line(name, "runs, but was built anew since: tests/lab/lab reset takes the new one")
    if state.get("ready"):
        progress.say("The lab is up already.")
        return True
    return False


def reset(paths: Paths, chosen: argparse.Namespace) -> None:
    """An empty cluster; takes new programs if there are any."""
    from meshlab import sandbox
    from meshlab.build import build as build_programs
    from meshlab.locking import locked
    from meshlab.progress import Progress, duration

    progress, started = Progress(), time.monotonic()
    with locked(paths.lock, progress):
        if not sandbox.pid(paths):
            raise LabError("the lab is not up, so there is nothing to reset. Start it with: tests/lab/lab up")
        build_programs(paths, progress)
        _request(paths, {"do": "reset", "kubelet_version": chosen.kubelet_version}, progress)
    progress.say(f"The lab is empty and ready after {duration(time.monotonic() - started)}.")


def _request(paths: Paths, request: dict[str, Any], progress: Any) -> None:
    """Have the supervisor do something, and show how it goes."""
    from meshlab import messages

    for answer in messages.ask(paths.socket, request):
        if "seconds" in answer:
            progress.line(answer["name"], f"ready after {answer['seconds']:.1f} s")
        elif "again" in answer:
            if answer["again"]:
                progress.line(answer["name"], f"had ended ({answer['again']}): started again")
            progress.start(answer["name"], "starting")
        else:
            progress.tick()


def down(paths: Paths, _: argparse.Namespace) -> None:
    """Idempotent."""
    from meshlab import sandbox
    from meshlab.locking import locked
    from meshlab.progress import Progress

    progress = Progress()
    if not paths.home.exists():
        return
    with locked(paths.lock, progress):
        was_up = sandbox.pid(paths)
        sandbox.destroy(paths, timeout=20)
        for rest in (paths.socket, paths.state):
            rest.unlink(missing_ok=True)
    progress.say("The lab is down." if was_up else "The lab was not up.")


def build(paths: Paths, _: argparse.Namespace) -> None:
    """Fills the cache."""
    from meshlab.build import build as build_programs
    from meshlab.locking import locked
    from meshlab.progress import Progress

    progress = Progress()
    with locked(paths.lock, progress):
        build_programs(paths, progress)


def status(paths: Paths, chosen: argparse.Namespace) -> int:
    """Prints a line per component."""
    from meshlab import sandbox

    if not sandbox.pid(paths):
        print("null" if chosen.json else "The lab is not up. Start it with: tests/lab/lab up")
        return 3
    state = read_state(paths)
    if chosen.json:
        print(json.dumps(state, indent=1))
    else:
        summary = "ready" if state["ready"] else "not ready"
        print(f"{summary}: generation {state['generation']}, kubelet {state['kubelet_version']}, state in {paths.run}")
        for name, component in state["components"].items():
            how = f" ({component['how']})" if component["state"] == "ended" else ""
            print(f"{name:<26}{component['state']}{how} since {component['since']} UTC, process {component['pid']}, {component['program']}")
        for name in outdated(paths, state):
            print(f"{name}: runs, but was built anew since; tests/lab/lab reset takes the new one")
    return 0 if state["ready"] else 3


def read_state(paths: Paths) -> dict[str, Any]:
    """What the supervisor last wrote; empty before it did."""
    try:
        state: dict[str, Any] = json.loads(paths.state.read_text())
    except FileNotFoundError:
        return {}
    return state


def outdated(paths: Paths, state: dict[str, Any]) -> list[str]:
    """Components that run another program than run/bin has now."""
    from meshlab.control_plane import Settings, stages

    executables = {component.name: component.executable for stage in stages(paths, Settings()) for component in stage}
    return [
        name
        for name, component in state.get("components", {}).items()
        if component["program"] != str((paths.bin / executables[name]).resolve())
    ]


def execute(paths: Paths, chosen: argparse.Namespace) -> int:
    """Becomes the command: its exit code and signals are the caller's."""
    words = chosen.words[1:] if chosen.words[:1] == ["--"] else chosen.words
    if not words:
        raise LabError("exec needs a command, as in: tests/lab/lab exec -- kubectl get nodes")
    return _become(paths, words)


def shell(paths: Paths, _: argparse.Namespace) -> int:
    """The user's own shell."""
    return _become(paths, [os.environ.get("SHELL") or "/bin/sh"])


def logs(paths: Paths, chosen: argparse.Namespace) -> int:
    """The last 200 lines of a component, or everything of a pod."""
    follow = ["--follow"] if chosen.follow else []
    if "/" in chosen.name:
        namespace, pod, *container = chosen.name.split("/", 2)
        which = ["--container", *container] if container else []
        return _become(paths, ["kubectl", "logs", *follow, "--namespace", namespace, pod, *which])
    log = paths.log / f"{chosen.name}.log"
    if not log.is_file():
        known = ", ".join(sorted(path.stem for path in paths.log.glob("*.log"))) or "none yet"
        raise LabError(f'there is no log "{chosen.name}". There are: {known}; for a pod write NAMESPACE/POD.')
    command = ["tail", "--lines=200", *(["--follow=name", "--retry"] if chosen.follow else []), str(log)]
    return _execute(command, dict(os.environ))


def traffic_start(paths: Paths, chosen: argparse.Namespace) -> None:
    """Waits until every client is ready."""
    from meshlab import traffic

    traffic.start(paths, traffic.Clients(chosen.namespace, chosen.name, tuple(chosen.targets), chosen.rate, chosen.clients))


def traffic_report(paths: Paths, chosen: argparse.Namespace) -> None:
    """One line, and one per kind of failure."""
    from meshlab import traffic

    counted = traffic.report(paths)
    print(json.dumps(counted) if chosen.json else traffic.as_text(counted))


def traffic_stop(paths: Paths, chosen: argparse.Namespace) -> None:
    """Waits until the clients are gone, so that the report after it is final."""
    from meshlab import traffic

    traffic.stop(paths, chosen.namespace)


def _become(paths: Paths, words: Sequence[str]) -> int:
    from meshlab import sandbox

    return _execute(*sandbox.entering(paths, words))


def _execute(command: Sequence[str], environment: dict[str, str]) -> int:
    """Does not return unless there is no such command."""
    # Looked up on the new PATH, as a shell inside would.
    os.environ["PATH"] = environment["PATH"]
    try:
        os.execvpe(command[0], list(command), environment)
    except FileNotFoundError:
        raise LabError(f"there is no command {command[0]} on PATH.") from None
