"""Participants' commands on Windows and macOS, which simulators and types stand in for: see `tests/machines`."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from arena_kit.cli.main import VERBS
from arena_kit.tests.arenas import until
from arena_kit.tests.sandbox.test_sandbox_contract import running
from tests.machines import SYSTEMS, arena, simulated
from tests.machines.journey import FIRST, GAME

ROOT = Path(__file__).parents[1]
EVERY_HELP = """
from arena_kit.cli.main import VERBS, main
for verb in VERBS:
    try:
        main([verb, "--help"])
    except SystemExit as end:
        assert end.code == 0, verb
"""
"""Each verb's module is imported and prints its options."""


def portable_files() -> list[str]:
    spec = importlib.util.spec_from_file_location("portable", ROOT / ".ci" / "portable.py")
    assert spec is not None
    assert spec.loader is not None
    spec.loader.exec_module(module := importlib.util.module_from_spec(spec))
    return list(module.paths())


def test_nothing_that_participants_use_is_excused_from_the_ban_on_what_only_linux_has() -> None:
    only_the_machine = 'lint.per-file-ignores = {"arena_kit/machine/*.py" = ["TID251"]}'
    command = [sys.executable, "-m", "ruff", "check", "--no-cache", "--select", "TID251", "--config", only_the_machine]
    files = portable_files()
    assert {"arena_kit/cli/play.py", "arena_kit/environment/server/program.py"} < set(files)
    done = subprocess.run([*command, *files], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_verb_shows_its_options(system: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", EVERY_HELP], env=simulated(system), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("usage: arena ") >= len(VERBS)


@pytest.mark.parametrize("system", SYSTEMS)
def test_nothing_that_players_have_started_outlives_them(system: str, tmp_path: Path) -> None:
    word = f"86400.{os.getpid()}{SYSTEMS.index(system)}"
    for name, end in (("one", ""), ("other", "\nimport os\nos._exit(3)\n")):
        (tmp_path / name).mkdir()
        apart = f"import subprocess\nsubprocess.Popen(['sleep', '{word}'], start_new_session=True)\n"
        (tmp_path / name / "player.py").write_text(apart + FIRST + end)
    command = arena("play", str(tmp_path / "one"), str(tmp_path / "other"), *GAME, "--matches", "2", "--json")
    done = subprocess.run(
        [*command, "--sandbox", "process"], env=simulated(system), capture_output=True, text=True, check=False
    )
    assert (done.returncode, json.loads(done.stdout)["errors"]) == (0, [0, 2]), done.stderr
    assert until(lambda: running(word) == [])


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_second_look_for_leftovers_leaves_the_folder_of_who_lives(system: str, tmp_path: Path) -> None:
    look = f"from pathlib import Path; from arena_kit.folders import *; here = Path({str(tmp_path)!r})\n"
    others = "[subprocess.run([sys.executable, '-c', look + 'remove_abandoned(here, \"own-\")'], check=True)"
    code = f"import subprocess, sys\nlook = {look!r}\nexec(look)\nown = OwnFolder(here, 'own-')\n"
    code += f"{others} for _ in range(2)]\nassert own.path.is_dir()\nown.close()"
    subprocess.run([sys.executable, "-c", code], env=simulated(system), check=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("environment", ["nim", "classic-nim"])
def test_environments_of_organisers_run_at_home(system: str, environment: str) -> None:
    folders, player = ROOT / "arena_kit" / "tests" / "environment" / "folders", ROOT / "example_players" / "random"
    command = arena("play", str(player), str(player), "--environments", str(folders), "--environment", environment)
    done = subprocess.run(
        [*command, "--matches", "2", "--sandbox", "process", "--json"],
        env=simulated(system), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["sandbox"], result["matches"], result["errors"]) == ("plain", 2, [0, 0])
