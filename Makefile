# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later

.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory

# Every recipe sees the checkout as the collection meshops.istio and finds the tools of .venv first.
export PATH := $(CURDIR)/.venv/bin:$(PATH)
export ANSIBLE_COLLECTIONS_PATH := $(CURDIR)/.cache
# Molecule's new default is extensions/molecule; ours is at the top.
export MOLECULE_GLOB := molecule/*/molecule.yml
# PYTHON is what .venv is made with; everything after that runs with .venv.
unexport PYTHON

LAB := tests/lab/lab
REQUIREMENTS := requirements.txt tests/requirements.txt
VENV_STAMP := .venv/installed-$(shell cat $(REQUIREMENTS) | sha256sum | cut -c 1-16)
K ?=

.PHONY: help
help: ## Show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

## Setting up (the targets below call these when they need them)

.PHONY: venv
venv: $(VENV_STAMP) ## Python tools in .venv (PYTHON=/path/to/python picks the Python)

$(VENV_STAMP): $(REQUIREMENTS)
	@PYTHON="$(PYTHON)" tests/setup-venv.sh .venv $(REQUIREMENTS)
	@rm -f .venv/installed-*
	@touch $@

.PHONY: tree
tree: $(VENV_STAMP)
	@tests/collection_tree.py .cache

.PHONY: system
system:
	@tests/setup-system.sh

## Checks without a cluster

.PHONY: lint lint-python lint-ansible lint-docs
lint: lint-python lint-ansible lint-docs ## All linters (make -k lint shows the findings of all)

lint-python: tree ## ruff and mypy
	ruff check .
	cd .cache && mypy --config-file ../.mypy.ini -p ansible_collections.meshops.istio.plugins.module_utils

lint-ansible: tree ## yamllint and ansible-lint (production profile)
	yamllint --strict .
	ansible-lint

lint-docs: tree ## Documentation of modules and roles, changelog
	@# kubernetes.core lies in .venv, which git ignores: looked at as part of this repository, it would seem empty.
	GIT_CEILING_DIRECTORIES=$(CURDIR) antsibull-docs lint-collection-docs --plugin-docs --validate-collection-refs dependent --check-extra-docs-refs .
	antsibull-changelog lint

.PHONY: sanity
sanity: system tree ## ansible-test sanity, without containers
	tests/sanity.py

.PHONY: test-unit
test-unit: tree ## Unit tests (K=expression selects)
	pytest tests/unit -k "$(K)"

## The lab: a real Kubernetes and two real Istios, see tests/lab/README.md

.PHONY: lab
lab: system tree ## Bring the lab up (builds its programs the first time)
	@$(LAB) up

.PHONY: lab-shell
lab-shell: lab ## A shell in the lab, with KUBECONFIG and the lab's programs
	@$(LAB) shell

.PHONY: lab-down
lab-down: tree ## Shut the lab down; what was built stays cached
	@$(LAB) down

.PHONY: test-lab
test-lab: lab ## Scenarios on the lab (K=name runs one)
	$(LAB) exec -- pytest tests/lab/scenarios -k "$(K)"

.PHONY: test-lab-tool
test-lab-tool: lab ## Tests of the lab itself, with a second one beside it
	pytest tests/lab/selftest -k "$(K)"

.PHONY: molecule
molecule: lab ## Molecule scenarios of the roles, on the lab
	molecule test --all

.PHONY: demo
demo: lab ## A whole upgrade, rollback and cleanup to watch (empties the lab first)
	@$(LAB) reset
	@$(LAB) exec -- tests/demo/run

.PHONY: bench
bench: system tree ## Figures, one JSON object per line (COLD=1: the lab's builds without any cache too)
	@tests/bench/bench.py $(if $(COLD),--cold)

## All

.PHONY: test
test: ## Everything from nothing: what CI runs
	@tests/run-stages venv lint sanity test-unit lab test-lab-tool molecule test-lab

.PHONY: build
build: tree ## The archive for Galaxy
	ansible-galaxy collection build --force --output-path .cache

.PHONY: clean
clean: lab-down ## Remove .venv and .cache
	rm -rf .venv .cache
