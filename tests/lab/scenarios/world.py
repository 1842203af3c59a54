# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The world of a scenario: a mesh on the lab, made and looked at as a user would, never through the collection that is tested."""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import collection
import helm
import manifests
from collection import Play, Result
from helm import OPERATOR
from kubectl import items, kubectl, must, run
from waiting import eventually

ISTIO_NAMESPACE = "istio-system"
ISTIOCTL = {"stable": "istioctl-old", "canary": "istioctl-new"}
"""Which istioctl installs a revision, so that every scenario spans two Istio versions."""

POD_SECONDS = 180
"""How long pods may take to become ready; Envoys start slowly when many start at once."""

LABELLED = (
    "deployments,services,configmaps,serviceaccounts,roles,rolebindings,clusterroles,clusterrolebindings,horizontalpodautoscalers,"
    "networkpolicies,poddisruptionbudgets,mutatingwebhookconfigurations,validatingwebhookconfigurations"
)
WATCHED = f"namespaces,pods,{LABELLED}"
SHARED = ("istio-ca-secret", "istio-ca-root-cert", "istio-reader-service-account")
VOLATILE = {"managedFields", "resourceVersion", "status", "caBundle", "failurePolicy"}
"""What the API server, the nodes and istiod write by themselves."""


class Rejected(Exception):
    """The API server does not admit a pod; the message is its sentence."""


