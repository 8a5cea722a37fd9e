"""The site in the shape of production, without its images: gunicorn, PostgreSQL, Redis, DEBUG off."""

from __future__ import annotations

import http.client
from contextlib import closing
from dataclasses import dataclass
from email.message import Message
from pathlib import Path

import pytest

from tests.programs import METRICS_TOKEN, answers, free_port, manage, production_variables, running
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.postgres,
    pytest.mark.redis,
    pytest.mark.slow,
]


@dataclass(frozen=True, slots=True)
class Page:
    status: int
    headers: Message
    text: str


def get(port: int, path: str, **headers: str) -> Page:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=120)) as site:
        site.request("GET", path, headers=headers)
        answer = site.getresponse()
        return Page(answer.status, answer.headers, answer.read().decode())


def test_the_site_answers_under_gunicorn_with_collected_static_files(redis_url: str, tmp_path: Path) -> None:
    variables = production_variables(redis_url, tmp_path)
    # What other packages bring is compressed in the same way, and takes long.
    others = (f"--ignore={name}" for name in ("admin", "rest_framework"))
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
        assert "immutable" in style.headers["Cache-Control"]
        lost = get(port, "/nowhere/", **{"X-Request-ID": "id-of-the-proxy"})
        assert (lost.status, lost.headers["X-Request-ID"]) == (404, "id-of-the-proxy")
        assert get(port, "/metrics").status == 403
        counted = get(port, "/metrics", Authorization=f"Bearer {METRICS_TOKEN}").text
        assert 'http_requests_total{handler="account_login",method="GET",status="200"} 1.0' in counted
