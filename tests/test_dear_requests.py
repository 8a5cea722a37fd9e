"""Sixteen of each request that costs much, at once, against a real server: its memory stays within bounds."""

from __future__ import annotations

import http.client
import os
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from urllib.parse import urlencode

import pytest
from django.core.files.base import ContentFile
from django.test import Client
from pytest_django.fixtures import Settings

from core.models import Submission, User
from core.tests import factories
from tests.programs import answers, free_port, production_variables, running
from tests.test_monitoring import children
from tests.waiting import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow, pytest.mark.nightly]
AT_ONCE = 16
ARCHIVE_BYTES = 16 << 20
MOST_BYTES = 400 << 20
"""Two hashes of 100 MiB in the one process, and as much again for all else; sixteen hashes would take 1,600 MiB."""
TOO_MANY = 429
"""A slow machine computes hashes slower than the site lets people wait; those who try again, as it says, get in."""
Answer = tuple[int, int]
"""The status of an answer, and the bytes of its body."""


@pytest.fixture
def people(settings: Settings, tmp_path: Path) -> list[User]:
    """Sixteen people with a version each, of an archive that does not get smaller."""
    settings.MEDIA_ROOT = tmp_path / "files"
    environment = factories.environment()
    people = [factories.user(f"person{number}") for number in range(AT_ONCE)]
    for person in people:
        version: Submission = factories.ready(factories.agent(person, environment))
        version.archive.save("archive.zip", ContentFile(os.urandom(ARCHIVE_BYTES)))
    return people


@pytest.fixture
def port(
    people: list[User], redis_url: str, tmp_path: Path, settings: Settings
) -> Iterator[tuple[int, Callable[[], int]]]:
    """The port of a site of one process with sixteen threads, and what reads the most memory that it has had."""
    port = free_port()
    rates = "login=1000/minute,results=1000/minute,stranger=1000/minute"
    own = {"RATES": rates, "DEBUG": "true", "SANDBOX": "process"}
    variables = {**production_variables(redis_url, tmp_path), **own}
    # Sessions of the test are those of the site.
    settings.SECRET_KEY = variables["SECRET_KEY"]
    served = ["core.wsgi", "--bind", f"127.0.0.1:{port}", "--workers", "1", "--threads", str(AT_ONCE)]
    with running(variables, "-m", "gunicorn", *served) as site:
        wait_until(lambda: answers(port), "the site")
        wait_until(lambda: len(children(site.pid)) == 1, "its process")

        def most_memory() -> int:
            status = Path(f"/proc/{children(site.pid)[0]}/status").read_text()
            found = re.search(r"VmHWM:\s+(\d+) kB", status)
            assert found is not None
            return int(found[1]) << 10

        yield port, most_memory


def session_of(person: User) -> str:
    """Return the key of a session of a person who has just shown a password."""
    # From an address of its own, or the limit of logins would count.
    client = Client(REMOTE_ADDR=f"198.51.100.{person.pk}")
    client.post("/login/", {"username": person.email, "password": factories.PASSWORD})
    return client.cookies["sessionid"].value


def ask(port: int, method: str, path: str, fields: dict[str, str], cookies: str) -> Answer:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=300)) as site:
        headers = {"Cookie": cookies, "Content-Type": "application/x-www-form-urlencoded"}
        site.request(method, path, urlencode(fields), headers)
        answer = site.getresponse()
        size = 0
        while part := answer.read(1 << 16):
            size += len(part)
        return answer.status, size


def at_once(*asked: Callable[[], Answer]) -> list[Answer]:
    with ThreadPoolExecutor(len(asked)) as pool:
        return [done.result() for done in [pool.submit(one) for one in asked]]


def test_sixteen_logins_and_exports_at_once_fit_into_the_pod_of_the_site(
    port: tuple[int, Callable[[], int]], people: list[User]
) -> None:
    (number, most_memory), token = port, "a" * 32
    wrong = {"csrfmiddlewaretoken": token, "username": "x", "password": "wrong"}

    def login(person: User) -> Answer:
        for _ in range(AT_ONCE):
            status, size = ask(number, "POST", "/login/", {**wrong, "username": person.email}, f"csrftoken={token}")
            if status != TOO_MANY:
                break
        return status, size

    given = at_once(*(lambda person=person: login(person) for person in people))
    assert {status for status, _ in given} == {200}
    assert most_memory() < MOST_BYTES

    cookies = [f"csrftoken={token}; sessionid={session_of(person)}" for person in people]

    def export(cookie: str) -> Answer:
        return ask(number, "POST", "/profile/export/", {"csrfmiddlewaretoken": token}, cookie)

    given = at_once(*(lambda cookie=cookie: export(cookie) for cookie in cookies))
    assert {status for status, _ in given} == {200}
    assert min(size for _, size in given) > ARCHIVE_BYTES
    assert most_memory() < MOST_BYTES
