"""Hosts that are processes of this machine, also when what has created them dies."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core.operations.scaling.providers.local import LocalProvider

DEADLINE_SECONDS = 60
COMMAND = [sys.executable, "-c", "import time; time.sleep(600)"]


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[LocalProvider]:
    made = LocalProvider(tmp_path / "hosts", COMMAND, 1)
    yield made
    made.close()


def wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_gone(provider: LocalProvider, name: str) -> bool:
    """Ask for its removal once more, as every look at hosts that are to go does it."""
    provider.destroy(name)
    return name not in provider.hosts()


def test_a_host_is_there_until_it_has_been_removed(provider: LocalProvider) -> None:
    provider.create("one")
    assert provider.hosts() == ["one"]
    wait_until(lambda: is_gone(provider, "one"))
    assert list(provider.folder.iterdir()) == []


def test_a_host_whose_scaler_died_while_it_was_created_can_be_removed(
    provider: LocalProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = subprocess.Popen
    scaler = os.fork()
    if not scaler:
        # It dies as soon as its host begins.
        monkeypatch.setattr(subprocess, "Popen", lambda *words, **named: (start(*words, **named), os._exit(0)))
        try:
            provider.create("orphan")
        finally:
            os._exit(1)
    assert os.waitpid(scaler, 0)[1] == 0
    assert provider.hosts() == ["orphan"]
    wait_until(lambda: is_gone(provider, "orphan"))
