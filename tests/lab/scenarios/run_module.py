# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run one module of the collection as Ansible does, without a playbook around it: arguments as JSON on stdin, result on stdout."""

from __future__ import annotations

import runpy
import sys

from ansible.module_utils import basic

basic._ANSIBLE_ARGS = sys.stdin.buffer.read()
basic._ANSIBLE_PROFILE = "legacy"
name = sys.argv[1]
sys.argv = [name]
runpy.run_module(f"ansible_collections.meshops.istio.plugins.modules.{name}", run_name="__main__", alter_sys=True)
