# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether the ambient data plane carries a pod that has no sidecar."""

from __future__ import annotations

from .names import DATAPLANE_LABEL
from .pod_template import PodTemplate
from .selectors import Labels

AMBIENT, NONE = "ambient", "none"


def is_ambient(namespace: Labels, pod: PodTemplate) -> bool:
    """Whether a pod without a sidecar asks for ztunnel, by the rule that the CNI agent has unless its installer changed it.

    Source: chart istio-cni, enablementSelectors, and cni/pkg/util, enablement_selector.go.
    Whether that agent and a ztunnel run on the node of the pod is another question.
    """
    mode = pod.labels.get(DATAPLANE_LABEL)
    return not pod.host_network and (mode == AMBIENT or (mode != NONE and namespace.get(DATAPLANE_LABEL) == AMBIENT))
