"""Which workers on this host are alive."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from arena_kit.sandbox.lock_file import LockFile, tokens_alive


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
