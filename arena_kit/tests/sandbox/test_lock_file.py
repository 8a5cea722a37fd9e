"""Which workers on this host are alive."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from pathlib import Path

import pytest

from arena_kit.sandbox.lock_file import LockFile, notes_alive, tokens_alive


def test_a_worker_is_alive_until_its_process_ends_in_whatever_way(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib, time; from arena_kit.sandbox.lock_file import LockFile; "
        f"print(LockFile(pathlib.Path({str(tmp_path)!r})).token, flush=True); time.sleep(600)"
    )
    own = LockFile(tmp_path)
    other = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None
    token = other.stdout.readline().strip()
    try:
        assert tokens_alive(tmp_path) == {own.token, token}
    finally:
        other.kill()
        other.communicate()
    assert tokens_alive(tmp_path) == {own.token}
    own.end()
    assert tokens_alive(tmp_path) == frozenset()
    assert list(tmp_path.iterdir()) == []


def test_of_a_worker_that_died_before_its_file_had_a_name_nothing_is_left(tmp_path: Path) -> None:
    code = (
        "import pathlib; from arena_kit.sandbox.lock_file import LockFile; "
        f"pathlib.Path.rename = lambda *_: __import__('os')._exit(0); LockFile(pathlib.Path({str(tmp_path)!r}))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    (unnamed,) = tmp_path.iterdir()
    assert unnamed.name.startswith(".")
    (tmp_path / ".something-else").touch()
    assert tokens_alive(tmp_path) == frozenset()
    assert [path.name for path in tmp_path.iterdir()] == [".something-else"]


def test_a_worker_whose_file_is_swept_before_it_is_locked_begins_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, swept = fcntl.flock, list[int]()

    def lock_late(descriptor: int, operation: int) -> None:
        if not swept and operation == fcntl.LOCK_EX:
            swept.append(descriptor)
            assert tokens_alive(tmp_path) == frozenset()
            assert list(tmp_path.iterdir()) == []
        lock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", lock_late)
    own = LockFile(tmp_path, note="note")
    assert swept
    assert notes_alive(tmp_path) == {own.token: "note"}
    own.end()
    assert list(tmp_path.iterdir()) == []
