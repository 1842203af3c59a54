#!/usr/bin/env bash
# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

# Make .venv in the checkout with the newest Python found (PYTHON=... picks one) and install the requirement files given.
#   tests/setup-venv.sh VENV REQUIREMENTS...
set -euo pipefail

venv=$1
shift

# A pyenv shim exists for Pythons that are not selected and then fails, so each candidate has to run once.
works() {
    "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

newest_python() {
    local candidate
    for candidate in ${PYTHON:-python3.14 python3.13 python3.12 python3.11 python3}; do
        if works "$candidate"; then
            echo "$candidate"
            return
        fi
    done
    echo "No working Python found (tried: ${PYTHON:-python3.14 … python3.11, python3}): Python 3.11 or newer with its venv module is needed." \
        "Install one (on Debian: python3-venv) or name it: make PYTHON=/path/to/python3.13." >&2
    return 1
}

if ! works "$venv/bin/python"; then
    python=$(newest_python)
    echo "venv: $("$python" --version) from $(command -v "$python")"
    "$python" -m venv --clear "$venv"
fi

# --upgrade: "newest ansible-core" is a promise; the requirement files hold only lower bounds.
install=()
for file in "$@"; do
    install+=(--requirement "$file")
done
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --upgrade pip "${install[@]}"
"$venv/bin/ansible" --version | sed -n 's/^ansible \[\(core .*\)\]/venv: ansible-\1/p'
