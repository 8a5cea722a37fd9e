"""The page that shows the mails which the demo does not send."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.mail import EmailMessage, get_connection
from django.test import Client
from pytest_django.fixtures import Settings

from core.models import User
from core.tests.factories import Cast
from web.conftest import As

pytestmark = pytest.mark.django_db


@pytest.fixture
def folder(tmp_path: Path, settings: Settings) -> Path:
    settings.DEBUG, settings.EMAIL_FILE_PATH = True, str(tmp_path / "mails")
    settings.EMAIL_BACKEND = "django.core.mail.backends.filebased.EmailBackend"
    return tmp_path / "mails"


def test_the_demo_shows_its_mails_newest_first_and_their_links_lead_on(folder: Path, client: Client) -> None:
    assert "No mail has been written yet" in client.get("/demo/mail/").content.decode()
    connection = get_connection()
    for name in ("Erste Grüße", "<b>second</b>"):
        text = f"Open http://arena.example/confirm/{len(name)}/\n\nÜber uns: {'lang ' * 40}"
        EmailMessage(subject=name, body=text, to=["ada@arena.example"], connection=connection).send()
    shown = client.get("/demo/mail/").content.decode()
    assert shown.index("&lt;b&gt;second") < shown.index("Erste Grüße")
    assert 'href="http://arena.example/confirm/11/"' in shown
    assert "Über uns" in shown
    assert "To ada@arena.example" in shown


def test_the_request_to_confirm_names_the_page_in_the_demo_alone(
    folder: Path, cast: Cast, visit: As, settings: Settings
) -> None:
    User.objects.update(email_confirmed_at=None)
    assert 'href="/demo/mail/"' in visit(cast.alice).get("/play/").content.decode()
    settings.DEBUG = False
    assert 'href="/demo/mail/"' not in visit(cast.alice).get("/play/").content.decode()


@pytest.mark.parametrize(("debug", "path"), [(False, "mails"), (True, None)])
def test_elsewhere_there_is_no_such_page(
    client: Client, settings: Settings, tmp_path: Path, debug: bool, path: str | None
) -> None:
    settings.DEBUG, settings.EMAIL_FILE_PATH = debug, path and str(tmp_path / path)
    assert client.get("/demo/mail/").status_code == 404
