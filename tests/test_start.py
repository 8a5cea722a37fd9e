"""A real site starts as it should be, or not at all: the programs themselves, with the variables of example.env."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.programs import ROOT, free_port

KEY = "n0-0ne-kn0ws-this-key-4f8a1c7e9b2d6053-8e1f3a5c7b9d2046"
PASSWORD = "k3yK0mbu-1871-zwirn"
NEEDS_THE_MACHINE = {"arena.W003", "arena.W004"}
"""Warnings about the engine that a machine has or has not."""
PROGRAMS = {
    "gunicorn": ["-m", "gunicorn", "core.wsgi", "--bind", "127.0.0.1:PORT", "--workers", "2"],
    "a worker": ["manage.py", "qcluster"],
    "all workers": ["manage.py", "run_workers"],
}


def example() -> dict[str, str]:
    """What example.env sets, its gaps filled in as its comments say."""
    lines = (ROOT / "example.env").read_text().splitlines()
    given = dict(line.split("=", 1) for line in lines if re.match(r"[A-Z][A-Z0-9_]*=", line))
    return given | {"SECRET_KEY": KEY, "POSTGRES_PASSWORD": PASSWORD, "DOCKER_GROUP_ID": "999"}


def production(**changes: str) -> dict[str, str]:
    """The variables of a site: example.env, and what docker-compose.yml adds."""
    added = {"DATABASE_URL": "postgresql://arena@127.0.0.1:1/arena", "REDIS_URL": "redis://127.0.0.1:1/0"}
    path = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return path | example() | added | changes


def run(variables: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=60, check=False)


def messages(variables: dict[str, str]) -> set[str]:
    """The ids of what the check at deployment has to say."""
    done = run(variables, "manage.py", "check", "--deploy")
    said = done.stdout + done.stderr
    assert "System check identified" in said, said
    return set(re.findall(r"\(([a-z_]+\.[EW]\d+)\)", said))


def test_the_production_settings_pass_the_check_at_deployment_without_a_warning() -> None:
    assert messages(production()) - NEEDS_THE_MACHINE == set()


def test_only_what_a_small_site_does_without_is_warned_of(tmp_path: Path) -> None:
    small = production(DATABASE_URL=f"sqlite:///{tmp_path}/arena.sqlite3", REDIS_URL="")
    assert messages(small) - NEEDS_THE_MACHINE == {"arena.W001", "arena.W002"}


@pytest.mark.parametrize("program", PROGRAMS)
def test_no_program_starts_with_the_key_that_everybody_knows(program: str) -> None:
    command = [word.replace("PORT", str(free_port())) for word in PROGRAMS[program]]
    variables = production()
    del variables["SECRET_KEY"]

    done = run(variables, *command)

    assert done.returncode != 0
    assert "arena.E003" in done.stderr + done.stdout
    assert "Set SECRET_KEY or SECRET_KEY_FILE" in done.stderr + done.stdout


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"INVITATION_CODE": "invitation"}, "INVITATION_CODE is guessed"),
        ({"POSTGRES_PASSWORD": "postgres"}, "POSTGRES_PASSWORD (or the password in DATABASE_URL) is guessed"),
        ({"SANDBOX": "process"}, "does not protect this host"),
    ],
)
def test_the_site_does_not_start_with_a_weak_secret_or_sandbox(changes: dict[str, str], sentence: str) -> None:
    port = free_port()
    done = run(production(**changes), "-m", "gunicorn", "core.wsgi", "--bind", f"127.0.0.1:{port}")
    assert done.returncode != 0
    assert sentence in done.stderr


def test_a_secret_may_be_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(f"{KEY}\n")
    variables = production(SECRET_KEY_FILE=str(file))
    del variables["SECRET_KEY"]
    assert messages(variables) - NEEDS_THE_MACHINE == set()
