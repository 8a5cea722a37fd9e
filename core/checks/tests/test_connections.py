"""Connections to other machines without TLS are named at deployment."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from arena_kit.folders import data_dir_close
from core.checks.connections import check_connections, is_elsewhere


@pytest.mark.parametrize("host", ["", "postgres", "localhost", "127.0.0.1", "::1", "/run/postgresql.sock/a"])
def test_this_machine_and_its_containers_are_not_elsewhere(host: str) -> None:
    assert not is_elsewhere(host)


@pytest.mark.parametrize("host", ["db.example.org", "10.0.0.7", "2001:db8::7", "postgres.arena.svc"])
def test_other_machines_are(host: str) -> None:
    assert is_elsewhere(host)


def test_what_is_asked_in_plain_text_on_another_machine_is_named(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = settings.DATABASES["default"]
    monkeypatch.setitem(database, "HOST", "db.example.org")
    monkeypatch.setitem(database, "OPTIONS", {})
    settings.REDIS_URL, settings.EMAIL_HOST = "redis://:secret@redis.example.org:6379/0", "mail.example.org"
    settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False
    found = check_connections()
    assert [one.id for one in found] == ["arena.W013"] * 3
    assert [word for word in ("PostgreSQL", "Redis", "mail server") if any(word in one.msg for one in found)] == [
        "PostgreSQL",
        "Redis",
        "mail server",
    ]
    assert "secret" not in str(found)

    monkeypatch.setitem(database, "OPTIONS", {"sslmode": "verify-full"})
    settings.REDIS_URL, settings.EMAIL_USE_TLS = "rediss://:secret@redis.example.org:6379/0", True
    assert check_connections() == []


def test_no_other_user_comes_into_the_folder_of_the_arenas_data(tmp_path: Path) -> None:
    (folder := tmp_path / "data").mkdir(mode=0o755)
    data_dir_close(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    data_dir_close(tmp_path / "nowhere")
