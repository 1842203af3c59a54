# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Live traffic through the mesh of a scenario."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from kubectl import lab
from waiting import eventually


class Traffic:
    """Clients that send a steady stream of requests from inside the mesh, and count every failure."""

    def start(self, namespace: str, *targets: str, rate: int = 10) -> None:
        """Clients in a namespace; targets are ``SERVICE.NAMESPACE``."""
        lab("traffic", "start", f"--namespace={namespace}", f"--rate={rate}", *(f"http://{target}:80/" for target in targets))

    def stop(self) -> dict[str, Any]:
        """End the clients; ``{"sent", "failed", "errors", "clients"}`` of all of them."""
        lab("traffic", "stop")
        counted: dict[str, Any] = json.loads(lab("traffic", "report", "--json"))
        return counted

    def answered(self, namespace: str) -> int:
        """How many requests the clients of a namespace have had answered so far."""
        files = Path(os.environ["MESHLAB_RUN"], "traffic").glob(f"{namespace}.*.json")
        counted = [json.loads(file.read_text()) for file in files]
        return sum(counts["sent"] - counts["failed"] for counts in counted)

    def flows_from(self, *namespaces: str) -> bool:
        """Whether clients of each of these namespaces get answers at this moment."""
        before = {namespace: self.answered(namespace) for namespace in namespaces}
        return eventually(lambda: all(self.answered(namespace) > count + 10 for namespace, count in before.items()), seconds=15)
