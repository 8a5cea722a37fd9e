"""The shape of production, without its images: gunicorn, PostgreSQL, Redis, a cluster per queue, DEBUG off."""

from __future__ import annotations

import http.client
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from core.models import Tournament, TournamentState
from tests.programs import answers, database_url, free_port, manage, running
from tests.samples import FIRST, LAST, tic_tac_toe, upload

DEADLINE_SECONDS = 180
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.postgres,
    pytest.mark.redis,
    pytest.mark.docker,
    pytest.mark.slow,
]


@pytest.fixture
def variables(settings: Settings, redis_url: str, tmp_path: Path, transactional_db: None) -> dict[str, str]:
    """The variables of a production site on the database under test."""
    settings.SANDBOX, settings.DATA_DIR, settings.MEDIA_ROOT = "docker", tmp_path, tmp_path / "files"
    return {
        "DEBUG": "false",
        "SECRET_KEY": "a-key-for-this-test-alone-0123456789-abcdefghijklmnop",
        "ALLOWED_HOSTS": "127.0.0.1",
        "DATABASE_URL": database_url(),
        "REDIS_URL": redis_url,
        "DATA_DIR": str(tmp_path),
        "CHANNEL_DIR": str(settings.CHANNEL_DIR),
        "PLAYER_IMAGE_PREFIX": settings.PLAYER_IMAGE_PREFIX,
        "SANDBOX": "docker",
    }


def wait_until(true: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not true():
        assert time.monotonic() < deadline, f"not within {DEADLINE_SECONDS} s: {what}"
        time.sleep(0.3)


@dataclass(frozen=True, slots=True)
class Page:
    status: int
    cache: str
    text: str


def get(port: int, path: str) -> Page:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=120)) as site:
        site.request("GET", path)
        answer = site.getresponse()
        return Page(answer.status, answer.getheader("Cache-Control") or "", answer.read().decode())


def test_workers_on_redis_and_postgresql_play_what_was_uploaded(variables: dict[str, str]) -> None:
    environment = tic_tac_toe()
    upload(environment, "first", FIRST)
    upload(environment, "last", LAST)

    with running(variables, "manage.py", "run_workers"):
        # The uploads' bells were rung in this process's own queue, as if Redis had lost them: they are rung again.
        wait_until(Tournament.objects.filter(state=TournamentState.FINISHED).exists, "a finished edition")

    assert Tournament.objects.get().participants.count() == 2


def test_the_site_answers_under_gunicorn_with_collected_static_files(variables: dict[str, str]) -> None:
    # What other packages bring is compressed in the same way, and takes long.
    others = (f"--ignore={name}" for name in ("admin", "drf_spectacular_sidecar", "rest_framework"))
    manage(variables, "collectstatic", "--noinput", "--verbosity", "0", *others)
    port = free_port()

    with running(variables, "-m", "gunicorn", "core.wsgi", "--bind", f"127.0.0.1:{port}", "--threads", "4"):
        wait_until(lambda: answers(port), "the site")
        page = get(port, "/login/")
        assert page.status == 200
        static = next(part for part in page.text.split('"') if part.startswith("/static/") and part.endswith(".css"))
        style = get(port, static)
        assert style.status == 200
        # The name carries a hash of the content, so that browsers may keep it for ever.
        assert "immutable" in style.cache
        assert get(port, "/nowhere/").status == 404
