"""The shown source is what plays, even with compiled files beside it in a folder that was never checked."""

from __future__ import annotations

import importlib.util
import zipfile
from pathlib import Path

import pytest

from arena_kit.referee.script import ScriptScore
from arena_kit.sandbox.base import FOLDER_PREFIX
from arena_kit.tests.arenas import FIRST_VALID, Arena, greet, leave
from arena_kit.tests.compiled import write_compiled
from arena_kit.tests.scripts import FINE, Scripts

SHOWN, HIDDEN = "print('the source', flush=True)\n", "print('compiled', flush=True)\n"


def plant(folder: Path, main: str, *, source: str) -> None:
    """Write sources, and compiled files beside them, which print different words."""
    (folder / main).write_text(source)
    (folder / "package").mkdir()
    for name in ("helper.py", "package/__init__.py"):
        (folder / name).write_text(SHOWN)
    for name in (main, "helper.py", "package/__init__.py"):
        cached = Path(importlib.util.cache_from_source(str(folder / name)))
        write_compiled(HIDDEN + source if name == main else HIDDEN, cached)
    write_compiled(HIDDEN, folder / "alone.pyc")
    with zipfile.ZipFile(folder / "modules.zip", "w") as archive:
        archive.writestr("packed.py", SHOWN)
        for name in ("packed.pyc", "packed_alone.pyc"):
            archive.write(folder / "alone.pyc", name)
    (folder / "modules.zip").chmod(0o644)
    (folder / "package").chmod(0o755)


USES = (
    SHOWN
    + """
import helper, package
try:
    import alone
except ImportError:
    print("no source", flush=True)
import os, sys
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "modules.zip"))
import packed
try:
    import packed_alone
except ImportError:
    print("no source", flush=True)
"""
)
SEEN = ["the source", "the source", "the source", "no source", "the source", "no source"]


@pytest.mark.containers_nightly
def test_a_player_is_its_source(arena: Arena) -> None:
    launch = arena.prepare(FIRST_VALID)
    plant(Path(launch.image.removeprefix(FOLDER_PREFIX)), "player.py", source=USES + FIRST_VALID)

    container = arena.sandbox.launch(launch)
    greet(container)

    assert leave(container).split("\n")[: len(SEEN)] == SEEN


def test_a_script_is_its_source(scripts: Scripts) -> None:
    launch = scripts.prepare(FINE)
    plant(Path(launch.image.removeprefix(FOLDER_PREFIX)), "submission.py", source=USES + FINE)

    run = scripts.run_prepared(launch)

    assert isinstance(run.verdict, ScriptScore), run
    assert run.end.log.split("\n")[: len(SEEN)] == SEEN


@pytest.mark.docker
def test_a_script_passes_that_on_to_programs_that_it_starts(docker_arena: Arena) -> None:
    scripts = Scripts(docker_arena)
    source = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import helper'], check=True)\n" + FINE
    launch = scripts.prepare(source)
    plant(Path(launch.image.removeprefix(FOLDER_PREFIX)), "submission.py", source=source)

    assert scripts.run_prepared(launch).end.log.split("\n")[0] == "the source"
