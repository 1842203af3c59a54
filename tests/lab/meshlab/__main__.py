# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts the command line when this file is run, without leaving anything on PYTHONPATH for the commands it runs."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)

from meshlab.cli import main  # noqa: E402  (the line above is what makes it importable)

sys.exit(main(sys.argv[1:]))
