# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""How modules show what they changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible.module_utils.basic import AnsibleModule


def diff_of(module: AnsibleModule, before: Mapping[str, Any], after: Mapping[str, Any], header: str = "") -> dict[str, Any]:
    """``{"diff": …}`` to merge into a result, empty outside diff mode.

    Args:
        module: the module that is running.
        before: what was, as plain data; {} when it did not exist.
        after: what is now, or would be in check mode.
        header: what the two are, shown above them.
    """
    if not module._diff:
        return {}
    diff: dict[str, Any] = {"before": dict(before), "after": dict(after)}
    if header:
        diff.update(before_header=header, after_header=header)
    return {"diff": diff}
