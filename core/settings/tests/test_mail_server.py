from __future__ import annotations

import pytest
from django.core.exceptions import ImproperlyConfigured

from core.settings.mail_server import MailServer, mail_server


def test_without_an_address_mails_go_to_the_log() -> None:
    assert mail_server("") == MailServer()
    assert MailServer().backend == "django.core.mail.backends.console.EmailBackend"


def test_a_folder_keeps_mails_as_files() -> None:
    assert mail_server("file:///tmp/my%20mails") == MailServer(folder="/tmp/my mails")
    assert mail_server("file:///tmp/mails").backend == "django.core.mail.backends.filebased.EmailBackend"


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("smtp://mail.example", MailServer("mail.example", 25)),
        ("smtp://relay.example:2525/", MailServer("relay.example", 2525)),
        ("smtp+tls://ann:s3cr%40t@mail.example", MailServer("mail.example", 587, "ann", "s3cr@t", starts_tls=True)),
        (
            "smtp://relay.example?from=arena%2Bmail@b.example",
            MailServer("relay.example", 25, sender="arena+mail@b.example"),
        ),
        ("smtps://ann%40b.example:p@mail.example", MailServer("mail.example", 465, "ann@b.example", "p", is_tls=True)),
    ],
)
def test_an_address_names_the_server_and_how_it_is_spoken_to(url: str, server: MailServer) -> None:
    assert mail_server(url) == server
    assert server.backend == "django.core.mail.backends.smtp.EmailBackend"


@pytest.mark.parametrize(
    "url",
    [
        "mail.example",
        "http://mail.example",
        "smtp://",
        "file:///",
        "file://s3cret/mails",
        "file:///mails?s3cret",
        "smtp://u:s3cret@mail.example:many",
        "smtp://m/s3cret",
        "smtp://mail.example?tls=s3cret",
        "smtp://mail.example?from=s3cret",
        "smtp://mail.example?from=a@b.example%0aBcc:s3cret@b.example",
    ],
)
def test_anything_else_is_refused_without_saying_what_stands_in_it(url: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="EMAIL_URL must be") as refused:
        mail_server(url)
    assert "s3cret" not in str(refused.value)
