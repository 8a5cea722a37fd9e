from __future__ import annotations

import errno
from typing import NoReturn

import pytest
from django.db import OperationalError
from django.http import HttpRequest
from django.test import Client
from django.urls import path
from pytest_django.fixtures import Settings

from core.errors import means_full_disk
from core.tests import factories
from core.tests.factories import Cast
from web import urls
from web.conftest import As

pytestmark = pytest.mark.django_db


def explode(request: HttpRequest) -> NoReturn:
    raise RuntimeError("a secret in the trace")


def fill_up(request: HttpRequest) -> NoReturn:
    raise OSError(errno.ENOSPC, "No space left on device")


def go_away(request: HttpRequest) -> NoReturn:
    raise OperationalError("connection to server at 10.0.0.7 failed")


urlpatterns = [
    path("away/", go_away),
    path("api/v1/away/", go_away),
    path("explode/", explode),
    path("full/", fill_up),
    *urls.urlpatterns,
]
handler500 = urls.handler500


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("address", ["/nope/", "/environments/chess/", "/duels/0/x/", "/users/a/b/", "/<script>/"])
def test_an_unknown_address_is_not_found_with_debug_on_and_off(
    client: Client, settings: Settings, address: str, debug: bool
) -> None:
    settings.DEBUG = debug
    response = client.get(address)
    assert response.status_code == 404
    page = response.content.decode()
    assert "Page not found" in page
    assert "<script>/" not in page
    assert "URLconf" not in page
    assert "given query" not in page


def test_a_missing_slash_leads_to_the_page(client: Client) -> None:
    factories.environment()
    response = client.get("/environments/tic-tac-toe")
    assert (response.status_code, response["Location"]) == (301, "/environments/tic-tac-toe/")


def test_what_one_may_not_do_is_said_with_a_sentence(cast: Cast, visit: As) -> None:
    agent = factories.agent(cast.alice, factories.environment(), "mine")
    response = visit(cast.bob).post(f"/environments/tic-tac-toe/agents/{agent.name}/versions/")
    assert response.status_code == 403
    assert "Only the owner of an agent may change it." in response.content.decode()


def test_an_error_of_the_arena_shows_a_page_that_stands_alone(client: Client, settings: Settings) -> None:
    settings.ROOT_URLCONF = "web.site.tests.test_errors"
    client.raise_request_exception = False
    response = client.get("/explode/")
    page = response.content.decode()
    assert response.status_code == 500
    assert "arena's fault" in page
    assert "secret" not in page
    assert "default-src 'none'" in response["Content-Security-Policy"]


def test_a_full_disk_is_said_with_a_sentence_and_a_time_to_come_back(client: Client, settings: Settings) -> None:
    settings.ROOT_URLCONF = "web.site.tests.test_errors"
    client.raise_request_exception = False
    response = client.get("/full/")
    assert (response.status_code, response["Retry-After"]) == (503, "600")
    assert "disk is full" in response.content.decode()
    assert "default-src 'none'" in response["Content-Security-Policy"]


@pytest.mark.parametrize("code", ["53100", "42703"])
def test_a_database_without_room_is_a_full_disk_and_no_other_error_is(code: str) -> None:
    cause = type("DriverError", (Exception,), {"pgcode": code})()
    error = OperationalError("It failed.")
    error.__cause__ = cause
    assert means_full_disk(error) is (code == "53100")


@pytest.mark.urls("web.site.tests.test_errors")
@pytest.mark.parametrize("address", ["/away/", "/api/v1/away/"])
def test_without_its_database_the_site_says_when_to_try_again(address: str) -> None:
    response = Client(raise_request_exception=False).get(address)
    assert response.status_code == 503
    assert (response["Retry-After"], response["Cache-Control"]) == ("30", "no-store")
    page = response.content.decode()
    assert "database does not answer" in page
    assert "10.0.0.7" not in page
    assert ("<html" in page) == (not address.startswith("/api/"))


def test_a_session_that_cannot_be_read_is_a_database_that_does_not_answer(
    cast: Cast, visit: As, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = visit(cast.alice)
    client.raise_request_exception = False

    def away(*_: object, **__: object) -> NoReturn:
        raise OperationalError("refused")

    monkeypatch.setattr("django.db.models.query.QuerySet.get", away)
    assert [client.get(address).status_code for address in ("/", "/api/v1/me/", "/inbox/")] == [503] * 3
