# Two commands do everything: `make demo` and `make test`. Each sets up what it needs on first use.
#   make demo   [PORT=8000] [SANDBOX=docker|process] [MATCHES=100] [ONCE=1]
#   make extras  install what the Box2D and MuJoCo tasks need; the next `make demo` has them
#   make rollout [PACKAGE=shop]   let a script work at the tasks of a shipped application, in Docker, and keep what it did
#   make executor [CALLER=organiser]   answer programs over gRPC, for the arena of `make demo` that runs here
#   make proto  write the code that is generated from the executor's proto files anew
#   make test   [ARGS="web -k upload"]     on PostgreSQL where it is installed; on SQLite what can differ there
#   make nightly [ARGS=...]                all of it, what is slow and rarely breaks too, on both databases: before a release
#   make kubernetes-test       duels in pods of a real Kubernetes, and its faults; builds it once, as root on bookworm
#   make check  formatter, linter, types, import rules, Django's checks, migrations, fast tests
#   make coverage [ARGS=...]   which lines the tests run, on this machine only
#   make hostile [ARGS="--sandbox docker --category bombs --json FILE"]   hostile archives and players: every verdict, a clean host
#   make hostile-mutations     take every protection away once: a hostile case must notice
#   make stop   stop the arena of docker-compose.yml, and keep its data
#   make destroy   remove it with all its data, after a question
#   make lock   write the lock files anew from pyproject.toml

SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help demo extras rollout executor proto test coverage nightly kubernetes-test check static-checks release-dump hostile hostile-mutations format lock stop destroy clean

PYTHON ?= $(shell for name in python3 python3.13 python3.12 python3.11; do \
	$$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$name; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
# The lock files are complete, so nothing has to be resolved. uv installs them in a tenth of pip's time, and is installed
# first where it is missing. Of pip's settings it knows the index alone, so pip does what it could not.
UV ?= $(shell command -v uv)
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps --require-hashes --no-compile
INDEX := $(BIN)/python -m pip config list 2>/dev/null | sed -n "s/^[a-z:]*\.index-url='\(.*\)'/\1/p" | tail -n 1
install = { { test -n "$(UV)" -o -x $(BIN)/uv || $(PIP) -r .ci/uv.txt; } 2>/dev/null && \
	{ index=$$($(INDEX)); test -z "$$index" || export UV_DEFAULT_INDEX="$$index"; } && \
	$(or $(UV),$(BIN)/uv) pip install -q --system-certs --python $(BIN)/python --no-deps --require-hashes -r $(1) 2>/dev/null || \
	$(PIP) -r $(1); }
# pip compiles on one core. What is seldom imported is compiled when it is, and templates that some packages bring are no
# Python; both are passed over.
COMPILED := $(BIN)/python -m compileall -qq -j 0 -x '/(tests|pip|networkx|OpenGL|scipy|mypy|mypyc|pygments|graphql|Box2D|imageio|kubernetes|setuptools)/' $(VENV)/lib >/dev/null || true

help:
	@sed -n 's/^#   //p' Makefile

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "RL Arena needs Python 3.11 or newer; none was found." >&2; exit 1; }
	@echo "Making a virtual environment in $(VENV) ..."
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
		echo "Python has no venv module here (on Debian and Ubuntu: apt install python3-venv)." >&2; exit 1; }

# Stamps: a second start installs nothing.
$(VENV)/.runtime: requirements.txt | $(BIN)/python
	@test -e $(VENV)/.development -a $(VENV)/.development -nt requirements.txt || { \
		echo "Installing the locked dependencies ..."; $(call install,requirements.txt) && { $(COMPILED); }; }
	@touch $@

$(VENV)/.development: requirements-dev.txt requirements.txt | $(BIN)/python
	@echo "Installing the locked dependencies for development ..."
	@$(call install,requirements-dev.txt)
	@$(COMPILED)
	@touch $@

# What draws charts in browsers. Without npm, or without a network, every chart is the table that stands behind it.
NPM_CI := npm ci --ignore-scripts --no-audit --no-fund --silent --prefer-offline --fetch-retries=1 --fetch-timeout=20000
node_modules/.installed: package-lock.json
	@if ! command -v npm >/dev/null; then echo "There is no npm here: charts are shown as tables."; \
	elif echo "Installing the locked chart library ..." && $(NPM_CI); then touch $@; \
	else echo "npm could not install it: charts are shown as tables."; fi

demo: $(VENV)/.runtime node_modules/.installed
	@DEBUG=true exec $(BIN)/python manage.py demo $(if $(PORT),--port $(PORT)) $(if $(SANDBOX),--sandbox $(SANDBOX)) \
		$(if $(MATCHES),--matches $(MATCHES)) $(if $(ONCE),--once)

# Not part of the demo: its first leaderboards would wait for them.
extras: $(VENV)/.runtime
	@echo "Installing what the Box2D and MuJoCo tasks need ..."
	@$(call install,requirements-extras.txt)
	@$(COMPILED)
	@echo "Done: the next start of the arena has these tasks."

# The images that are missing are made first, from Debian packages; that needs root and takes some minutes.
PACKAGE ?= shop
rollout: $(VENV)/.runtime
	arena_kit/image/base/make-app-images.sh
	$(if $(filter wiki,$(PACKAGE)),arena_kit/image/base/make-mediawiki-image.sh)
	arena_kit/image/base/make-browser-image.sh
	$(BIN)/python -m arena_kit rollout environments/applications/$(PACKAGE) --package environments/applications/$(PACKAGE) \
	  --output data/rollouts/$(PACKAGE)-$$(date +%s)

