# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The first process of the sandbox: starts the lab's processes, watches them, collects the dead, and ends everything.

It restarts nothing by itself: a component that died is in `lab status` and in its log, and `lab up` starts it again.
"""

from __future__ import annotations

import json
import os
import resource
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from meshlab import messages, network, pki, processes
from meshlab.api import Api
from meshlab.control_plane import Component, Settings, environment, stages
from meshlab.errors import LabError
from meshlab.paths import Paths

READY_WITHIN = 90.0
"""Seconds a component may take to become ready."""
POLL = 0.1
"""Seconds between two looks."""


class _Stopped(BaseException):
    """SIGTERM came in the middle of something."""


class Supervisor:
    """One per lab."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._settings = Settings()
        self._host_pid = 0
        self._generation = 0
        self._ready = False
        self._processes: dict[int, str] = {}
        self._components: dict[str, dict[str, Any]] = {}
        self._stopping = False
        self._client: socket.socket | None = None

    def run(self) -> None:
        """Serve requests until told to stop. Returns when everything has ended."""
        processes.die_with_parent()
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, hard), hard))
        wakeup = self._catch_signals()
        with suppress(_Stopped):
            self._wipe()
            network.set_up()
            server = messages.listen(self._paths.socket)
            self._write_state()
            while True:
                select.select([server.fileno(), wakeup], [], [])
                with suppress(BlockingIOError):
                    os.read(wakeup, 4096)
                self._look()
                if select.select([server], [], [], 0)[0]:
                    self._serve(server.accept()[0])
        self._end()

    def _catch_signals(self) -> int:
        """A descriptor that becomes readable with every signal."""
        reading, writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for name in (signal.SIGTERM, signal.SIGINT):
            signal.signal(name, self._stop)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        return reading

    def _stop(self, *_: object) -> None:
        self._stopping = True

    # Requests

    def _serve(self, client: socket.socket) -> None:
        with client:
            client.settimeout(2)
            try:
                line = client.makefile("rb").readline()
            except OSError:
                return
            if not line:
                return  # somebody only looked whether we live
            self._client = client
            try:
                self._handle(json.loads(line))
                self._say(done=True)
            except LabError as error:
                self._say(error=str(error))
            finally:
                self._client = None

    def _handle(self, request: dict[str, Any]) -> None:
        if (pid := request.get("pid", 0)) > 1:  # a command run inside the lab would see 1
            self._host_pid = pid
        if version := request.get("kubelet_version"):
            self._settings = Settings(version)
        if request["do"] == "reset":
            self._clear()
        self._start()

    def _say(self, **answer: Any) -> None:
        """To whoever asked, if still there: a command that was interrupted does not interrupt the work."""
        if self._client is not None:
            with suppress(OSError):
                self._client.sendall(json.dumps(answer).encode() + b"\n")

    # The life of the components

    def _start(self) -> None:
        """Start what does not run and wait for it, stage by stage."""
        if self._generation == 0:
            self._generation = 1
        pki.ensure(self._paths)
        api = Api(self._paths)
        for directory in (self._paths.etcd, self._paths.pods, self._paths.traffic, self._paths.log):
            directory.mkdir(exist_ok=True)
        self._paths.etcd.chmod(0o700)
        for stage in stages(self._paths, self._settings):
            started = [component for component in stage if self._launch(component)]
            for component in started:
                self._await(component, api)
        self._ready = all(state["state"] == "ready" for state in self._components.values())
        self._write_state()

    def _launch(self, component: Component) -> bool:
        """False when it is ready already."""
        before = self._components.get(component.name, {})
        if before.get("state") == "ready":
            return False
        if before.get("state") == "starting":
            before["clock"] = time.monotonic()  # an earlier request lost patience with it
            return True
        self._say(name=component.name, again=before.get("how"))
        program = self._paths.bin / component.executable
        with (self._paths.log / f"{component.name}.log").open("ab") as log:
            log.write(f"--- {_now()} {program.resolve()} {' '.join(component.arguments)}\n".encode())
            log.flush()
            try:
                process = subprocess.Popen(
                    [program, *component.arguments],
                    cwd=self._paths.run,
                    env=environment(self._paths),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            except OSError as error:
                raise LabError(f"cannot start {component.name}: {program}: {error.strerror}. Run: tests/lab/lab build") from error
        self._processes[process.pid] = component.name
        self._components[component.name] = {
            "state": "starting",
            "pid": process.pid,
            "program": str(program.resolve()),
            "since": _now(),
            "clock": time.monotonic(),
        }
        self._write_state()
        return True

    def _await(self, component: Component, api: Api) -> None:
        state = self._components[component.name]
        while not component.is_ready(api):
            self._pause()
            if state["state"] == "ended":
                raise LabError(f"{component.name} ended while starting ({state['how']}). {self._last_words(component.name)}")
            if time.monotonic() - state["clock"] > READY_WITHIN:
                raise LabError(f"{component.name} is not ready after {READY_WITHIN:.0f} s. {self._last_words(component.name)}")
        state["state"] = "ready"
        state["seconds"] = round(time.monotonic() - state["clock"], 2)
        self._write_state()
        self._say(name=component.name, seconds=state["seconds"])

    def _last_words(self, name: str) -> str:
        log = self._paths.log / f"{name}.log"
        lines = log.read_text(errors="replace").splitlines()[-8:]
        return f"The end of {log}:\n" + "\n".join(lines)

    def _clear(self) -> None:
        """Back to nothing: no process of the lab, no cable, no data. What users run in the sandbox stays."""
        self._ready = False
        self._write_state()
        self._kill_all()
        self._components.clear()
        network.clear()
        self._wipe()
        self._generation += 1

    def _kill_all(self) -> None:
        deadline = time.monotonic() + 20
        while alive := processes.own():
            for pid in alive:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self._look()
            time.sleep(0.02)
            if time.monotonic() > deadline:
                raise LabError(f"processes {sorted(alive)} do not end, even when killed. Stop the lab with: tests/lab/lab down")

    def _wipe(self) -> None:
        """Here and not by the user's commands: pods' files belong to ids only the sandbox may touch."""
        _unmount_below(self._paths.run)
        for directory in (self._paths.etcd, self._paths.pods, self._paths.traffic):
            shutil.rmtree(directory, ignore_errors=True)
        earlier = self._paths.run / "log.before"
        if any(self._paths.log.glob("etcd.log")):
            shutil.rmtree(earlier, ignore_errors=True)
            earlier.mkdir()
            for log in self._paths.log.glob("*.log"):
                if log.name != "supervisor.log":
                    log.rename(earlier / log.name)

    def _end(self) -> None:
        """The kernel ends whatever is left in the namespaces as soon as this process has gone."""
        for pid in list(self._processes):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._paths.socket.unlink(missing_ok=True)
        with suppress(LabError):
            self._kill_all_ignoring_stop()
        self._wipe()
        self._paths.state.unlink(missing_ok=True)

    def _kill_all_ignoring_stop(self) -> None:
        self._stopping = False
        self._kill_all()

    # Watching

    def _pause(self) -> None:
        time.sleep(POLL)
        self._look()

    def _look(self) -> None:
        """Collect the dead; leave when told to."""
        for pid, how in processes.ended():
            name = self._processes.pop(pid, None)
            if name is None:
                continue  # an orphan of some pod or of a user's command
            print(f"{_now()} {name} {how}", flush=True)
            self._components[name].update(state="ended", how=how, since=_now())
            self._ready = False
            self._write_state()
        if self._stopping:
            raise _Stopped

    def _write_state(self) -> None:
        shown = {name: {key: value for key, value in state.items() if key != "clock"} for name, state in self._components.items()}
        state = {
            "pid": self._host_pid,
            "ready": self._ready,
            "generation": self._generation,
            "kubelet_version": self._settings.kubelet_version,
            "components": shown,
        }
        half = self._paths.state.with_suffix(".half")
        half.write_text(json.dumps(state, indent=1))
        half.replace(self._paths.state)


def _unmount_below(directory: Path) -> None:
    """Named network namespaces and the like, in this private mount namespace."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        place = line.split()[4]
        if place.startswith(f"{directory}/"):
            subprocess.run(["umount", "--lazy", place], capture_output=True, check=False)


def _now() -> str:
    return datetime.now(timezone.utc).strftime("%H:%M:%S")


def main(home: str) -> int:
    """Runs the supervisor of the lab at this state directory."""
    try:
        Supervisor(Paths(Path(home))).run()
    except LabError as error:
        print(error, flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
