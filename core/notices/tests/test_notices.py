"""Who is told what: the inbox, mails from rows, and what tournaments say of themselves."""

from __future__ import annotations

from datetime import timedelta
from smtplib import SMTP, SMTPServerDisconnected
from typing import ClassVar
from typing import cast as cast_to

import pytest
from django.core import mail, signing
from django.core.mail.backends import smtp
from django.core.mail.backends.locmem import EmailBackend
from django.utils import timezone
from pytest_django.fixtures import Settings

from core.jobs.artifacts import DuelArtifacts
from core.jobs.lifecycle import job_fail
from core.models import (
    Environment,
    JobFault,
    JobState,
    LetterKind,
    Notice,
    NoticeKind,
    PromotionState,
    User,
)
from core.notices.letters import letter_write
from core.notices.mails import UNSUBSCRIBE_DAYS, mails_send, mails_send_due, unsubscribe_find, unsubscribe_token
from core.notices.outbox import LONGEST_PAUSE, MAX_ATTEMPTS, pause_after
from core.notices.services import choices_save, mail_stop, notify
from core.operations.retention import retention_apply
from core.people.services import anonymous_ensure
from core.submissions.notices import promotion_decided
from core.submissions.phases import validation_succeed
from core.tests import factories
from core.tests.concurrency import at_once
from core.tests.factories import NOON, Cast

pytestmark = pytest.mark.django_db
KIND = NoticeKind.QUARANTINE
"""Of what is in the inbox and mailed by itself."""


@pytest.fixture
def cast() -> Cast:
    return factories.cast()


@pytest.fixture
def game() -> Environment:
    return factories.environment()


class Away(EmailBackend):
    """A mail server that cannot be reached."""

    def send_messages(self, messages: object) -> int:
        raise SMTPServerDisconnected("Connection unexpectedly closed")


class Wired(smtp.EmailBackend):
    """Makes the bytes of a mail as they go to a server, and keeps whom they were for."""

    took: ClassVar[list[str]] = []

    def open(self) -> bool:
        self.connection = cast_to(SMTP, self)
        return True

    def sendmail(self, _: str, people: list[str], __: bytes) -> None:
        self.took.extend(people)

    def quit(self) -> None:
        """Refuses every connection."""


class Line:
    """A connection to a mail server that takes everything."""

    opened: ClassVar[list[Line]] = []

    def __init__(self, *_: object, **__: object) -> None:
        self.opened.append(self)

    def sendmail(self, *_: object) -> None:
        """Take a mail."""

    def quit(self) -> None:
        """Hang up."""


class Reached(smtp.EmailBackend):
    """Makes connections as to a mail server."""

    connection_class = cast_to(type[SMTP], Line)


def titles(person: User) -> list[str]:
    return list(Notice.objects.filter(user=person).order_by("pk").values_list("title", flat=True))


