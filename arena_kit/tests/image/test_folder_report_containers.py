"""Folders are tried in containers that have no network, no files of the host and no variables of the arena."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from arena_kit.environment.outside.report import BAD, GOOD, Report
from arena_kit.image.errors import BuilderUnavailable
from arena_kit.image.folder_report import folder_report
from arena_kit.tests.environment.edited import nim

pytestmark = pytest.mark.docker
LOOKS = '''
import json, os, socket
def seen():
    """Say what this process has."""
    try:
        socket.create_connection(("192.0.2.1", 80), 1)
        network = True
    except OSError:
        network = False
    try:
        open("/written", "w").close()
        writes = True
    except OSError:
        writes = False
    return json.dumps([sorted(os.environ), os.getuid(), network, writes, os.path.exists("/var/run/docker.sock")])

'''


def tried(folder: Path, settings: Settings) -> Report:
    return folder_report(folder, image=settings.PLAYER_BASE_IMAGE, prefix=settings.PLAYER_IMAGE_PREFIX)


def test_the_code_sees_nothing_of_the_arena(tmp_path: Path, settings: Settings) -> None:
    folder = nim(tmp_path, environment=("\n\nclass Nim", f"\n{LOOKS}\nclass Nim"))
    code = folder / "environment.py"
    code.write_text(code.read_text().replace('return f"{self._stones} stones are left."', "return seen()"))
    report = tried(folder, settings)
    assert [line.mark for line in report.lines if line.about == "Rules"] == [GOOD], report.lines
    variables, uid, network, writes, engine = json.loads(report.shown[0].text)
    assert not {name for name in variables if name in os.environ} - {"HOME", "PATH", "LANG", "TMPDIR", "PWD", "SHLVL"}
    assert (uid, network, writes, engine) == (60700, False, False, False)
    assert "Reach: environment.py" in report.trouble


def test_a_good_folder_passes_and_a_greedy_one_is_killed(tmp_path: Path, settings: Settings) -> None:
    good = tried(nim(tmp_path), settings)
    assert good.trouble == "", good.lines
    assert good.lines[-1].about == "Same again"
    greedy = tried(nim(tmp_path, "greedy", begins="bytearray(8 << 30)"), settings)
    assert [line.mark for line in greedy.lines][-1] == BAD


def test_without_the_image_the_trial_is_the_arenas_fault(tmp_path: Path) -> None:
    with pytest.raises(BuilderUnavailable, match="no-such-image"):
        folder_report(nim(tmp_path), image="no-such-image", prefix="tests")
