"""The wheel on every Python that is installed here, with the newest and the oldest packages that it names."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from arena_kit.content import LIBRARY
from arena_kit.tests.test_wheel import PLAYER

pytestmark = [pytest.mark.network, pytest.mark.slow, pytest.mark.nightly]
OLDEST = ["numpy==1.26.4", "packaging==25.0", "tqdm==4.67.0", "pyyaml==6.0.2", "msgspec==0.20.0", "argcomplete==3.5.0"]
"""Packages at the least versions of pyproject.toml."""


def pythons() -> Iterator[str]:
    """Yield the path of one interpreter for each version from 3.10 on."""
    for minor in range(10, 20):
        name = f"python3.{minor}"
        found = sorted(Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/{name}"))
        path = str(found[-1]) if found else sys.executable if sys.version_info[1] == minor else shutil.which(name)
        if path:
            yield path


def tried(python: str, folder: Path, packages: list[str]) -> list[str]:
    """Install the wheel for an interpreter; return what its command says of a check, a duel and an evaluation."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=LIBRARY.parent, check=True, capture_output=True)
    (wheel,) = folder.glob("arena_kit-*.whl")
    subprocess.run([python, "-m", "venv", str(folder / "env")], check=True)
    programs = folder / "env" / "bin"
    install = [str(programs / "python"), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    subprocess.run([*install, *packages, f"arena-kit[gymnasium] @ file://{wheel}"], check=True, capture_output=True)
    for name in ("me", "you"):
        (folder / name).mkdir()
        (folder / name / "player.py").write_text(PLAYER)
    local = ("--sandbox", "process", "--environment")
    said = []
    for words in (
        ("check", "me", *local, "connect-four"),
        ("play", "me", "you", *local, "tic-tac-toe", "--matches", "4"),
        ("evaluate", "me", *local, "frozen-lake", "--episodes", "3"),
    ):
        environment = {"PATH": os.defpath, "HOME": str(folder)}
        done = subprocess.run(
            [str(programs / "arena"), *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        said.append(done.stdout + done.stderr)
    return said


@pytest.mark.parametrize("python", list(pythons()), ids=lambda path: Path(path).name)
def test_it_checks_plays_and_evaluates(python: str, tmp_path: Path) -> None:
    checked, played, evaluated = tried(python, tmp_path, [])
    assert "It passes" in checked
    assert "4 matches in" in played
    assert "Score:" in evaluated


def test_it_takes_the_oldest_packages_that_it_names(tmp_path: Path) -> None:
    """On the oldest interpreter, because NumPy 1.26 has no wheels for new ones."""
    checked, _, evaluated = tried(next(pythons()), tmp_path, OLDEST)
    assert "It passes" in checked
    assert "Score:" in evaluated
