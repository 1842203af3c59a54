# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The injectors of a cluster: which webhook entries can inject pods, which control plane is behind each, and whether it can be called."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any
from urllib.parse import urlsplit

from .names import DEFAULT, INJECTOR_CONFIG, INJECTOR_SUFFIX, ISTIOD_LABELS, REVISION_LABEL, TAG_LABEL, with_revision
from .policy import InjectionPolicy, parse_policy
from .selectors import Labels, Selector
from .versions import version_of_image

Object = Mapping[str, Any]


class Reachability(Enum):
    """Whether the API server's call to an injector can succeed; the value says what is wrong."""

    READY = "ready"
    EXTERNAL = "outside this cluster"
    NO_SERVICE = "its Service does not exist"
    NO_ENDPOINTS = "its Service has no ready endpoint"
    NO_CA_BUNDLE = "its webhook has no caBundle yet"
    WRONG_CA_BUNDLE = "its webhook has a caBundle that the certificate of its istiod does not come from"

    @property
    def ok(self) -> bool:
        return self in (Reachability.READY, Reachability.EXTERNAL)


@dataclass(frozen=True)
class Injector:
    """A webhook entry that can inject a pod, as the API server sees it now.

    Attributes:
        service: where it calls: "namespace/name" of a Service, or the host of one outside this cluster.
        policy: what its istiod decides by itself, None when that cannot be read.
        version: of its istiod, None when that cannot be seen.
        conditional: it has matchConditions, which are not evaluated here; whatever its selectors match counts as matched.
        optional: a pod is born without it when the call fails (failurePolicy Ignore).
        for_pods: its rules cover the creation of pods.
    """

    configuration: str
    entry: str
    revision: str
    tag: str | None
    namespaces: Selector
    objects: Selector
    service: str
    reachable: Reachability
    policy: InjectionPolicy | None = None
    version: str | None = None
    conditional: bool = False
    optional: bool = False
    for_pods: bool = True

    @property
    def name(self) -> str:
        """How the injector is called in sentences: by its tag and revision."""
        return f'tag "{self.tag}" of revision "{self.revision}"' if self.tag else f'revision "{self.revision}"'

    def acts_on(self, namespace: Labels, pod: Labels) -> bool:
        """Whether the API server calls it for a pod with these labels in a namespace with these labels."""
        return self.for_pods and self.namespaces.matches(namespace) and self.objects.matches(pod)


def is_injecting_entry(entry: Object) -> bool:
    """Whether a webhook entry is one of Istio's injectors, whatever its configuration is called and whoever manages it."""
    return str(entry.get("name", "")).endswith(INJECTOR_SUFFIX)


def is_injector_refusal(message: str) -> bool:
    """Whether the API server refused a pod because an injector could not be called or denied it, not because of somebody else's rule."""
    return INJECTOR_SUFFIX in message


def ready_services(endpoint_slices: Iterable[Object]) -> set[str]:
    """The Services ("namespace/name") with at least one ready endpoint."""
    return {
        f"{part['metadata']['namespace']}/{part['metadata'].get('labels', {}).get('kubernetes.io/service-name')}"
        for part in endpoint_slices
        if any((endpoint.get("conditions") or {}).get("ready") is not False for endpoint in part.get("endpoints") or ())
    }


def injectors_of(
    configurations: Iterable[Object],
    services: Iterable[Object],
    endpoint_slices: Iterable[Object],
    config_maps: Iterable[Object],
    deployments: Iterable[Object],
) -> list[Injector]:
    """Every injecting webhook entry of the cluster, from the API server's own objects.

    Args:
        configurations: the MutatingWebhookConfigurations.
        services: those of the namespaces that injectors call.
        endpoint_slices: of the same namespaces.
        config_maps: of the same namespaces.
        deployments: the istiods.
    """
    surroundings = _Surroundings(configurations := list(configurations), services, endpoint_slices, config_maps, deployments)
    return [surroundings.injector(configuration, entry) for configuration, entry in _entries(configurations)]


def service_of(entry: Object) -> str:
    """Where a webhook entry calls: "namespace/name" of a Service, or the host of a URL, without what may be secret in the rest of it."""
    client = entry["clientConfig"]
    service = client.get("service")
    return f"{service['namespace']}/{service['name']}" if service else urlsplit(str(client.get("url"))).netloc.rpartition("@")[2]


def istiod_version(deployment: Object) -> str | None:
    """The version that an istiod Deployment runs, by the tag of its image or else by its label."""
    containers = deployment["spec"]["template"]["spec"]["containers"]
    images = [container["image"] for container in containers if container.get("name") == "discovery"]
    return version_of_image(images[0] if images else "") or _labels(deployment).get("app.kubernetes.io/version")


def _entries(configurations: Iterable[Object]) -> Iterator[tuple[Object, Object]]:
    for configuration in configurations:
        for entry in configuration.get("webhooks") or ():
            if is_injecting_entry(entry):
                yield configuration, entry


