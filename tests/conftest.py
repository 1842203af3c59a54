# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make ansible_collections.meshops.istio importable, so that plain `pytest` works in a plain checkout."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from ansible.plugins.loader import init_plugin_loader

sys.path.insert(0, str(Path(__file__).parent))
import collection_tree

root = collection_tree.link(collection_tree.CHECKOUT / ".cache")
os.environ["ANSIBLE_COLLECTIONS_PATH"] = str(root)  # for the ansible-playbook processes that tests start
init_plugin_loader([str(root)])
