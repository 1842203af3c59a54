# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the API server keeps each kind of object, told once. The paths are known, so nothing is discovered."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote


@dataclass(frozen=True)
class Resource:
    """One kind of object and its place in the API.

    Called with nothing it is the path of all objects in the cluster, with a namespace of those in it, with a name of one object.
    """

    api: str
    plural: str
    kind: str

    @property
    def api_version(self) -> str:
        """As in an object's own apiVersion: "v1", "apps/v1"."""
        return self.api.partition("/")[2]

    def __call__(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        scope = f"namespaces/{quote(namespace, safe='')}" if namespace else ""
        return "/" + "/".join(part for part in (self.api, scope, self.plural, quote(name, safe=""), subresource) if part)


PODS = Resource("api/v1", "pods", "Pod")
SERVICES = Resource("api/v1", "services", "Service")
SERVICE_ACCOUNTS = Resource("api/v1", "serviceaccounts", "ServiceAccount")
CONFIG_MAPS = Resource("api/v1", "configmaps", "ConfigMap")
SECRETS = Resource("api/v1", "secrets", "Secret")
EVENTS = Resource("api/v1", "events", "Event")
NODES = Resource("api/v1", "nodes", "Node")
RESOURCE_QUOTAS = Resource("api/v1", "resourcequotas", "ResourceQuota")
NAMESPACES = Resource("api/v1", "namespaces", "Namespace")
ENDPOINT_SLICES = Resource("apis/discovery.k8s.io/v1", "endpointslices", "EndpointSlice")
DEPLOYMENTS = Resource("apis/apps/v1", "deployments", "Deployment")
STATEFUL_SETS = Resource("apis/apps/v1", "statefulsets", "StatefulSet")
DAEMON_SETS = Resource("apis/apps/v1", "daemonsets", "DaemonSet")
REPLICA_SETS = Resource("apis/apps/v1", "replicasets", "ReplicaSet")
JOBS = Resource("apis/batch/v1", "jobs", "Job")
CRON_JOBS = Resource("apis/batch/v1", "cronjobs", "CronJob")
AUTOSCALERS = Resource("apis/autoscaling/v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler")
DISRUPTION_BUDGETS = Resource("apis/policy/v1", "poddisruptionbudgets", "PodDisruptionBudget")
LEASES = Resource("apis/coordination.k8s.io/v1", "leases", "Lease")
ROLES = Resource("apis/rbac.authorization.k8s.io/v1", "roles", "Role")
ROLE_BINDINGS = Resource("apis/rbac.authorization.k8s.io/v1", "rolebindings", "RoleBinding")
CLUSTER_ROLES = Resource("apis/rbac.authorization.k8s.io/v1", "clusterroles", "ClusterRole")
CLUSTER_ROLE_BINDINGS = Resource("apis/rbac.authorization.k8s.io/v1", "clusterrolebindings", "ClusterRoleBinding")
MUTATING_WEBHOOKS = Resource("apis/admissionregistration.k8s.io/v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration")
VALIDATING_WEBHOOKS = Resource("apis/admissionregistration.k8s.io/v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration")
ADMISSION_POLICIES = Resource("apis/admissionregistration.k8s.io/v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy")
ADMISSION_POLICY_BINDINGS = Resource(
    "apis/admissionregistration.k8s.io/v1", "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding"
)

NETWORK_POLICIES = Resource("apis/networking.k8s.io/v1", "networkpolicies", "NetworkPolicy")
CUSTOM_RESOURCE_DEFINITIONS = Resource("apis/apiextensions.k8s.io/v1", "customresourcedefinitions", "CustomResourceDefinition")

VERSION = "/version"
API_GROUPS = "/apis"

WORKLOADS = (DEPLOYMENTS, STATEFUL_SETS, DAEMON_SETS)
"""The kinds whose pods are replaced when their template changes."""

RESOURCES = {resource.plural: resource for resource in list(globals().values()) if isinstance(resource, Resource)}

CLUSTER_SCOPED = (
    NODES,
    NAMESPACES,
    CLUSTER_ROLES,
    CLUSTER_ROLE_BINDINGS,
    MUTATING_WEBHOOKS,
    VALIDATING_WEBHOOKS,
    ADMISSION_POLICIES,
    ADMISSION_POLICY_BINDINGS,
    CUSTOM_RESOURCE_DEFINITIONS,
)

_PATH = re.compile(
    r"/(?:api/[^/]+|apis/[^/]+/[^/]+)(?:/namespaces/(?P<namespace>[^/]+)(?=/))?/(?P<plural>[^/]+)(?:/(?P<name>[^/]+))?(?:/(?P<sub>.+))?"
)


def resource_at(path: str) -> Resource | None:
    """The kind of object at a path, None for one that is not told here."""
    match = _PATH.fullmatch(path)
    return RESOURCES.get(match.group("plural")) if match else None


def describe(path: str) -> str:
    """What a path is, for sentences: ``Deployment "web" in namespace "shop"``, ``pods``, ``pods in namespace "shop"``."""
    match = _PATH.fullmatch(path)
    if not match:
        return path
    namespace, plural, name, sub = match.group("namespace", "plural", "name", "sub")
    resource = RESOURCES.get(plural)
    what = f'{resource.kind if resource else plural} "{unquote(name)}"' if name else plural
    within = f' in namespace "{unquote(namespace)}"' if namespace else ""
    return (f"{sub} of " if sub else "") + what + within


def resource_of(kind: str) -> Resource:
    """The resource of a kind of object.

    Raises:
        KeyError: a kind that is not told here.
    """
    return {resource.kind: resource for resource in RESOURCES.values()}[kind]


def path_of(manifest: dict, namespace: str = "") -> str:
    """The path of one object, from its own kind, namespace and name.

    Raises:
        KeyError: a kind that is not told here.
    """
    resource = resource_of(manifest["kind"])
    metadata = manifest["metadata"]
    scope = "" if resource in CLUSTER_SCOPED else metadata.get("namespace") or namespace
    return resource(scope, metadata["name"])
