from __future__ import annotations

from pathlib import Path

import pytest
from django.core.checks import CheckMessage, run_checks
from pytest_django.fixtures import Settings

from core.checks import TAG


@pytest.fixture(autouse=True)
def good_settings(settings: Settings) -> None:
    """A real site, as it should be."""
    settings.DEBUG = False
    settings.SANDBOX = "docker"
    settings.SECRET_KEY = "a-long-random-text-of-this-test-0123456789"
    settings.CHANNEL_DIR = Path("/run/rl-arena")
    settings.JOB_MAX_ATTEMPTS, settings.JOB_LEASE_SECONDS, settings.DUEL_PARALLELISM = 3, 60, 1


def arena_messages(*, deployment: bool = False) -> list[CheckMessage]:
    return run_checks(tags=[TAG], include_deployment_checks=deployment)


def test_good_settings_pass() -> None:
    assert arena_messages() == []


def test_an_unknown_sandbox_is_refused(settings: Settings) -> None:
    settings.SANDBOX = "chroot"
    assert [(m.id, m.hint) for m in arena_messages()] == [("arena.E001", "Use one of docker, process.")]


def test_the_process_sandbox_is_refused_on_a_real_site(settings: Settings) -> None:
    settings.SANDBOX = "process"
    (message,) = arena_messages()
    assert message.id == "arena.E002"
    assert message.is_serious()
    assert "SANDBOX=docker" in str(message.hint)


def test_the_process_sandbox_and_the_known_key_are_good_enough_for_ones_own_machine(settings: Settings) -> None:
    settings.DEBUG, settings.SANDBOX, settings.SECRET_KEY = True, "process", settings.INSECURE_SECRET_KEY
    assert arena_messages() == []


def test_the_known_key_is_refused_on_a_real_site(settings: Settings) -> None:
    settings.SECRET_KEY = settings.INSECURE_SECRET_KEY
    (message,) = arena_messages()
    assert message.id == "arena.E003"
    assert "SECRET_KEY_FILE" in str(message.hint)


@pytest.mark.parametrize(("length", "ids"), [(80, []), (81, ["arena.E004"])])
def test_a_channel_folder_must_leave_room_for_a_socket(settings: Settings, length: int, ids: list[str]) -> None:
    settings.CHANNEL_DIR = Path("/" + "x" * (length - 1))
    assert [message.id for message in arena_messages()] == ids


@pytest.mark.parametrize(
    ("name", "value", "smallest"),
    [("JOB_MAX_ATTEMPTS", 0, 1), ("JOB_LEASE_SECONDS", 19, 20), ("DUEL_PARALLELISM", 0, 1), ("VERIFY_PER_RUN", -1, 0)],
)
def test_jobs_that_could_not_run_are_refused(settings: Settings, name: str, value: int, smallest: int) -> None:
    setattr(settings, name, value)
    (message,) = arena_messages()
    assert (message.id, message.msg) == ("arena.E005", f"{name} is {value}.")
    assert f"Set it to {smallest} or more" in str(message.hint)


def test_a_deployment_is_told_what_it_should_not_do_without(settings: Settings) -> None:
    engine = settings.DATABASES["default"]["ENGINE"]
    settings.REDIS_URL = ""
    expected = ["arena.W001", "arena.W002"] if engine.endswith("sqlite3") else ["arena.W002"]
    found = arena_messages(deployment=True)
    assert [message.id for message in found] == expected
    assert all(message.hint and not message.is_serious() for message in found)

    settings.REDIS_URL = "redis://cache.example:6379/0"
    assert "arena.W002" not in [message.id for message in arena_messages(deployment=True)]
