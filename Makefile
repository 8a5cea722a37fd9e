# Two commands do everything: `make demo` and `make test`. Each sets up what it needs on first use.
#   make demo   [PORT=8000] [SANDBOX=docker|process] [MATCHES=100] [ONCE=1]
#   make extras [EXTRAS="box2d mujoco"]   install further packages: box2d, mujoco, grpc, kubernetes, otel, s3
#   make rollout [PACKAGE=shop]   let a script work at the tasks of a shipped application, in Docker, and keep what it did
#   make executor [CALLER=organiser]   answer programs over gRPC, for the arena of `make demo` that runs here
#   make test   [ARGS="web -k upload"]     on PostgreSQL where it is installed; on SQLite what can differ there
#   make nightly [ARGS=...]                all of it, what is slow and rarely breaks too, on both databases: before a release
#   make pictures   draw the pictures of README.md anew, from agents that really play
#   make check  formatter, linter, types, import rules, Django's checks, migrations, fast tests
#   make hostile [ARGS="--sandbox docker --category bombs --json FILE"]   hostile archives and players: every verdict, a clean host
#   make destroy   remove the arena of docker-compose.yml with all its data, after a question
#   make audit [LOCK=1]    look up known weaknesses of the locked packages; LOCK=1 writes the lock anew from pyproject.toml

SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help demo extras rollout executor test nightly pictures check hostile audit destroy

PYTHON ?= $(shell for name in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$name; break; }; done)
VENV := .venv
BIN := $(VENV)/bin

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
		echo "Installing the locked packages ..."; .ci/install site; }
	@touch $@

$(VENV)/.development: requirements.txt | $(BIN)/python
	@echo "Installing the locked packages for development ..."
	@.ci/install dev
	@touch $@

# Draws charts in browsers. Without npm, or without a network, every chart is the table that stands behind it.
node_modules/.installed: package-lock.json
	@if ! command -v npm >/dev/null; then echo "There is no npm here: charts are shown as tables."; \
	elif echo "Installing the locked chart library ..." && npm ci --ignore-scripts --no-audit --no-fund --silent \
		--prefer-offline --fetch-retries=1 --fetch-timeout=20000; then touch $@; \
	else echo "npm could not install it: charts are shown as tables."; fi

demo: $(VENV)/.runtime node_modules/.installed
	@DEBUG=true exec $(BIN)/python manage.py demo $(if $(PORT),--port $(PORT)) $(if $(SANDBOX),--sandbox $(SANDBOX)) \
		$(if $(MATCHES),--matches $(MATCHES)) $(if $(ONCE),--once)

# Not part of the demo: its first leaderboards would wait for them.
EXTRAS ?= box2d mujoco
extras: $(VENV)/.runtime
	@echo "Installing the locked packages of $(EXTRAS) ..."
	@.ci/install site $(EXTRAS)
	@echo "Done: the next start of the arena has them."

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
	@$(BIN)/python -c 'import grpc_reflection' 2>/dev/null || .ci/install site grpc
	@DEBUG=true SITE_URL=http://127.0.0.1:$(or $(PORT),8000) exec $(BIN)/python manage.py run_executor --caller $(or $(CALLER),organiser)

test: $(VENV)/.development node_modules/.installed
	@exec $(BIN)/python tests/run.py $(ARGS)

nightly: $(VENV)/.development node_modules/.installed
	@exec $(BIN)/python tests/run.py --nightly $(ARGS)

# The pictures at the top of README.md, from agents that really play.
pictures: $(VENV)/.development node_modules/.installed
	@exec $(BIN)/python tests/run.py tests/test_pictures.py --draw-pictures

check: $(VENV)/.development
	.ci/static-checks
	$(BIN)/pytest -q -n auto --dist worksteal -m "not docker and not browser and not redis and not postgres and not network and not slow"

hostile: $(VENV)/.development
	@exec $(BIN)/python -m tests.hostile $(ARGS)

# Versions and hashes only: addresses belong to the machine that installs.
audit: $(VENV)/.development
	@$(if $(LOCK),$(BIN)/python .ci/locked.py --write $(BIN)/uv,:)
	@$(BIN)/python .ci/audit.py $(BIN)/uv

# Compose removes only what belongs to this project: its name is asked for, because only a backup brings the data back.
# As Compose does, the name of the folder stands for it. COMPOSE_FILES: further words for Compose, such as --file.
COMPOSE ?= $(shell docker compose version >/dev/null 2>&1 && echo docker compose || echo docker-compose)
COMPOSE_FILES ?=
COMPOSE_PROJECT_NAME ?=
PROJECT = $(or $(COMPOSE_PROJECT_NAME),$(shell basename "$$PWD" | tr 'A-Z' 'a-z' | tr -cd 'a-z0-9_-'))
destroy:
	@echo "This removes the arena $(PROJECT) with its database, all uploads, records and logs. Only a backup brings them back."
	@read -r -p "Type $(PROJECT) to go on: " answer; \
		test "$$answer" = "$(PROJECT)" || { echo "Nothing is removed."; exit 1; }
	$(COMPOSE) --project-name "$(PROJECT)" $(COMPOSE_FILES) down --volumes --remove-orphans
