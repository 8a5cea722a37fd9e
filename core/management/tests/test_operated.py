"""Commands that people type are in the audit log when they change anything."""

from __future__ import annotations

import getpass
from pathlib import Path

import pytest
from allauth.mfa.models import Authenticator
from django.core.exceptions import ImproperlyConfigured
from django.core.management import ManagementUtility, call_command, get_commands
from pytest_django.fixtures import Settings

from core.management.operated import CHANGING, Operated, who_types
from core.models import AuditEntry
from core.tests import factories

READING = {
    "arena_status",
    "autoscale",
    "demo",
    "kubernetes_check",
    "monitoring_files",
    "run_workers",
    "sandbox_check",
}
"""Commands of the arena that change nothing themselves, or run the arena."""
OURS = ("core", "builder", "duel_runner", "tournament_manager", "publisher", "rollout_runner", "web")


@pytest.fixture(autouse=True)
def good_settings(settings: Settings) -> None:
    """Commands check the settings before they run."""
    settings.SECRET_KEY = "a-key-for-this-test-alone-0123456789-abcdefghijklmnop"


def test_a_folder_for_data_that_is_not_there_is_one_sentence_before_anything_asks_for_it(
    settings: Settings, tmp_path: Path
) -> None:
    settings.DATA_DIR = tmp_path / "nowhere"
    for command in ("migrate", "sync_environments", "run_workers"):
        with pytest.raises(SystemExit, match=r"DATA_DIR is .*nowhere, which does not exist. Make the folder"):
            Operated(["manage.py", command]).fetch_command(command)
    # The demo makes it.
    Operated(["manage.py", "demo"]).fetch_command("demo")


def test_a_setting_that_cannot_be_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(_: ManagementUtility) -> None:
        raise ImproperlyConfigured("SHARE must be a number from 0 to 1, not 'half'.")

    monkeypatch.setattr(ManagementUtility, "execute", wrong)
    with pytest.raises(SystemExit, match=r"^This arena is not configured correctly. SHARE must be .* not 'half'\.$"):
        Operated(["manage.py", "help"]).execute()


def test_every_command_of_the_arena_is_known_to_change_something_or_not() -> None:
    ours = {name for name, app in get_commands().items() if app in OURS}
    assert {"sync_environments", "recompute", "tournament"} <= ours & CHANGING
    assert ours - CHANGING - READING == set()
    assert get_commands().keys() >= CHANGING


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_typed_command_is_written_down_with_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SUDO_USER", raising=False)
    Operated(["manage.py", "sync_environments", "--reset-limits"]).execute()

    entry = AuditEntry.objects.get()
    assert (entry.channel, entry.action, entry.note) == ("COMMAND", "sync_environments", "--reset-limits")
    assert entry.operator == who_types() == getpass.getuser()


@pytest.mark.django_db(transaction=True)
def test_a_way_around_the_second_factor_is_written_down() -> None:
    olga = factories.user("olga")
    factories.second_factor(olga)
    Operated(["manage.py", "second_factor_drop", "Olga@arena.example"]).execute()
    assert not Authenticator.objects.exists()
    before = olga.session_epoch
    olga.refresh_from_db()
    assert olga.session_epoch == before + 1
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.note) == ("second_factor_drop", "Olga@arena.example")


@pytest.mark.django_db(transaction=True)
def test_who_types_behind_sudo_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUDO_USER", "olga")
    Operated(["manage.py", "recompute"]).execute()
    assert AuditEntry.objects.get().operator == "olga"


@pytest.mark.django_db(transaction=True)
def test_no_command_changes_data_of_a_database_that_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.checks.schema.schema_missing", lambda _: ["core_agent.description"])
    for command in ("sync_environments", "retention", "recompute"):
        with pytest.raises(SystemExit, match=r"The database lacks core_agent.description. Run `manage.py migrate`"):
            Operated(["manage.py", command]).execute()
    for command in ("backup", "migrate", "restore", "check"):
        Operated(["manage.py", command]).fetch_command(command)
    for words in (["help", "retention"], ["retention", "--help"], ["retention", "-h"]):
        Operated(["manage.py", *words]).fetch_command("retention")
    assert not AuditEntry.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_command_that_fails_is_written_down_with_its_status() -> None:
    with pytest.raises(SystemExit):
        Operated(["manage.py", "recheck", "duel", "999999"]).execute()
    assert "(ended with status" in AuditEntry.objects.get().note


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_what_programs_call_and_what_only_reads_is_not_written_down() -> None:
    call_command("sync_environments")
    Operated(["manage.py", "check"]).execute()
    assert not AuditEntry.objects.exists()
