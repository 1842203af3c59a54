#!/usr/bin/env bash
# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

# See that the system programs the lab and the tests call are there; on Debian as root install what is missing.
set -euo pipefail

declare -A package=([git]=git [ip]=iproute2 [unshare]=util-linux [nsenter]=util-linux [setpriv]=util-linux)

missing() {
    local program
    for program in "${!package[@]}"; do
        command -v "$program" >/dev/null || echo "$program"
    done
}

packages_of() {
    local program
    for program in "$@"; do
        echo "${package[$program]}"
    done | sort -u
}

mapfile -t lacking < <(missing)
((${#lacking[@]})) || exit 0
mapfile -t packages < <(packages_of "${lacking[@]}")

if ((EUID == 0)) && command -v apt-get >/dev/null; then
    echo "system: installing ${packages[*]}"
    export DEBIAN_FRONTEND=noninteractive
    apt-get -qq update
    apt-get -qq install --yes --no-install-recommends "${packages[@]}" >/dev/null
    mapfile -t lacking < <(missing)
    ((${#lacking[@]})) || exit 0
fi

echo "These programs are missing: ${lacking[*]}. Install them (Debian packages: ${packages[*]}) and run make again." >&2
exit 1
