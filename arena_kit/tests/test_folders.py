"""Which temporary folders count as abandoned."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from arena_kit.folders import OwnFolder, remove_abandoned


def test_a_folder_is_abandoned_when_its_process_was_killed_and_only_then(tmp_path: Path) -> None:
    code = (
        "import pathlib, sys, time; from arena_kit.folders import OwnFolder; "
        f"path = OwnFolder(pathlib.Path({str(tmp_path)!r}), 'own-').path; (path / 'file').touch(); "
        "print(path.name, flush=True); time.sleep(600)"
    )
    own = OwnFolder(tmp_path, "own-", mode=0o711)
    (tmp_path / "own-not-a-folder").touch()
    other = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None
    name = other.stdout.readline().strip()
    try:
        assert remove_abandoned(tmp_path, "own-") == 0
        assert (tmp_path / name / "file").exists()
    finally:
        other.kill()
        other.communicate()

    assert remove_abandoned(tmp_path, "own-") == 1
    assert not (tmp_path / name).exists()
    assert own.path.is_dir()
    assert own.path.stat().st_mode & 0o777 == 0o711
    own.close()
    own.close()
    assert [path.name for path in tmp_path.iterdir()] == ["own-not-a-folder"]