def test_a_notice_is_in_the_inbox_and_in_a_mail_that_can_be_stopped(
    cast: Cast, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SITE_URL = "https://arena.example"
    notify(user=cast.alice, kind=KIND, title="anna\r\nBcc: eve@arena.example", text="It crashed.", address="/a/")
    assert mails_send_due(now=timezone.now()) == 1
    assert mails_send_due(now=timezone.now()) == 0

    (letter,) = mail.outbox
    assert letter.to == ["alice@arena.example"]
    assert letter.subject == "RL Arena: anna Bcc: eve@arena.example"
    assert "https://arena.example/a/" in letter.body
    link = letter.extra_headers["List-Unsubscribe"].strip("<>")
    assert letter.extra_headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert link in letter.body
    assert link.startswith("https://arena.example/unsubscribe/")
    assert unsubscribe_find(link.split("/")[-2]) == (cast.alice, KIND)
    assert unsubscribe_find(unsubscribe_token(cast.alice, KIND)[:-1] + "?") is None
    a_year_ago = signing.b62_encode(int((timezone.now() - timedelta(days=UNSUBSCRIBE_DAYS, minutes=1)).timestamp()))
    with monkeypatch.context() as patch:
        patch.setattr(signing.TimestampSigner, "timestamp", lambda _: a_year_ago)
        old = unsubscribe_token(cast.alice, KIND)
    assert unsubscribe_find(old) is None


def test_unwanted_notices_and_those_to_closed_accounts_are_not_sent(cast: Cast) -> None:
    choices_save(user=cast.alice, wanted={KIND: (False, True)})
    choices_save(user=cast.bob, wanted={KIND: (False, False)})
    User.objects.filter(pk=cast.charlie.pk).update(is_active=False)
    cast.charlie.refresh_from_db()
    for person in (cast.alice, cast.bob, cast.charlie, anonymous_ensure()):
        notify(user=person, kind=KIND, title="anna is paused", text="It crashed.")

    (row,) = Notice.objects.all()
    assert (row.user, row.in_inbox) == (cast.alice, False)
    # People who change their choice, or are banned, while a mail waits, do not get it.
    mail_stop(user=cast.alice, kinds=[KIND])
    notify(user=cast.olga, kind=KIND, title="olga's", text="")
    User.objects.filter(pk=cast.olga.pk).update(is_active=False)
    assert mails_send_due(now=timezone.now()) == 0
    assert not Notice.objects.exclude(mail_next_at=None).exists()


def test_a_mail_server_that_is_away_loses_nothing(cast: Cast, settings: Settings) -> None:
    notify(user=cast.alice, kind=KIND, title="anna is paused", text="It crashed.")
    works, settings.EMAIL_BACKEND = settings.EMAIL_BACKEND, f"{__name__}.Away"
    now = timezone.now()
    assert mails_send_due(now=now) == 0
    row = Notice.objects.get()
    assert "SMTPServerDisconnected" in row.mail_error
    assert row.mail_next_at is not None
    assert row.mail_next_at - now >= timedelta(minutes=1)

    settings.EMAIL_BACKEND = works
    assert mails_send_due(now=now) == 0
    assert mails_send_due(now=row.mail_next_at) == 1
    row.refresh_from_db()
    assert row.mailed_at is not None
    assert row.mail_error == ""

    # Not for ever.
    settings.EMAIL_BACKEND = f"{__name__}.Away"
    Notice.objects.update(mailed_at=None, mail_next_at=now, mail_attempt=MAX_ATTEMPTS - 1)
    mails_send_due(now=now)
    row.refresh_from_db()
    assert row.mail_next_at is None


def test_an_address_of_which_no_mail_can_be_made_does_not_hold_up_the_others(cast: Cast, settings: Settings) -> None:
    settings.EMAIL_BACKEND = f"{__name__}.Wired"
    # Of before such addresses were refused.
    User.objects.filter(pk=cast.alice.pk).update(email='"\x0bX:b"@arena.example')
    for person in (cast.alice, cast.bob):
        person.refresh_from_db()
        notify(user=person, kind=KIND, title="anna is paused", text="It crashed.")
    now = timezone.now()
    assert mails_send_due(now=now) == 1
    assert Wired.took == ["bob@arena.example"]
    row = Notice.objects.get(user=cast.alice)
    assert (row.mail_next_at, row.mailed_at) == (None, None)
    assert row.mail_error == "The mail cannot be composed: HeaderParseError."
    assert mails_send_due(now=now + timedelta(days=9)) == 0


def test_a_slow_server_holds_a_worker_half_a_minute_and_the_pause_of_a_mail_begins_with_its_own_attempt(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However slow the server is: no other worker takes one that is on its way."""
    seconds = 0.0

    def hang(*_: object) -> int:
        nonlocal seconds
        seconds += 20
        raise SMTPServerDisconnected

    for person in (cast.alice, cast.bob, cast.charlie):
        notify(user=person, kind=KIND, title="anna is paused", text="It crashed.")
    monkeypatch.setattr(EmailBackend, "send_messages", hang)
    monkeypatch.setattr("time.monotonic", lambda: seconds)
    now = timezone.now()
    assert mails_send_due(now=now) == 0
    tried = Notice.objects.filter(mail_attempt=1).order_by("mail_next_at").values_list("mail_next_at", flat=True)
    assert list(tried) == [now + timedelta(seconds=number) for number in (60, 80)]
    # What is left is sent by the next run.
    monkeypatch.undo()
    assert mails_send_due(now=now) == 1


def test_letters_and_notices_share_the_time_of_one_run(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = 0.0

    def hang(*_: object) -> int:
        nonlocal seconds
        seconds += 20
        raise SMTPServerDisconnected

    for person in (cast.alice, cast.bob):
        letter_write(kind=LetterKind.PASSWORD_RESET, email=person.email)
        notify(user=person, kind=KIND, title="anna is paused", text="It crashed.")
    monkeypatch.setattr(EmailBackend, "send_messages", hang)
    monkeypatch.setattr("time.monotonic", lambda: seconds)
    mails_send()
    assert seconds == 40
    assert not Notice.objects.exclude(mail_attempt=0).exists()
    # The next run, in which the letters wait for their next attempt, sends the notices.
    monkeypatch.undo()
    mails_send()
    assert not Notice.objects.exclude(mail_next_at=None).exists()


def test_a_run_sends_all_its_mails_over_one_connection(cast: Cast, settings: Settings) -> None:
    settings.EMAIL_BACKEND = f"{Reached.__module__}.{Reached.__qualname__}"
    Line.opened.clear()
    letter_write(kind=LetterKind.PASSWORD_RESET, email=cast.alice.email)
    for person in (cast.alice, cast.bob, cast.charlie):
        notify(user=person, kind=KIND, title="anna is paused", text="It crashed.")

    assert mails_send_due(now=timezone.now()) == 4
    assert len(Line.opened) == 1


def test_however_often_a_mail_was_tried_its_pause_has_an_end() -> None:
    assert pause_after(1) == timedelta(minutes=1)
    assert pause_after(100_000) == LONGEST_PAUSE


@pytest.mark.django_db(transaction=True)
def test_workers_that_mail_at_once_send_a_mail_once(cast: Cast) -> None:
    notify(user=cast.alice, kind=KIND, title="anna is paused", text="It crashed.")
    now = timezone.now()
    assert sum(at_once(*[lambda: mails_send_due(now=now)] * 4)) == 1
    assert len(mail.outbox) == 1


def test_what_happens_again_and_again_is_one_notice_and_one_mail_a_day(cast: Cast) -> None:
    def tell(title: str) -> None:
        notify(user=cast.alice, kind=NoticeKind.TOURNAMENT_ENDED, title=title, text="", about="editions 1")

    for title in ("first", "second"):
        tell(title)
    now = timezone.now()
    assert titles(cast.alice) == ["second"]
    assert mails_send_due(now=now) == 1
    for title in ("third", "fourth"):
        tell(title)
    unread = Notice.objects.filter(read_at=None)
    assert [row.title for row in unread] == ["fourth"]
    assert mails_send_due(now=now + timedelta(hours=23)) == 0
    assert mails_send_due(now=now + timedelta(hours=25)) == 1
    assert [letter.subject for letter in mail.outbox] == ["RL Arena: second", "RL Arena: fourth"]


def test_owners_hear_what_became_of_a_version_and_why(cast: Cast, game: Environment) -> None:
    row = factories.submission(factories.agent(cast.alice, game, "anna"))
    build = factories.build(row, JobState.RUNNING)
    job_fail(job=build, fault=JobFault.PLAYER, code="no_player", error="There is no player.py at the root.")
    validation = factories.validation(row, JobState.RUNNING)
    validation_succeed(validation=validation, artifacts=DuelArtifacts(2, "", "", ""), log="")

    failed, good = Notice.objects.order_by("pk")
    assert (failed.title, good.title) == ("anna v1 could not be built", "anna v1 is validated")
    assert "There is no player.py at the root." in failed.text
    # That something is well is not a reason for a mail.
    assert (failed.mail_next_at is None, good.mail_next_at is None) == (False, True)


def test_owners_hear_what_the_test_of_a_version_has_come_to(cast: Cast, game: Environment) -> None:
    agent = factories.agent(cast.alice, game, "anna")
    promotion = factories.promotion(factories.ready(agent), factories.ready(agent))
    promotion_decided(promotion)
    assert not Notice.objects.exists()
    promotion.state, promotion.verdict = PromotionState.BENCHED, "It is no better than version 2."
    promotion_decided(promotion)
    notice = Notice.objects.get()
    assert (notice.title, notice.text) == ("anna v1 is benched", "It is no better than version 2.")


def test_notices_that_were_read_go_after_a_while(cast: Cast) -> None:
    for title in ("old", "new", "unread"):
        notify(user=cast.alice, kind=NoticeKind.VALIDATED, title=title, text="")
    Notice.objects.filter(title="old").update(read_at=NOON - timedelta(days=91))
    Notice.objects.filter(title="new").update(read_at=NOON - timedelta(days=89))
    retention_apply(now=NOON)
    assert titles(cast.alice) == ["new", "unread"]
