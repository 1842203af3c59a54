# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sandbox's own end of the network: loopback up, one ordinary address, forwarding on."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from meshlab.control_plane import GATEWAY, POD_GATEWAY
from meshlab.errors import LabError

CABLE = "lab0"
"""A cable whose two ends are both here, so that the lab's addresses sit on a link that is not loopback."""
OWN_LINKS = {"lo", CABLE, "lab1"}


def set_up() -> None:
    """Raises LabError when the kernel refuses, with what it said."""
    commands = [
        "link set lo up",
        f"link add {CABLE} type veth peer name lab1",
        f"link set {CABLE} up",
        "link set lab1 up",
        f"address add {GATEWAY}/32 dev {CABLE}",
        f"address add {POD_GATEWAY}/32 dev {CABLE}",
    ]
    for command in commands:
        _ip(*command.split())
    for name in ("ip_forward", "conf/all/rp_filter", "conf/default/rp_filter"):
        value = "1" if name == "ip_forward" else "0"
        (Path("/proc/sys/net/ipv4") / name).write_text(value)


def clear() -> None:
    """Take away the cables of pods that are no more. Their other ends go with them."""
    for link in json.loads(_ip("-json", "link", "show")):
        name = link["ifname"]
        if name not in OWN_LINKS and link.get("link_type") == "ether":
            subprocess.run(["ip", "link", "delete", name], capture_output=True, check=False)


def _ip(*arguments: str) -> str:
    answer = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise LabError(f"the lab cannot set up its network: ip {' '.join(arguments)}: {answer.stderr.strip()}")
    return answer.stdout