# Beside the demo, whose agents it lets meet. Calls without a token act for CALLER.
executor: $(VENV)/.runtime
	@$(BIN)/python -c 'import grpc_reflection' 2>/dev/null || { echo "Installing what gRPC needs ..."; \
		$(call install,requirements-grpc.txt); }
	@DEBUG=true SITE_URL=http://127.0.0.1:$(or $(PORT),8000) exec $(BIN)/python manage.py run_executor --caller $(or $(CALLER),organiser)

proto: $(VENV)/.development
	@$(BIN)/python executor/generate.py

test: $(VENV)/.development node_modules/.installed
	@exec $(BIN)/python tests/run.py $(ARGS)

# Not among the locked dependencies: it slows every test down, and nothing else needs it.
coverage: $(VENV)/.development
	@$(BIN)/python -c 'import pytest_cov' 2>/dev/null || $(BIN)/python -m pip install -qq --no-compile 'pytest-cov>=6,<8'
	@$(BIN)/pytest -q -n auto --dist worksteal -m "not nightly" --cov=arena_kit --cov=core --cov=web --cov=builder \
		--cov=duel_runner --cov=tournament_manager --cov=publisher --cov=executor --cov-report=term:skip-covered $(ARGS)

nightly: $(VENV)/.development node_modules/.installed
	@exec $(BIN)/python tests/run.py --nightly $(ARGS)

# Part of `make nightly` where it is built already.
kubernetes-test: export KUBE_CACHE ?= $(or $(CACHE),/var/cache/rl-arena)/kube-up
kubernetes-test: $(VENV)/.development
	@tests/kubernetes/kube-up build
	@exec $(BIN)/pytest -q --nightly tests/kubernetes $(ARGS)

check: static-checks
	$(BIN)/pytest -q -n auto --dist worksteal -m "not docker and not browser and not redis and not postgres and not network and not slow"

# The linter of proto files, from npm where it is; without it the tests compare them with what clients have.
PROTO := executor/proto
BUF := $(PROTO)/node_modules/.bin/buf
$(BUF): $(PROTO)/package-lock.json
	@if command -v npm >/dev/null && $(NPM_CI) --prefix $(PROTO) && mkdir -p $(@D) && \
		ln -sf $$(cd $(@D) && ls -d ../@bufbuild/buf-*/bin/buf) $@ && $@ --version >/dev/null; then touch $@; \
	else echo "buf is not there: the proto files are not linted."; fi

static-checks: $(VENV)/.development $(BUF)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy .
	$(BIN)/lint-imports --no-cache
	DEBUG=true $(BIN)/python manage.py check
	DEBUG=true $(BIN)/python manage.py makemigrations --check --dry-run
	@! command -v terraform >/dev/null || TF_CLI_CONFIG_FILE= terraform fmt -check -diff -recursive terraform
	@test ! -x $(BUF) || { cd $(PROTO) && node_modules/.bin/buf lint && node_modules/.bin/buf breaking --against released.binpb; }

# Backups of a small arena of this version, which later versions are tried on: docs/contributor/releases.md
release-dump: $(VENV)/.development
	@ARENA_RELEASE_DUMP=yes exec $(BIN)/python tests/run.py --nightly tests/test_upgrades.py

hostile: $(VENV)/.development
	@exec $(BIN)/python -m tests.hostile $(ARGS)

hostile-mutations: $(VENV)/.development
	@exec $(BIN)/python -m tests.hostile.mutations $(ARGS)

format: $(VENV)/.development
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Locks carry names, versions and hashes only: addresses belong to the machine that installs.
COMPILE := $(or $(UV),$(BIN)/uv) pip compile -q --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --no-header pyproject.toml
lock: $(VENV)/.development
	$(COMPILE) --extra site -o requirements.txt
	$(COMPILE) --extra gymnasium -c requirements.txt -o requirements-kit.txt
	$(COMPILE) --extra site --extra box2d --extra mujoco -c requirements.txt -o requirements-extras.txt
	$(COMPILE) --extra site --extra grpc -c requirements.txt -o requirements-grpc.txt
	$(COMPILE) --extra site --extra kubernetes -c requirements-grpc.txt -o requirements-kubernetes.txt
	$(COMPILE) --extra site --extra otel -c requirements-grpc.txt -o requirements-otel.txt
	$(COMPILE) --extra site --extra s3 -c requirements.txt -o requirements-s3.txt
	$(COMPILE) --extra dev -c requirements-grpc.txt -c requirements-kubernetes.txt -c requirements-otel.txt -c requirements-s3.txt -c requirements-extras.txt -o requirements-dev.txt

# The arena of docker-compose.yml. COMPOSE_FILES: further words for Compose, such as --file.
COMPOSE ?= $(shell docker compose version >/dev/null 2>&1 && echo docker compose || echo docker-compose)
COMPOSE_FILES ?=
COMPOSE_PROJECT_NAME ?=
# Data stays: `docker compose up --detach` goes on where it stopped.
stop:
	$(COMPOSE) $(COMPOSE_FILES) down

# Compose removes only what belongs to this project: its name is asked for, because nothing brings the data back.
# As Compose does, the name of the folder stands for it.
PROJECT = $(or $(COMPOSE_PROJECT_NAME),$(shell basename "$$PWD" | tr 'A-Z' 'a-z' | tr -cd 'a-z0-9_-'))
destroy:
	@echo "This removes the arena $(PROJECT) with its database, all uploads, records and logs. Only a backup brings them back."
	@read -r -p "Type $(PROJECT) to go on: " answer; \
		test "$$answer" = "$(PROJECT)" || { echo "Nothing is removed."; exit 1; }
	$(COMPOSE) --project-name "$(PROJECT)" $(COMPOSE_FILES) down --volumes --remove-orphans

clean:
	rm -rf $(VENV) node_modules static .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
