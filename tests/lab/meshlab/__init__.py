# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The test mesh: a real Kubernetes and two real Istios as processes in one sandbox, without containers."""
