"""Mails about errors: stored by the request, sent by a worker, at most one an hour for a place."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core import mail
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path
from django.utils import timezone
from pytest_django.fixtures import Settings

from core.models import ErrorMail
from core.notices.mails import mails_send_due

pytestmark = pytest.mark.django_db


def fails(request: HttpRequest) -> HttpResponse:
    raise ValueError(f"the page at {request.path} with password-reset/abc/def")


def is_full(_: HttpRequest) -> HttpResponse:
    return HttpResponse("The disk is full.", status=507)


def reads(request: HttpRequest) -> HttpResponse:
    return HttpResponse(str(len(request.POST)))


urlpatterns = [path("fails/", fails), path("fails/again/", fails), path("full/", is_full), path("reads/", reads)]


@pytest.fixture
def client(settings: Settings) -> Client:
    settings.ROOT_URLCONF = __name__
    settings.ADMINS, settings.ALLOWED_HOSTS = [("olga", "olga@example.org")], ["testserver"]
    return Client(raise_request_exception=False)


def test_an_error_is_mailed_by_a_worker_and_counted_for_an_hour(client: Client) -> None:
    for address in ("/fails/", "/fails/again/", "/fails/"):
        assert client.get(address).status_code == 500
    row = ErrorMail.objects.get()
    assert (row.count, row.place.startswith("ValueError "), mail.outbox) == (3, True, [])
    now = timezone.now()
    assert mails_send_due(now=now) == 1
    (first,) = mail.outbox
    assert first.to == ["olga@example.org"]
    assert first.subject == "[RL Arena] ERROR: Internal Server Error: /fails/"
    assert str(first.body).startswith("This happened 3 times since the last mail about it; the first of them:")
    assert "ValueError" in str(first.body)
    # Again within the hour: counted, and mailed after it.
    client.get("/fails/")
    assert mails_send_due(now=now + timedelta(minutes=59)) == 0
    assert mails_send_due(now=now + timedelta(minutes=61)) == 1
    assert not str(mail.outbox[1].body).startswith("This happened")
    # Not again: the row goes.
    assert mails_send_due(now=now + timedelta(hours=3)) == 0
    assert len(mail.outbox) == 2
    assert not ErrorMail.objects.exists()


def test_what_a_visitor_does_wrong_is_no_error_of_the_arena(client: Client, settings: Settings) -> None:
    settings.DATA_UPLOAD_MAX_NUMBER_FIELDS, settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 10, 1000
    assert client.get("/reads/", HTTP_HOST="x1.example").status_code == 400
    assert client.get("/reads/", HTTP_HOST="testserver:abc").status_code == 400
    assert client.post("/reads/", {f"field{number}": "" for number in range(11)}).status_code == 400
    assert client.post("/reads/", "a=" + "b" * 2000, "application/x-www-form-urlencoded").status_code == 400
    assert not ErrorMail.objects.exists()


def test_an_answer_with_words_of_its_own_is_not_mailed(client: Client) -> None:
    assert client.get("/full/").status_code == 507
    assert not ErrorMail.objects.exists()


def test_no_row_is_written_without_readers_of_mails(client: Client, settings: Settings) -> None:
    settings.ADMINS = []
    assert client.get("/fails/").status_code == 500
    assert not ErrorMail.objects.exists()


def test_an_error_while_the_database_is_away_still_gets_its_page(
    client: Client, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def away(*_: object) -> None:
        raise OSError("the database is away")

    monkeypatch.setattr("core.monitoring.error_mails._store", away)
    assert client.get("/fails/").status_code == 500
    assert "the database is away" in capsys.readouterr().err
