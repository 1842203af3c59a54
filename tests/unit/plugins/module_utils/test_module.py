# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable

import pytest
from ansible.module_utils import basic
from fake_api import TOKEN, FakeApi

from ansible_collections.meshops.istio.plugins.module_utils import _module
from ansible_collections.meshops.istio.plugins.module_utils._argspec import SAMPLE, ArgumentSpec
from ansible_collections.meshops.istio.plugins.module_utils._result import diff_of
from ansible_collections.meshops.istio.plugins.module_utils.cluster.paths import NAMESPACES
from ansible_collections.meshops.istio.plugins.module_utils.mesh.refusal import Refusal

Run = Callable[..., dict[str, Any]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], api: FakeApi) -> Run:
    """Run a module body with parameters and return what Ansible would read."""

    def running(body: Callable[[Any, Any], None], **params: Any) -> dict[str, Any]:
        arguments = {"host": api.url, "api_key": TOKEN, **params}
        monkeypatch.setattr(basic, "_ANSIBLE_ARGS", json.dumps({"ANSIBLE_MODULE_ARGS": arguments}).encode())
        monkeypatch.setattr(basic, "_ANSIBLE_PROFILE", "legacy", raising=False)

        def main() -> None:
            module = _module.mesh_module(SAMPLE)
            with _module.failing_readably(module) as cluster:
                body(module, cluster)

        with pytest.raises(SystemExit):
            main()
        result: dict[str, Any] = json.loads(capsys.readouterr().out)
        return result

    return running


def test_a_module_has_its_options_and_the_shared_ones(run: Run) -> None:
    result = run(lambda module, _cluster: module.exit_json(namespace=module.params["istio_namespace"], sample=module.params["sample_size"]))

    assert (result["namespace"], result["sample"]) == ("istio-system", 20)


def test_a_refusal_ends_the_module_with_its_sentence_and_details(run: Run) -> None:
    def refuse(_module: Any, _cluster: Any) -> None:
        raise Refusal('revision "old" is in use. Move them first.', blockers=["pod shop/web"])

    result = run(refuse)

    assert result["failed"]
    assert result["msg"] == 'revision "old" is in use. Move them first.'
    assert result["blockers"] == ["pod shop/web"]


def test_a_cluster_that_refuses_ends_the_module_without_a_traceback(run: Run, api: FakeApi) -> None:
    api.refuse("GET", NAMESPACES(), 401, "Unauthorized", "Unauthorized")
    result = run(lambda _module, cluster: cluster.list(NAMESPACES()))

    assert result["msg"].startswith("cannot read namespaces: the API server does not accept the credentials (401).")
    assert (result["status"], result["reason"]) == (401, "Unauthorized")
    assert "exception" not in result
    assert TOKEN not in json.dumps(result)


def test_what_nobody_expected_surfaces(run: Run) -> None:
    with pytest.raises(ZeroDivisionError):
        run(lambda _module, _cluster: 1 / 0)


@pytest.mark.parametrize(("library", "told"), [("kubernetes", "kubernetes>=31,!=36.0.0"), ("kubernetes.core", "ansible-galaxy collection")])
def test_a_missing_library_is_told_whatever_the_options(run: Run, monkeypatch: pytest.MonkeyPatch, library: str, told: str) -> None:
    monkeypatch.setattr(_module, "IMPORT_ERRORS", {library: "Traceback …"})
    if library == "kubernetes.core":
        monkeypatch.setattr(_module, "AUTH", ArgumentSpec())
    result = run(lambda _module, _cluster: None, verify_ssl=False)

    assert result["failed"]
    assert told in result["msg"]
    assert TOKEN not in json.dumps(result)


def test_a_diff_is_there_in_diff_mode_only(run: Run) -> None:
    def show(module: Any, _cluster: Any) -> None:
        module.exit_json(**diff_of(module, {"revision": "1-30"}, {"revision": "1-31"}, "tag prod"))

    assert "diff" not in run(show)
    assert run(show, _ansible_diff=True)["diff"] == {
        "before": {"revision": "1-30"},
        "after": {"revision": "1-31"},
        "before_header": "tag prod",
        "after_header": "tag prod",
    }


def test_every_module_util_can_be_imported_without_any_library() -> None:
    utils = Path(_module.__file__).parent
    names = [".".join(path.relative_to(utils).with_suffix("").parts) for path in sorted(utils.rglob("*.py")) if path.name != "__init__.py"]
    package = "ansible_collections.meshops.istio.plugins.module_utils"
    code = (
        f"import sys; sys.path.insert(0, {str(utils.parents[4])!r})\n"
        "for name in ('kubernetes', 'urllib3', 'yaml', 'websocket', 'requests', 'ansible_collections.kubernetes'):\n"
        "    sys.modules[name] = None\n" + "".join(f"import {package}.{name}\n" for name in names)
    )

    assert "cluster.client" in names
    subprocess.run([sys.executable, "-c", code], check=True)