class Mesh:
    """A cluster with Istio on it. Making things is quick to write here, and takes real seconds."""

    def __init__(self, files: Path) -> None:
        self._files = files

    # Making a world

    def revisions(self, *names: str, settings: Sequence[str] = ()) -> None:
        """Install control planes with istioctl: "stable" of the old Istio version, "canary" of the new; settings as in ``--set``."""
        options = [word for setting in settings for word in ("--set", setting)]
        for name in names:
            must(ISTIOCTL[name], "install", "--skip-confirmation", "--filename", OPERATOR, "--revision", name, *options)

    def helm(self, revision: str = "", tags: Sequence[str] = (), *, version: str = "new", default_revision: str = "default") -> None:
        """Install a control plane with Helm, "" without a revision, with tags that its release owns; the base chart first.

        Istio "old" or "new"; default_revision as in the base chart: whom the default validator asks, "" for no default validator.
        """
        helm.base(ISTIO_NAMESPACE, version, default_revision)
        helm.istiod(ISTIO_NAMESPACE, version, revision, tags)

    def tag(self, name: str, revision: str) -> None:
        """Set a revision tag with istioctl."""
        must(ISTIOCTL[revision], "tag", "set", name, "--revision", revision, "--overwrite", "--skip-confirmation")

    def namespace(
        self,
        name: str,
        labels: Mapping[str, str] | None = None,
        workloads: Sequence[str] = (),
        *,
        pod_labels: Mapping[str, str] | None = None,
        wait: bool = True,
    ) -> Namespace:
        """A namespace, with workloads that are ready when this returns; several are quicker with wait=False and one ``settle()``."""
        things = [manifests.namespace(name, labels or {})]
        for workload in workloads:
            things += manifests.workload(workload, name, pod_labels or {})
        self.apply(*things)
        if wait:
            settle(name)
        return Namespace(name)

    def apply(self, *things: Mapping[str, Any]) -> None:
        kubectl("apply", "--filename=-", manifests=[dict(thing) for thing in things])

    def user(self, name: str, *rules: Mapping[str, Sequence[str]]) -> str:
        """A kubeconfig of a user who may read everything, and what the rules add to it."""
        reading = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}
        subject = {"kind": "ServiceAccount", "name": name, "namespace": "default"}
        role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": [reading, *rules]}
        binding = {
            "apiVersion": role["apiVersion"],
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "subjects": [subject],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        }
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": "default"}}
        self.apply(account, role, binding)
        token = kubectl("create", "token", name, "--namespace=default", "--duration=1h").strip()
        config = json.loads(kubectl("config", "view", "--raw", "--flatten", "--output=json"))
        config["users"] = [{"name": name, "user": {"token": token}}]
        config["contexts"] = [{"name": name, "context": {"cluster": config["clusters"][0]["name"], "user": name}}]
        config["current-context"] = name
        path = self._files / f"{name}.kubeconfig"
        path.write_text(json.dumps(config))
        return str(path)

    # Acting through the collection

    def module(
        self, name: str, /, *, check: bool = False, diff: bool = False, environment: Mapping[str, str] | None = None, **params: Any
    ) -> Result:
        """Run a module that is expected to succeed."""
        result = collection.module(name, params, check=check, diff=diff, environment=environment)
        assert not result.get("failed"), f"{name} failed: {result.get('msg')}\n{result.get('exception', '')}"
        return result

    def refusal(self, name: str, /, *, environment: Mapping[str, str] | None = None, **params: Any) -> str:
        """Run a module that is expected to refuse; what it says."""
        result = collection.module(name, params, environment=environment)
        assert result.get("failed"), f"{name} should have refused, but returned {dict(result)}"
        assert "Traceback" not in json.dumps(result), result.get("exception")
        return str(result.msg)

    def changes_once(self, name: str, /, **params: Any) -> Result:
        """What every module promises: check mode changes nothing and foretells it, the run does it, the second run has nothing to do."""
        with self.unchanged():
            foretold = self.module(name, check=True, diff=True, **params)
        done = self.module(name, diff=True, **params)
        with self.unchanged():
            again = self.module(name, diff=True, **params)
        assert (foretold.changed, done.changed, again.changed) == (True, True, False)
        assert _timeless(foretold.diff) == _timeless(done.diff)
        assert foretold.diff["before"] != foretold.diff["after"]
        assert again.diff["before"] == again.diff["after"]
        assert foretold.keys() == done.keys() == again.keys()
        return done

    def playbook(self, name: str, /, tags: Sequence[str] = (), *, check: bool = False, **extra_vars: Any) -> Play:
        """Run a playbook of the collection to its end, whatever that is."""
        return collection.playbook(name, extra_vars, tags, check=check)

    def playbook_killed(self, name: str, when: Callable[[], bool], /, **extra_vars: Any) -> None:
        """Run a playbook and kill it, with all its children, as soon as something holds."""
        collection.playbook_killed(name, extra_vars, when)

    # Looking at it

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Nothing that matters is created, changed or deleted meanwhile."""
        with self.only_losing() as lost:
            yield
        assert not lost, f"deleted: {', '.join(lost)}"

    @contextmanager
    def only_losing(self) -> Iterator[list[str]]:
        """Nothing that matters is created or changed meanwhile; afterwards the list has the names of what was deleted."""
        lost: list[str] = []
        before = self._everything()
        yield lost
        after = self._everything()
        differing = sorted(name for name, thing in after.items() if before.get(name) != thing)
        assert not differing, f"changed: {', '.join(differing)}"
        lost += sorted(before.keys() - after.keys())

    def _everything(self) -> dict[str, Any]:
        return {_name_of(thing): _lasting(thing) for thing in items(WATCHED, "--all-namespaces") if not _is_lock(thing)}

    def proxies(self, namespace: str = "") -> dict[str, int]:
        """Revision → proxies of a namespace, or of all, asked of every istiod inside its own pod."""
        counted: Counter[str] = Counter()
        for pod in items("pods", f"--namespace={ISTIO_NAMESPACE}", "--selector=app=istiod", "--field-selector=status.phase=Running"):
            name, revision = pod["metadata"]["name"], pod["metadata"]["labels"]["istio.io/rev"]
            request = ("pilot-discovery", "request", "GET", "/debug/syncz")
            answer = kubectl("exec", name, f"--namespace={ISTIO_NAMESPACE}", "--container=discovery", "--", *request)
            for proxy in json.loads(answer):
                if proxy.get("istio_version") and (not namespace or proxy["proxy"].endswith(f".{namespace}")):
                    counted[revision] += 1
        return dict(counted)

    def tags(self) -> dict[str, str]:
        """Tag → revision, as istioctl sees them."""
        listed = json.loads(must("istioctl-new", "tag", "list", "--output=json"))
        return {entry["tag"]: entry["revision"] for entry in listed if entry["tag"]}

    def control_planes(self) -> set[str]:
        """The revisions that have an istiod Deployment."""
        deployments = items("deployments", f"--namespace={ISTIO_NAMESPACE}", "--selector=app=istiod")
        return {deployment["metadata"]["labels"]["istio.io/rev"] for deployment in deployments}

    def labelled_for(self, revision: str) -> list[str]:
        """What a revision has left behind: objects with its label, except leases and what is shared, where the last installer signs."""
        found = items(LABELLED, "--all-namespaces", f"--selector=istio.io/rev={revision}")
        return sorted(_name_of(thing) for thing in found if thing["metadata"]["name"] not in SHARED)

    def config_is_writable(self, namespace: str) -> bool:
        """Whether the API server takes Istio configuration now; nothing is stored."""
        text = json.dumps(manifests.virtual_service("dry-run", namespace))
        return run("kubectl", "create", "--dry-run=server", "--filename=-", text=text).returncode == 0

    def shared_objects(self) -> set[str]:
        """Istio's CRDs, its custom resources, and what all revisions have in common."""
        definitions = [crd for crd in items("customresourcedefinitions") if crd["spec"]["group"].endswith(".istio.io")]
        kinds = ",".join(crd["metadata"]["name"] for crd in definitions)
        shared = [thing for thing in items("secrets,configmaps,serviceaccounts", "--all-namespaces") if thing["metadata"]["name"] in SHARED]
        return {_name_of(thing) for thing in [*definitions, *items(kinds, "--all-namespaces"), *shared]}


