# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The names Istio gives to things, told once.

Source: the istiod chart (manifests/charts/istio-control/istio-discovery/templates) and istioctl (istioctl/pkg/tag), 1.24 to 1.32.
"""

from __future__ import annotations

import re

ISTIO_DOMAIN = "istio.io/"
"""Part of the name of every label and annotation that Istio reads or writes, but for istio-injection."""

REVISION_LABEL = "istio.io/rev"
TAG_LABEL = "istio.io/tag"
INJECTION_LABEL = "istio-injection"
INJECTION_LABELS = (REVISION_LABEL, INJECTION_LABEL)
INJECT_LABEL = "sidecar.istio.io/inject"
DATAPLANE_LABEL = "istio.io/dataplane-mode"
NAMESPACE_NAME_LABEL = "kubernetes.io/metadata.name"
"""The API server sets it on every namespace."""

STATUS_ANNOTATION = "sidecar.istio.io/status"
PROXY_CONTAINER = "istio-proxy"
GATEWAY_TEMPLATES_ANNOTATION = "inject.istio.io/templates"
ISTIOD_LABELS = {"app": "istiod"}
ISTIOD_SELECTOR = ",".join(f"{key}={value}" for key, value in ISTIOD_LABELS.items())

DEFAULT = "default"
"""The revision of an install without one, and the tag that serves istio-injection=enabled."""

INJECTOR_SUFFIX = "sidecar-injector.istio.io"
"""Every injecting webhook entry ends so; istiod patches the caBundle of no other (pkg/webhooks/webhookpatch.go)."""

DEFAULT_DISCOVERY_ADDRESS = "istiod.istio-system.svc:15012"
"""The istiod that a proxy dials when nothing is said (pkg/config/mesh, DefaultProxyConfig)."""

INJECTOR_CONFIG = "istio-sidecar-injector"
"""The ConfigMap with templates and policy of an install without a revision, and the MutatingWebhookConfiguration of it."""

VALIDATOR_SUFFIX = "validation.istio.io"
"""Every entry of a webhook that judges Istio configuration ends so."""

DEFAULT_VALIDATOR = "istiod-default-validator"
READER_SERVICE_ACCOUNT = "istio-reader-service-account"
DEFAULT_ISTIO_NAMESPACE = "istio-system"
NEVER_MATCH = {"matchLabels": {"istio.io/deactivated": "never-match"}}
"""What both selectors of an injector become when it is switched off, as istioctl does it (istioctl/pkg/util/common.go)."""

SELECTORS = ("namespaceSelector", "objectSelector")

OPERATOR_LABEL_PART = "operator.istio.io"
"""Labels with this part let istioctl prune an object together with a revision."""

MANAGED_BY_LABEL = "app.kubernetes.io/managed-by"
MANAGED_BY = "meshops.istio"
HELM_RELEASE_ANNOTATION = "meta.helm.sh/release-name"
HELM_NAMESPACE_ANNOTATION = "meta.helm.sh/release-namespace"
REMOTE_CLUSTER_SELECTOR = "istio/multiCluster=true"
"""Secrets with the kubeconfig of another cluster that the istiods of this one serve (pkg/kube/multicluster)."""

OWNING_NAMESPACE_LABEL = "install.operator.istio.io/owning-resource-namespace"
"""Only what istioctl install has written carries it; without it istioctl uninstall leaves an object alone."""

COMPONENT_LABEL = "operator.istio.io/component"
NODE_COMPONENTS = ("Cni", "Ztunnel")
GATEWAY_COMPONENTS = ("IngressGateways", "EgressGateways")
OPERATOR_VERSION_LABEL = "operator.istio.io/version"
NOT_PRUNED_LABEL = "install.operator.istio.io/owning-resource-not-pruned"
"""Objects that istioctl keeps when it removes what is no longer in a specification: those of the default tag."""

VERSION_LABELS = (OPERATOR_VERSION_LABEL, "app.kubernetes.io/version")
"""Which version wrote an object: of istioctl, of the chart."""

LEASE_PREFIXES = ("istio-gateway-deployment-", "istio-gateway-status-leader-")
"""Leases of one revision, named after it (pilot/pkg/leaderelection/leaderelection.go)."""

CONFIG_GROUPS = ("networking.istio.io", "security.istio.io", "telemetry.istio.io", "extensions.istio.io")
"""The API groups of Istio's own configuration."""

TRANSITION_ANNOTATION = "meshops.istio/transition"
"""On the webhook of a tag while it moves: from which revision and to which, so that a run that dies leaves a note and not a riddle."""

SWITCHED_OFF_ANNOTATION = "meshops.istio/switched-off"
"""On an injector that a default tag has switched off: the selectors that its entries had."""

RESTARTED_AT_ANNOTATION = "kubectl.kubernetes.io/restartedAt"

_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def is_dns_label(name: str) -> bool:
    """Whether a revision or tag may have this name: istiod builds Service names from it."""
    return _DNS_LABEL.fullmatch(name) is not None


def with_revision(name: str, revision: str) -> str:
    """The name of an object that a revision has its own copy of: ``istiod-canary``, or plain ``istiod`` without a revision."""
    return name if revision == DEFAULT else f"{name}-{revision}"


def istiod_name(revision: str) -> str:
    """The Deployment, Service and ServiceAccount of a revision."""
    return with_revision("istiod", revision)


def _webhook_name(base: str, istio_namespace: str) -> str:
    return base if istio_namespace == DEFAULT_ISTIO_NAMESPACE else f"{base}-{istio_namespace}"


def injector_name(revision: str, istio_namespace: str) -> str:
    """The MutatingWebhookConfiguration of a revision."""
    return _webhook_name(with_revision(INJECTOR_CONFIG, revision), istio_namespace)


def tag_webhook_name(tag: str, istio_namespace: str) -> str:
    """The MutatingWebhookConfiguration of a tag."""
    return _webhook_name(f"istio-revision-tag-{tag}", istio_namespace)


def tag_service_name(tag: str) -> str:
    """The Service of a tag (since Istio 1.28)."""
    return f"istiod-revision-tag-{tag}"


def lease_names(revision: str) -> tuple[str, ...]:
    """The locks that the istiods of one revision hold among themselves (pilot/pkg/leaderelection); they outlive it."""
    return tuple(f"{prefix}{revision}" for prefix in LEASE_PREFIXES)


def validator_name(revision: str, istio_namespace: str) -> str:
    """The ValidatingWebhookConfiguration of a revision."""
    return f"{with_revision('istio-validator', revision)}-{istio_namespace}"