class _Surroundings:
    """What has to be there for an injector to work."""

    def __init__(
        self,
        configurations: list[Object],
        services: Iterable[Object],
        endpoint_slices: Iterable[Object],
        config_maps: Iterable[Object],
        deployments: Iterable[Object],
    ) -> None:
        self._services = {_key(service): service for service in services}
        self._ready = ready_services(endpoint_slices)
        self._config_maps = {_key(config_map): config_map for config_map in config_maps}
        self._versions = {
            (deployment["metadata"]["namespace"], _labels(deployment).get(REVISION_LABEL)): istiod_version(deployment)
            for deployment in deployments
            if ISTIOD_LABELS.items() <= _labels(deployment).items()
        }
        self._trusted: dict[str, set[str]] = {}
        for configuration, entry in _entries(configurations):
            # istiod keeps the caBundle right in the configurations that carry its revision (pkg/webhooks/webhookpatch.go), and in no other.
            labels = _labels(configuration)
            if TAG_LABEL not in labels and labels.get(REVISION_LABEL) == self._revision_called(entry, configuration):
                self._trusted.setdefault(service_of(entry), set()).update(_certificates(entry))

    def injector(self, configuration: Object, entry: Object) -> Injector:
        service, revision = service_of(entry), self._revision_called(entry, configuration)
        home = service.split("/")[0]
        external = self._is_external(entry)
        alias = self._services.get(service, {}).get("spec", {}).get("externalName") if external else None
        return Injector(
            configuration=configuration["metadata"]["name"],
            entry=entry["name"],
            revision=revision,
            tag=_labels(configuration).get(TAG_LABEL),
            namespaces=Selector.parse(entry.get("namespaceSelector")),
            objects=Selector.parse(entry.get("objectSelector")),
            service=alias or service,
            reachable=Reachability.EXTERNAL if external else self._reachability(entry),
            policy=None if external else self._policy(home, revision),
            version=None if external else self._versions.get((home, revision)),
            conditional=bool(entry.get("matchConditions")),
            optional=entry.get("failurePolicy") == "Ignore",
            for_pods=any(map(_is_about_new_pods, entry.get("rules") or ())),
        )

    def _revision_called(self, entry: Object, configuration: Object) -> str:
        """The revision whose istiod answers.

        The Service decides, not the label of the configuration: when istioctl installs an Istio without a revision over a default tag
        with --auto-inject-namespaces, the entry of that option stays in the tag's webhook and goes on calling the revision from before.
        """
        service = self._services.get(service_of(entry), {})
        called = {**(service.get("metadata", {}).get("labels") or {}), **(service.get("spec", {}).get("selector") or {})}
        return str(called.get(REVISION_LABEL) or _labels(configuration).get(REVISION_LABEL, DEFAULT))

    def _is_external(self, entry: Object) -> bool:
        """Whether the istiod is elsewhere: behind a URL, or a Service that is only another name for a host."""
        service = self._services.get(service_of(entry), {})
        return "service" not in entry["clientConfig"] or service.get("spec", {}).get("type") == "ExternalName"

    def _reachability(self, entry: Object) -> Reachability:
        service, certificates = service_of(entry), _certificates(entry)
        if service not in self._services:
            return Reachability.NO_SERVICE
        if service not in self._ready:
            return Reachability.NO_ENDPOINTS
        if not certificates:
            return Reachability.NO_CA_BUNDLE
        trusted = self._trusted.get(service)
        # One certificate in common is enough: while a CA is replaced, bundles hold the old one and the new one.
        return Reachability.READY if not trusted or trusted & certificates else Reachability.WRONG_CA_BUNDLE

    def _policy(self, home: str, revision: str) -> InjectionPolicy | None:
        config_map = self._config_maps.get(f"{home}/{with_revision(INJECTOR_CONFIG, revision)}", {})
        return parse_policy((config_map.get("data") or {}).get("config") or "")


def _labels(thing: Object) -> Mapping[str, str]:
    return thing["metadata"].get("labels") or {}


def _key(thing: Object) -> str:
    return f"{thing['metadata']['namespace']}/{thing['metadata']['name']}"


def _certificates(entry: Object) -> set[str]:
    """The certificates that the API server trusts when it calls."""
    bundle = entry["clientConfig"].get("caBundle") or ""
    try:
        text = base64.b64decode(bundle, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        text = bundle
    return {"".join(part.split()) for part in text.split("-----END CERTIFICATE-----") if part.strip()}


def _is_about_new_pods(rule: Object) -> bool:
    """Whether a rule of a webhook covers the creation of pods (apiserver: pkg/admission/plugin/webhook/predicates/rules)."""
    resources = {resource.partition("/")[::2] for resource in rule.get("resources") or ()}
    return (
        not {"CREATE", "*"}.isdisjoint(rule.get("operations") or ())
        and not {"", "*"}.isdisjoint(rule.get("apiGroups") or ())
        and not {"v1", "*"}.isdisjoint(rule.get("apiVersions") or ())
        and any(resource in ("pods", "*") and sub in ("", "*") for resource, sub in resources)
        and rule.get("scope", "*") in ("*", "Namespaced")
    )
