"""Workers that have another SECRET_KEY than the site."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from django.core import mail
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from pytest_django import DjangoCaptureOnCommitCallbacks
from pytest_django.fixtures import Settings

from core.jobs.hosts import host_name
from core.models import Alarm, Duty
from core.operations.keys import key_watch, refuse_other_key, site_key_note
from core.operations.reaper import reapers
from core.operations.status import status, watchdog_runs

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def connected(monkeypatch: pytest.MonkeyPatch) -> None:
    """The transaction of the test stays open."""
    monkeypatch.setattr("django.db.backends.base.base.BaseDatabaseWrapper.close", lambda _: None)


def test_workers_with_another_key_do_not_start_and_an_alarm_names_their_host(
    settings: Settings, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    settings.ADMINS = [("ann", "ann@example.org")]
    site = settings.SECRET_KEY
    call_command("secrets_seal")
    assert site not in Duty.objects.get(name="secret-key").worker
    settings.SECRET_KEY = "another-key"
    for _ in range(2):
        with (
            django_capture_on_commit_callbacks(execute=True),
            pytest.raises(CommandError, match="their SECRET_KEY is not that of the site"),
        ):
            call_command("run_workers", "publish")
    alarm = Alarm.objects.get()
    assert (host_name() in alarm.message, alarm.settled_at) == (True, None)
    assert [one.to for one in mail.outbox] == [["ann@example.org"]]

    settings.SECRET_KEY = site
    refuse_other_key(host=host_name())
    assert Alarm.objects.get().settled_at is not None


def test_a_key_that_is_being_changed_is_none_of_another_site(settings: Settings) -> None:
    call_command("secrets_seal")
    settings.SECRET_KEY_FALLBACKS, settings.SECRET_KEY = [settings.SECRET_KEY], "the-next-key"
    refuse_other_key(host="host")
    # From now on the old key alone is wrong.
    call_command("secrets_seal")
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = settings.SECRET_KEY_FALLBACKS[0], []
    with pytest.raises(Exception, match="run `manage.py secrets_seal` with the new one"):
        refuse_other_key(host="host")


def test_workers_that_run_while_the_key_changes_raise_an_alarm(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[Callable[[], object]] = []
    monkeypatch.setattr("core.operations.reaper.Reaper", lambda look=None, _=0.0: looks.append(look))
    reapers(["publish"])
    old = settings.SECRET_KEY
    settings.SECRET_KEY = "the-next-key"
    call_command("secrets_seal")
    settings.SECRET_KEY = old
    (watch,) = (look for look in looks if isinstance(look, partial) and look.func is key_watch)
    watch()
    assert "their SECRET_KEY is not that of the site" in Alarm.objects.get(settled_at=None).message
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "the-next-key", [old]
    watch()
    assert not Alarm.objects.filter(settled_at=None).exists()


def test_a_site_that_starts_notes_its_key_in_place_of_older_ones_alone(settings: Settings) -> None:
    site_key_note()
    refuse_other_key(host="host")
    old, settings.SECRET_KEY = settings.SECRET_KEY, "the-next-key"
    # It may as well be an old process of the site that begins anew.
    site_key_note()
    with pytest.raises(ImproperlyConfigured, match="their SECRET_KEY is not that of the site"):
        refuse_other_key(host="host")
    settings.SECRET_KEY_FALLBACKS = [old]
    site_key_note()
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = old, []
    with pytest.raises(ImproperlyConfigured, match="their SECRET_KEY is not that of the site"):
        refuse_other_key(host="host")


def test_the_note_of_the_key_is_no_sign_of_a_worker() -> None:
    call_command("secrets_seal")
    assert (watchdog_runs(), status().watched_at, status().watched_by) == (False, None, "")


def test_workers_of_an_arena_whose_key_was_never_noted_start() -> None:
    refuse_other_key(host="host")
    assert not Alarm.objects.exists()
