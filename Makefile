# Each target is one trainyard command; the recipe below only makes the command itself.
PYTHON ?= python3
VENV := .trainyard/venv
TRAINYARD := $(VENV)/bin/trainyard

.DEFAULT_GOAL := help
.PHONY: help demo test up down images check lint lock

help: ## Show this list.
	@grep -E '^[a-z]+:.*## ' Makefile | sed 's/:.*## /\t/' | expand -t 10

demo: $(TRAINYARD) ## Train a real model on a real cluster, from nothing, and prove it.
	@$(TRAINYARD) demo

test: $(TRAINYARD) ## Lint, render and schema tests, live tests; report in build/.
	@$(TRAINYARD) test

up: $(TRAINYARD) ## Start the cluster (kind where an engine answers, else the embedded node).
	@$(TRAINYARD) up

down: $(TRAINYARD) ## Stop the cluster and leave the host as it was.
	@$(TRAINYARD) down

images: $(TRAINYARD) ## Build the container images.
	@$(TRAINYARD) images

check: $(TRAINYARD) ## Lint and the tests that need no cluster.
	@$(TRAINYARD) test --static

lock: ## Renew requirements.lock from pyproject.toml (needs uv).
	uv pip compile pyproject.toml --group build --group test --universal --python-version 3.11 \
	    --generate-hashes --no-emit-index-url --no-emit-find-links --no-header -q -o requirements.lock

$(TRAINYARD): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "Trainyard needs Python 3.11 or newer with venv. On Debian or Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@echo "Installing the harness into $(VENV)"
	@$(PYTHON) -m venv --clear $(VENV)
	@$(VENV)/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(VENV)/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