@dataclass(frozen=True)
class Namespace:
    """A namespace of the mesh."""

    name: str

    def injector_of_a_new_pod(self, labels: Mapping[str, str] | None = None) -> str | None:
        """The revision that injects a pod born now, None when nobody does, asked of the API server by dry run.

        Raises:
            Rejected: the pod would not be admitted.
        """
        text = json.dumps(manifests.pod("born-now", self.name, labels or {}))
        done = run("kubectl", "create", "--dry-run=server", "--output=json", "--filename=-", text=text)
        if done.returncode != 0:
            raise Rejected(done.stderr.strip())
        return revision_of(json.loads(done.stdout))

    def revisions(self) -> dict[str, dict[str | None, int]]:
        """Workload → revision → pods, from the pods themselves; None stands for no sidecar."""
        counted: dict[str, Counter[str | None]] = {}
        for pod in items("pods", f"--namespace={self.name}"):
            counted.setdefault(pod["metadata"]["labels"].get("app", pod["metadata"]["name"]), Counter())[revision_of(pod)] += 1
        return {workload: dict(counter) for workload, counter in counted.items()}

    def labels(self) -> dict[str, str]:
        """The two labels that decide about injection, where present."""
        labels = json.loads(kubectl("get", "namespace", self.name, "--output=json"))["metadata"]["labels"]
        return {key: value for key, value in labels.items() if key in ("istio.io/rev", "istio-injection")}

    def label(self, *labels: str) -> None:
        """Set labels by hand: ``"istio.io/rev=prod"``, ``"istio-injection-"``."""
        kubectl("label", "namespace", self.name, "--overwrite", *labels)

    def restart(self) -> None:
        """Restart every Deployment by hand, and wait until only new pods are left."""
        kubectl("rollout", "restart", "deployment", f"--namespace={self.name}")
        settle(self.name)


def settle(namespace: str = "") -> None:
    """Wait until every Deployment of a namespace, or of all, is ready and no old pod is left."""
    where = f"--namespace={namespace}" if namespace else "--all-namespaces"
    for deployment in items("deployments", where):
        name, home = deployment["metadata"]["name"], deployment["metadata"]["namespace"]
        kubectl("rollout", "status", f"deployment/{name}", f"--namespace={home}", f"--timeout={POD_SECONDS}s")
    assert eventually(lambda: not [pod for pod in items("pods", where) if pod["metadata"].get("deletionTimestamp")])


def revision_of(pod: Mapping[str, Any]) -> str | None:
    """The revision that injected a pod, as istiod stamps it into its status; None when it has no sidecar."""
    status = (pod["metadata"].get("annotations") or {}).get("sidecar.istio.io/status")
    return json.loads(status)["revision"] if status else None


def secrets_of(kubeconfig: str) -> Iterable[str]:
    """Whatever in a kubeconfig must never be printed, as it stands there and decoded."""
    for entry in json.loads(Path(kubeconfig).read_text())["users"]:
        for key in ("token", "client-key-data"):
            if value := entry["user"].get(key):
                yield value
                if key.endswith("-data"):
                    yield from base64.b64decode(value).decode().splitlines()[1:-1]


def _name_of(thing: Mapping[str, Any]) -> str:
    metadata = thing["metadata"]
    return f"{thing['kind']} {metadata.get('namespace', '')}/{metadata['name']}"


def _lasting(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _lasting(part) for key, part in value.items() if key not in VOLATILE}
    return [_lasting(part) for part in value] if isinstance(value, list) else value


def _timeless(value: Any) -> Any:
    """Without times of day: a foretold one is another than the real one."""
    return json.loads(re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "", json.dumps(value)))


def _is_lock(thing: Mapping[str, Any]) -> bool:
    """Istiods elect their leaders by ConfigMaps and annotate them all the time."""
    return "control-plane.alpha.kubernetes.io/leader" in (thing["metadata"].get("annotations") or {})
