"""A site whose host has no workers fetches by itself what went live on another one."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from unittest.mock import Mock

import pytest
from django.db import OperationalError
from pytest_django.fixtures import Settings

from arena_kit.environment.registry import get_spec
from arena_kit.tests.environment.edited import nim
from arena_kit.tests.environment.outside import outside
from core.environments import bringing
from core.environments.bringing import SiteChore
from core.environments.tests.test_bringing import live
from core.models import EnvironmentTrial
from core.tests import factories

# Threads have connections of their own, which see what is committed.
pytestmark = pytest.mark.django_db(transaction=True)


def test_a_request_begins_to_fetch_once_at_a_time_and_goes_on(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    root = factories.user("root", is_staff=True, is_superuser=True)
    settings.ENVIRONMENTS_DIR = first = tmp_path / "first"
    with outside(first, monkeypatch, tmp_path / "trials"):
        live(root, nim(tmp_path / "1"))
    settings.ENVIRONMENTS_DIR = other = tmp_path / "other"
    with outside(other, monkeypatch, tmp_path / "other-trials"):
        site = SiteChore()
        thread = site()
        assert thread is not None
        thread.join()
        assert get_spec("nim").id == "nim-v1"
        # Not again within a minute. It goes on after what fails.
        assert site() is None
        monkeypatch.setattr(bringing, "PAUSE_SECONDS", -1.0)
        site = SiteChore()
        for error, level in ((ZeroDivisionError(), logging.ERROR), (OperationalError("It is away."), logging.WARNING)):
            monkeypatch.setattr(bringing, "environments_fetch", Mock(side_effect=error))
            thread = site()
            assert thread is not None
            thread.join()
            (record,) = caplog.records
            assert (record.levelno, "Environments could not be fetched" in record.message) == (level, True)
            caplog.clear()


def test_two_processes_of_a_machine_fetch_a_folder_once(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = factories.user("root", is_staff=True, is_superuser=True)
    settings.ENVIRONMENTS_DIR = first = tmp_path / "first"
    with outside(first, monkeypatch, tmp_path / "trials"):
        live(root, nim(tmp_path / "1"))
    trial = EnvironmentTrial.objects.get()
    settings.ENVIRONMENTS_DIR = other = tmp_path / "other"
    with outside(other, monkeypatch, tmp_path / "other-trials"):
        place = other / "nim"
        # Both have found that it is missing.
        bringing._fetch(trial, place)
        made = place.stat().st_ino
        bringing._fetch(trial, place)
        assert place.stat().st_ino == made


def test_a_request_goes_on_where_no_thread_begins_and_the_next_one_tries_again(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    settings.ENVIRONMENTS_DIR = tmp_path
    site = SiteChore()
    with monkeypatch.context() as without:
        without.setattr(threading.Thread, "start", Mock(side_effect=RuntimeError("can't start new thread")))
        assert site() is None
    assert "can't start new thread" in caplog.text
    thread = site()
    assert thread is not None
    thread.join()
