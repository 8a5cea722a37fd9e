"""The wheel `arena-kit`, built and installed as on a participant's machine, without a checkout and Django."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import venv
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from arena_kit.content import LIBRARY

ROOT = LIBRARY.parent
PLAYER = """
class Player:
    def __init__(self, train_mode): pass
    def start(self, state, valid_actions): return valid_actions[0]
    def step(self, state, valid_actions, prev_reward): return valid_actions[-1]
    def end(self, state, prev_reward): pass
"""


@pytest.fixture(scope="module", params=["linked", pytest.param("installed", marks=pytest.mark.nightly)])
def kit(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a new virtual environment with only the wheel and the packages in the lock.

    Packages are linked to those of this environment, which saves seconds, or installed from the index.
    """
    folder = tmp_path_factory.mktemp("kit")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, text=True)
    (wheel,) = folder.glob("arena_kit-*.whl")
    # This Python's pip is used, because unpacking another takes seconds. What is imported is compiled then.
    venv.create(folder / "venv")
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "venv"), "install", "--no-compile", "-qq",
           "--disable-pip-version-check", "--no-deps"]  # fmt: skip
    if request.param == "linked":
        (site,) = (folder / "venv/lib").glob("python*/site-packages")
        link_locked(site)
    else:
        lock = folder / "lock.txt"
        lock.write_text(locked())
        subprocess.run([*pip, "--require-hashes", "-r", str(lock)], check=True, capture_output=True, text=True)
    subprocess.run([*pip, str(wheel)], check=True, capture_output=True, text=True)
    return folder


def locked() -> str:
    """Return the lock of what the wheel needs."""
    command = [sys.executable, str(ROOT / ".ci/locked.py"), "kit"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def link_locked(site: Path) -> None:
    """Link all files of the packages in the lock, as they are in this environment, into a folder of packages."""
    for line in re.findall(r"^[\w.-]+==[^\\]+", locked(), re.MULTILINE):
        asked = Requirement(line)
        if asked.marker and not asked.marker.evaluate():
            continue
        found = distribution(asked.name)
        for top in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
            (site / top).symlink_to(Path(str(found.locate_file(top))))


def arena(kit: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [str(kit / "venv/bin/arena"), *map(str, words)]
    return subprocess.run(command, cwd=kit, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def player(kit: Path) -> Path:
    folder = kit / "my_player"
    folder.mkdir()
    (folder / "player.py").write_text(PLAYER)
    return folder


@pytest.mark.network
@pytest.mark.slow
def test_the_wheel_plays_a_duel_without_a_checkout(kit: Path, player: Path) -> None:
    done = arena(kit, "play", player, player, "--environment", "tic-tac-toe", "--matches", "4",
                 "--sandbox", "process", "--output", kit / "duel.json")  # fmt: skip
    assert done.returncode == 0, done.stderr
    duel = json.loads((kit / "duel.json").read_text())
    assert (duel["num_matches"], len(duel["matches"])) == (4, 4)


@pytest.mark.network
@pytest.mark.slow
@pytest.mark.nightly
def test_the_wheel_evaluates_and_rechecks_the_records(kit: Path, player: Path) -> None:
    records = kit / "records.zip"
    done = arena(kit, "evaluate", player, "--environment", "FrozenLake-v1", "--episodes", "3",
                 "--sandbox", "process", "--records", records)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Score:" in done.stderr
    checked = arena(kit, "recheck", records)
    assert (checked.returncode, "The record verifies" in checked.stdout) == (0, True), checked.stdout + checked.stderr


@pytest.mark.network
@pytest.mark.slow
def test_django_is_not_importable_where_the_wheel_is_installed(kit: Path) -> None:
    program = (
        "import importlib.util as u, pathlib, arena_kit; "
        "print([u.find_spec(name) is None for name in ('django', 'core', 'web')], "
        "'venv' in pathlib.Path(arena_kit.__file__).parts)"
    )
    command = [str(kit / "venv/bin/python"), "-c", program]
    done = subprocess.run(command, cwd=kit, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[True, True, True] True"


@pytest.mark.network
@pytest.mark.slow
def test_the_example_players_and_environments_are_in_the_wheel(kit: Path) -> None:
    program = (
        "from arena_kit.environment.registry import all_specs; from arena_kit.examples import names; "
        "print(len(all_specs()), 'minimax' in names())"
    )
    done = subprocess.run(
        [str(kit / "venv/bin/python"), "-c", program], cwd=kit, capture_output=True, text=True, check=True
    )
    assert done.stdout.split()[1] == "True"
    assert int(done.stdout.split()[0]) >= 19
