# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""A cluster in memory: objects by path, versions that are checked, pods that are injected, and requests that fail when a test says so."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from mesh_objects import Object, World, pod

from ansible_collections.meshops.istio.plugins.module_utils.cluster.errors import ClusterError, Conflict, Missing
from ansible_collections.meshops.istio.plugins.module_utils.cluster.paths import path_of, resource_at
from ansible_collections.meshops.istio.plugins.module_utils.mesh.snapshot import Mesh

NOUNS = {
    "mutating": "MutatingWebhookConfiguration",
    "validating": "ValidatingWebhookConfiguration",
    "namespaces": "Namespace",
    "services": "Service",
    "endpoint_slices": "EndpointSlice",
    "config_maps": "ConfigMap",
    "istiod_deployments": "Deployment",
}
Before = Callable[["MemoryCluster", str, str], None]


class Killed(BaseException):
    """The end of a process, which nothing handles."""


class MemoryCluster:
    """What the actions use of cluster.client.Cluster.

    Attributes:
        requests: "METHOD path" of every request.
        fail: number of the request that fails, from 1.
        lost: whether the failing request is carried out and only its answer is lost.
        kill: number of the request from which on the process is dead.
        before: called before every request, to let somebody else do something.
    """

    def __init__(self, world: World | None = None) -> None:
        self.objects: dict[str, Object] = {}
        self.requests: list[str] = []
        self.fail: int | None = None
        self.lost = False
        self.kill: int | None = None
        self.before: Before | None = None
        self._version = 100
        for things in (world or World()).raw.values():
            for thing in things:
                self.put(thing)

    def put(self, thing: Object) -> None:
        """As if somebody else had written it."""
        self._store(path_of(thing), deepcopy(thing))

    def state(self) -> dict[str, Object]:
        """Everything, without what changes by writing the same again."""
        found = deepcopy(self.objects)
        for thing in found.values():
            for name in ("resourceVersion", "uid"):
                thing["metadata"].pop(name, None)
        return found

    def mesh(self) -> Mesh:
        things = list(deepcopy(self.objects).values())
        return Mesh({noun: [thing for thing in things if thing["kind"] == kind] for noun, kind in NOUNS.items()})

    def writes(self) -> list[str]:
        return [request for request in self.requests if not request.startswith("GET")]

    def get(self, path: str) -> Object | None:
        return self._request("GET", path, lambda: deepcopy(self.objects.get(path)))

    def list(
        self, path: str, *, metadata_only: bool = False, label_selector: str = "", field_selector: str = "", trim: Any = None
    ) -> list[Object]:
        del metadata_only, field_selector
        return self._request("GET", path, lambda: [trim(one) if trim else one for one in self._at(path, label_selector)])

    def create(self, path: str, body: Object, *, dry_run: bool = False) -> Object:
        if dry_run:
            return self._request("GET", path, lambda: self._birth(path, body))
        return self._request("POST", path, lambda: self._create(body))

    def replace(self, path: str, body: Object) -> Object:
        return self._request("PUT", path, lambda: self._replace(path, body))

    def merge_patch(self, path: str, body: Object) -> Object:
        return self._request("PATCH", path, lambda: self._replace(path, _merged(self._existing(path), body)))

    def delete(self, path: str, *, uid: str = "", resource_version: str = "", propagation: str = "") -> bool:
        del uid, propagation
        return self._request("DELETE", path, lambda: self._delete(path, resource_version))

    def _request(self, method: str, path: str, act: Callable[[], Any]) -> Any:
        self.requests.append(f"{method} {path}")
        if self.kill and len(self.requests) >= self.kill:
            raise Killed
        if self.before:
            self.before(self, method, path)
        failing = len(self.requests) == self.fail
        if failing and not self.lost:
            raise ClusterError(f"{method} {path} is refused.", status=403)
        result = act()
        if failing:
            raise ClusterError(f"{method} {path} gives no answer.", reason="Unreachable")
        return result

    def _at(self, path: str, label_selector: str) -> list[Object]:
        resource = resource_at(path)
        namespace = path.split("/namespaces/")[1].split("/")[0] if "/namespaces/" in path else None
        wanted = dict(part.split("=") for part in label_selector.split(",") if part)
        return [
            deepcopy(thing)
            for thing in self.objects.values()
            if resource
            and thing["kind"] == resource.kind
            and namespace in (None, thing["metadata"].get("namespace"))
            and wanted.items() <= thing["metadata"].get("labels", {}).items()
        ]

    def _birth(self, path: str, body: Object) -> Object:
        """A pod as the injectors make it, or the API server's refusal."""
        namespace = path.split("/")[4]
        verdict = self.mesh().verdict(namespace, body["metadata"].get("labels"))
        if verdict.outcome.value == "rejected":
            raise ClusterError("refused", status=500, detail='failed calling webhook "rev.namespace.sidecar-injector.istio.io"')
        return pod(namespace, "dry-run", verdict.revision)

    def _existing(self, path: str) -> Object:
        if path not in self.objects:
            raise Missing(f"{path} does not exist.", status=404)
        return deepcopy(self.objects[path])

    def _create(self, body: Object) -> Object:
        path = path_of(body)
        if path in self.objects:
            raise Conflict(f"{path} exists already.", status=409)
        return self._store(path, {**deepcopy(body), "metadata": {**body["metadata"], "creationTimestamp": "2026-11-30T20:00:00Z"}})

    def _replace(self, path: str, body: Object) -> Object:
        current = self._existing(path)["metadata"]["resourceVersion"]
        if body["metadata"].get("resourceVersion") not in (None, current):
            raise Conflict(f"{path} has changed.", status=409)
        return self._store(path, deepcopy(body))

    def _delete(self, path: str, resource_version: str) -> bool:
        if path not in self.objects:
            return False
        if resource_version not in ("", self.objects[path]["metadata"]["resourceVersion"]):
            raise Conflict(f"{path} has changed.", status=409)
        del self.objects[path]
        return True

    def _store(self, path: str, thing: Object) -> Object:
        self._version += 1
        if thing["metadata"].get("annotations") == {}:
            del thing["metadata"]["annotations"]  # the API server keeps no empty maps
        thing["metadata"]["resourceVersion"] = str(self._version)
        self.objects[path] = thing
        return deepcopy(thing)


def _merged(target: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, dict):
        return deepcopy(patch)
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merged(merged.get(key), value)
    return merged
