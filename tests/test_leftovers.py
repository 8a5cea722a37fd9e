"""Temporary folders of killed test runs are removed, and nothing else is."""

from __future__ import annotations

import os
import time
from pathlib import Path

from tests.leftovers import OLD_SECONDS, remove_leftovers


def test_only_old_folders_of_tests_are_removed(tmp_path: Path) -> None:
    now = time.time()
    old = now - OLD_SECONDS - 60
    names = ["arena-a1b2c3d_", "arena-metrics-abcdefgh"]
    others = ["arena-before-restore-abcdefgh", "arena-worker-0-abcdefgh", "arena-pg-abcdefgh", "other-abcdefgh"]
    for name in (*names, *others):
        (tmp_path / name / "inside").mkdir(parents=True)
        os.utime(tmp_path / name, (old, old))
    (tmp_path / "arena-newfolde").mkdir()
    (tmp_path / "arena-isafile1").write_text("kept")
    os.utime(tmp_path / "arena-isafile1", (old, old))
    (tmp_path / "arena-symlink1").symlink_to(tmp_path / "other-abcdefgh")
    os.utime(tmp_path / "arena-symlink1", (old, old), follow_symlinks=False)

    assert [path.name for path in remove_leftovers(tmp_path, now=now)] == names
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {*others, "arena-newfolde", "arena-isafile1", "arena-symlink1"}
    assert (tmp_path / "other-abcdefgh" / "inside").is_dir()
