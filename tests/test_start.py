"""A real site starts as it should be, or not at all: the programs themselves, with the variables of example.env."""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import dataclass
from email.message import Message
from pathlib import Path

import pytest

from tests.programs import ROOT, answers, database_url, free_port, running

DEADLINE_SECONDS = 120

KEY = "n0-0ne-kn0ws-this-key-4f8a1c7e9b2d6053-8e1f3a5c7b9d2046"
PASSWORD = "k3yK0mbu-1871-zwirn"
NEEDS_THE_MACHINE = {"arena.W003", "arena.W004"}
"""Warnings about the engine that a machine has or has not."""
PROGRAMS = [
    pytest.param(["-m", "gunicorn", "core.wsgi", "--bind", "127.0.0.1:PORT"], id="gunicorn"),
    pytest.param(["manage.py", "run_workers"], id="all workers", marks=pytest.mark.nightly),
]


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


def checked(variables: dict[str, str]) -> str:
    """What the check at deployment has to say: no error."""
    done = run(variables, "manage.py", "check", "--deploy")
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "System check identified" in said, said
    return said


def ids(said: str) -> set[str]:
    return set(re.findall(r"\(([a-z_]+\.[EW]\d+)\)", said))


@pytest.mark.slow
def test_the_production_settings_pass_the_check_at_deployment_without_a_warning(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(f"{KEY}\n")
    variables = production(SECRET_KEY_FILE=str(file))
    del variables["SECRET_KEY"]
    assert ids(checked(variables)) - NEEDS_THE_MACHINE == set()


@pytest.mark.slow
@pytest.mark.nightly
def test_only_what_a_small_site_does_without_is_warned_of(tmp_path: Path) -> None:
    small = production(DATABASE_URL=f"sqlite:///{tmp_path}/arena.sqlite3", REDIS_URL="")
    assert ids(checked(small)) - NEEDS_THE_MACHINE == {"arena.W001", "arena.W002"}


SHOWN = """
import json
from django.conf import settings as s
print(json.dumps([s.CSRF_TRUSTED_ORIGINS, s.EMAIL_HOST, s.EMAIL_HOST_PASSWORD, s.EMAIL_USE_TLS,
                  s.QUOTAS["uploads_per_day"], s.QUOTAS["active_agents"], s.QUOTAS_ANONYMOUS["uploads_per_day"],
                  s.REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"]["login"], s.HTTPS, s.SESSION_COOKIE_SECURE,
                  s.MAX_UPLOAD_BYTES, s.DEFAULT_FROM_EMAIL, s.KEEP_DAYS, s.SCRIPT_LIMITS, s.PLAYER_CONTAINERS,
                  s.KUBERNETES_OPTIONS["lots"], s.KUBERNETES_NODES, s.IMAGE_CACHE_BYTES, s.IMAGE_MAX_BYTES,
                  s.SCRIPT_REQUIREMENTS, list(s.SCRIPT_BASE_IMAGES.items()),
                  [s.PLAYER_REGISTRY_USER, s.PLAYER_REGISTRY_PASSWORD, s.PLAYER_REGISTRY], s.PIP_ENVIRONMENT]))
"""


def test_variables_that_hold_several_values_reach_the_settings(tmp_path: Path) -> None:
    file = tmp_path / "mail"
    file.write_text("smtp+tls://arena:k3yK0mbu%40@mail.example.org\n")
    variables = production(
        DJANGO_SETTINGS_MODULE="core.settings",
        SITE_URL="https://arena.example.org:8443/",
        EMAIL_URL_FILE=str(file),
        QUOTAS="uploads_per_day=7,anonymous_uploads_per_day=8",
        RATES="login=9/minute",
        KEEP_DAYS="logs=30",
        SCRIPT_OPTIONS="seconds=60,requirements=gymnasium; numpy,base_images=3.11=scripts;3.13=newer",
        PLAYER_CONTAINERS="runtime=runsc,warm=0,cache_bytes=0",
        KUBERNETES_OPTIONS="lots=3,nodes=pool=spot; disk=fast",
        PLAYER_REGISTRY="ann:k3y%40@registry.example.org:5000/players",
        PIP_INDEX_URL="http://ann:secret@index.example.org:8080/simple/",
    )
    done = run(variables, "-c", SHOWN)
    assert json.loads(done.stdout) == [
        ["https://arena.example.org:8443"], "mail.example.org", "k3yK0mbu@", True, 7, 10, 8, "9/minute",
        True, True, 100 * 2**20, "arena@arena.example.org",
        {"logs": 30, "records": 0, "recordings": 0, "rollouts": 30, "images": 0},
        {"memory_limit_bytes": 512 * 2**20, "cpu_count": 0.5, "seconds": 60.0, "pids": 50},
        {"runtime": "runsc", "cgroup_parent": "", "warm": 0}, 3, ["pool=spot", "disk=fast"],
        0, 4 * 2**30, ["gymnasium", "numpy"], [[[3, 11], "scripts"], [[3, 13], "newer"]],
        ["ann", "k3y@", "registry.example.org:5000/players"],
        {"PIP_INDEX_URL": variables["PIP_INDEX_URL"], "PIP_TRUSTED_HOST": "index.example.org:8080"},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("address", "needed"), [("https://arena.example.org", True), ("http://arena.example.org", False)]
)
def test_organisers_need_a_second_factor_wherever_there_is_https(address: str, needed: bool) -> None:
    shown = "from django.conf import settings; print(settings.REQUIRE_STAFF_TOTP)"
    variables = production(DJANGO_SETTINGS_MODULE="core.settings", SITE_URL=address)
    assert run(variables, "-c", shown).stdout.strip() == str(needed)
    # An operator may decide otherwise.
    assert run({**variables, "REQUIRE_STAFF_TOTP": "false"}, "-c", shown).stdout.strip() == "False"


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.slow
def test_no_program_starts_with_the_key_that_everybody_knows_or_weak_secrets_and_each_is_named(
    program: list[str],
) -> None:
    command = [word.replace("PORT", str(free_port())) for word in program]
    weak = production(INVITATION_CODE="invitation", POSTGRES_PASSWORD="postgres", SANDBOX="process")
    del weak["SECRET_KEY"]

    done = run(weak, *command)

    assert done.returncode != 0
    for sentence in (
        "arena.E003", "Set SECRET_KEY or SECRET_KEY_FILE", "INVITATION_CODE is easy to guess",
        "POSTGRES_PASSWORD (or the", "does not protect this host",
    ):  # fmt: skip
        assert sentence in done.stderr + done.stdout


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_every_answer_of_a_real_site_tells_browsers_what_they_may_not_do() -> None:
    port = free_port()
    variables = production(DATABASE_URL=database_url(), REDIS_URL="", ALLOWED_HOSTS="127.0.0.1")

    with running(variables, "-m", "gunicorn", "core.wsgi", "--bind", f"127.0.0.1:{port}"):
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not answers(port):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        plain, page = head(port, {}), head(port, {}, "/docs/")
        safe = head(port, {"X-Forwarded-Proto": "https"})

    assert (page.status, page.headers["Location"]) == (301, f"https://127.0.0.1:{port}/docs/")
    # A program would not notice that it had sent its token in plain text first.
    assert (plain.status, plain.headers["Location"]) == (403, None)
    assert safe.status == 404
    assert safe.headers["Strict-Transport-Security"] == "max-age=31536000; includeSubDomains"
    assert safe.headers["X-Content-Type-Options"] == "nosniff"
    assert safe.headers["X-Frame-Options"] == "DENY"
    assert safe.headers["Referrer-Policy"] == "same-origin"
    assert safe.headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert safe.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "camera=()" in safe.headers["Permissions-Policy"]
    policy = dict(part.strip().partition(" ")[::2] for part in safe.headers["Content-Security-Policy"].split(";"))
    assert policy == {
        "default-src": "'none'", "base-uri": "'none'", "frame-ancestors": "'none'", "form-action": "'self'",
        "script-src": "'self'", "style-src": "'self'", "font-src": "'self'", "media-src": "'self'",
        "connect-src": "'self'", "img-src": "'self' data: blob:", "upgrade-insecure-requests": "",
    }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Message


def head(port: int, headers: dict[str, str], path: str = "/api/nothing") -> Answer:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=120)) as site:
        site.request("GET", path, headers=headers)
        answer = site.getresponse()
        return Answer(answer.status, answer.headers)
