"""Which temporary folders count as abandoned."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from arena_kit.content import LIBRARY
from arena_kit.examples import make_archive
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


OPPONENT = """
import sys, time
import arena_kit
arena_kit.make("tic-tac-toe", opponent=sys.argv[1])
print("ready", flush=True)
time.sleep(float(sys.argv[2]))
"""


@pytest.mark.slow
def test_an_opponent_from_a_zip_leaves_no_folder_behind(tmp_path: Path) -> None:
    archive, temporary = tmp_path / "mine.zip", tmp_path / "temporary"
    archive.write_bytes(make_archive("dummy"))
    temporary.mkdir()

    def trained(seconds: int) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", OPPONENT, str(archive), str(seconds)]
        variables = {**os.environ, "TMPDIR": str(temporary)}
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=variables, cwd=LIBRARY.parent)

    killed = trained(600)
    assert killed.stdout is not None
    assert killed.stdout.readline() == "ready\n"
    killed.kill()
    killed.communicate()
    assert len(list(temporary.glob("arena-opponent-*"))) == 1
    # The next one removes what the killed one has left, and at its end its own.
    assert trained(0).communicate()[0] == "ready\n"
    assert list(temporary.iterdir()) == []
