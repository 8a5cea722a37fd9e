"""The page with the mails of the demo, which has no mail server: they are files in a folder."""

from __future__ import annotations

import email
import email.policy
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache

MAX_FILES = 50
"""The page shows the mails of this many newest files; a worker writes one file in each run of the outbox."""
LINE = b"-" * 79
"""The line with which Django's file backend ends each mail."""


@dataclass(frozen=True, slots=True)
class Mail:
    """A mail as its reader sees it."""

    to: str
    subject: str
    sent_at: datetime
    text: str


@never_cache
def mails(request: HttpRequest) -> HttpResponse:
    """Show the mails of the demo, newest first. Anyone here may read them, so a real site has no such page.

    Raises Http404 outside of development and where mails are sent.
    """
    if not (settings.DEBUG and settings.EMAIL_FILE_PATH):
        raise Http404
    # The names begin with the time.
    files = sorted(Path(settings.EMAIL_FILE_PATH).glob("*.log"), reverse=True)[:MAX_FILES]
    rows = [mail for file in files for mail in reversed([*mails_read(file)])]
    return render(request, "web/people/mails.html", {"mails": rows})


def mails_read(file: Path) -> Iterator[Mail]:
    """Read the mails of a file of Django's file backend, in the order in which they were sent."""
    for raw in file.read_bytes().split(b"\n" + LINE + b"\n"):
        if raw.strip():
            mail = email.message_from_bytes(raw, policy=email.policy.default)
            body = mail.get_body(("plain",))
            text = body.get_content() if body is not None else ""
            yield Mail(str(mail["To"]), str(mail["Subject"]), mail["Date"].datetime, text)
