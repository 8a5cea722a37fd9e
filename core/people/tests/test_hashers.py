"""The hash of passwords: of many at once, few are computed at the same time."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import argon2
import pytest
from django.contrib.auth.hashers import check_password, make_password
from django.test import Client
from pytest_django.fixtures import Settings

from core.people.hashers import AT_ONCE, _admitted
from core.settings import accounts
from core.tests import factories

HASHES = 16


@pytest.fixture
def hashers(settings: Settings) -> None:
    settings.PASSWORD_HASHERS = accounts.PASSWORD_HASHERS


@pytest.mark.usefixtures("hashers")
def test_of_sixteen_logins_at_once_few_are_hashed_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = make_password("correct horse")
    assert stored.startswith("argon2$argon2id$v=19$m=102400,")
    running, most, lock = 0, 0, threading.Lock()

    def counted(*_: Any) -> bool:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.02)
        with lock:
            running -= 1
        return True

    monkeypatch.setattr(argon2.PasswordHasher, "verify", counted)
    with ThreadPoolExecutor(HASHES) as pool:
        assert all(pool.map(lambda _: check_password("correct horse", stored), range(HASHES)))
    assert most == AT_ONCE


@pytest.mark.usefixtures("hashers")
def test_a_hash_is_that_of_django(settings: Settings) -> None:
    stored = make_password("correct horse")
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
    assert check_password("correct horse", stored)
    assert not check_password("battery staple", stored)


@pytest.mark.django_db
@pytest.mark.usefixtures("hashers")
def test_who_would_wait_too_long_is_asked_to_come_again(monkeypatch: pytest.MonkeyPatch, client: Client) -> None:
    factories.user("ann")
    monkeypatch.setattr("core.people.hashers.PATIENCE_SECONDS", 0.01)
    with ExitStack() as stack:
        for _ in range(AT_ONCE):
            stack.enter_context(_admitted())
        page = client.post("/login/", {"username": "ann@arena.example", "password": "wrong"})
        sent = {"email": "ann@arena.example", "password": "wrong"}
        answer = client.post("/api/v1/tokens/", sent, content_type="application/json")
    assert (page.status_code, page["Retry-After"]) == (429, "5")
    assert "Many people are logging in at this moment." in page.content.decode()
    assert (answer.status_code, answer.json()["code"]) == (429, "too_many_logins")
    assert client.post("/login/", {"username": "ann@arena.example", "password": "wrong"}).status_code == 200
