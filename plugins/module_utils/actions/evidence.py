# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Looking everywhere for what still needs a revision."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..cluster.client import Cluster, Object, Objects
from ..cluster.errors import Forbidden, Missing
from ..cluster.istiods import ask_istiods
from ..cluster.paths import CRON_JOBS, CUSTOM_RESOURCE_DEFINITIONS, JOBS, SECRETS, Resource
from ..mesh.changes import Ref
from ..mesh.names import REMOTE_CLUSTER_SELECTOR, REVISION_LABEL
from ..mesh.pod_template import PodTemplate
from ..mesh.removal import Evidence, Template, template_of, templates
from ..mesh.snapshot import Mesh
from ..mesh.workloads import Owner

GATEWAY_GROUP = "gateway.networking.k8s.io"


def evidence(cluster: Cluster, definitions: Objects, revision: str, istio_namespace: str) -> Evidence:
    """Everything besides the mesh that can need a revision. What the user may not read is evidence too: nobody can tell then.

    Args:
        definitions: as from custom_resources().

    Raises:
        ClusterError: something could not be read for another reason than a missing permission.
    """
    unseen: dict[str, list[str]] = {}

    def seen(guard: str, look: Callable[[], list]) -> list:
        try:
            return look()
        except Forbidden as error:
            unseen.setdefault(guard, []).append(f"not seen: {error}")
            return []

    gateways = [crd for crd in definitions if crd["spec"]["group"] == GATEWAY_GROUP]
    return Evidence(
        answers=ask_istiods(cluster),
        config=seen("config", lambda: pinned(cluster, istio_crds(definitions), revision)),
        gateways=seen("gateways", lambda: pinned(cluster, gateways, revision)),
        templates=seen("pod_labels", lambda: _templates(cluster)),
        remotes=seen("remotes", lambda: _remotes(cluster, istio_namespace)),
        unseen=unseen,
    )


def asking_pods(cluster: Cluster, mesh: Mesh) -> list[tuple[Owner, PodTemplate]]:
    """Every pod with a proxy, and the pod template of every workload, Job and CronJob, whether it has pods now or not."""
    return [(pod.owner, pod.template) for pod in mesh.pods] + [
        (template.owner, template.pod) for template in [*templates(mesh), *_templates(cluster)]
    ]


def custom_resources(cluster: Cluster) -> Objects:
    """The custom resource definitions of Istio's own configuration and of the Gateway API."""
    found = cluster.list(
        CUSTOM_RESOURCE_DEFINITIONS(), trim=lambda crd: {"metadata": {"name": crd["metadata"]["name"]}, "spec": _brief(crd)}
    )
    return [crd for crd in found if crd["spec"]["group"] == GATEWAY_GROUP or crd["spec"]["group"].endswith(".istio.io")]


def istio_crds(definitions: Iterable[Object]) -> Objects:
    """Those of Istio's own configuration."""
    return [crd for crd in definitions if crd["spec"]["group"] != GATEWAY_GROUP]


def _brief(crd: Object) -> Object:
    spec = crd["spec"]
    return {"group": spec["group"], "kind": spec["names"]["kind"], "plural": spec["names"]["plural"], "versions": spec["versions"]}


def resource_defined_by(crd: Object) -> Resource:
    """Where the objects of a definition are kept."""
    version = next(version["name"] for version in crd["spec"]["versions"] if version["served"])
    return Resource(f"apis/{crd['spec']['group']}/{version}", crd["spec"]["plural"], crd["spec"]["kind"])


def pinned(cluster: Cluster, crds: Objects, revision: str) -> list[Ref]:
    """Configuration that only this revision reads, because it is labelled for it."""
    found = []
    for crd in crds:
        resource = resource_defined_by(crd)
        try:
            things = cluster.list(resource(), metadata_only=True, label_selector=f"{REVISION_LABEL}={revision}")
        except Missing:
            continue  # the definition is there, but not served yet
        found += [Ref(resource.kind, thing["metadata"].get("namespace"), thing["metadata"]["name"]) for thing in things]
    return found


def _templates(cluster: Cluster) -> list[Template]:
    """The pod templates of CronJobs, and of Jobs that are not over."""
    jobs = cluster.list(JOBS(), trim=_only_template)
    return [template_of(thing) for thing in [*cluster.list(CRON_JOBS(), trim=_only_template), *jobs] if not _is_over(thing)]


def _only_template(thing: Object) -> Object:
    metadata = {key: thing["metadata"][key] for key in ("namespace", "name")}
    conditions = (thing.get("status") or {}).get("conditions") or ()
    return {"kind": thing["kind"], "metadata": metadata, "spec": _bare(thing["spec"]), "status": {"conditions": conditions}}


def _bare(spec: Object) -> Object:
    template = (spec.get("jobTemplate", {}).get("spec") or spec).get("template") or {}
    return {"template": {"metadata": template.get("metadata"), "spec": {"hostNetwork": (template.get("spec") or {}).get("hostNetwork")}}}


def _is_over(job: Object) -> bool:
    return any(part["type"] in ("Complete", "Failed") and part["status"] == "True" for part in job["status"]["conditions"])


def _remotes(cluster: Cluster, istio_namespace: str) -> list[Ref]:
    """The Secrets with other clusters' credentials, by name only."""
    things = cluster.list(SECRETS(istio_namespace), metadata_only=True, label_selector=REMOTE_CLUSTER_SELECTOR)
    return [Ref("Secret", istio_namespace, thing["metadata"]["name"]) for thing in things]
