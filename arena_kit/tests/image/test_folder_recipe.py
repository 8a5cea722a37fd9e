"""Without an engine, an archive becomes a folder, and the owner is told which packages the arena's Python lacks."""

from __future__ import annotations

import importlib.metadata
import io
from pathlib import Path

import pytest

from arena_kit.image.errors import BuildFailed
from arena_kit.image.folder_recipe import FolderRecipe
from arena_kit.tests.image.archives import PLAYER, archive


def test_an_archive_becomes_a_folder_and_the_steps_are_logged(tmp_path: Path) -> None:
    log: list[str] = []

    result = FolderRecipe(folder=tmp_path).build(archive(), name="s1-b1", labels={}, log=log.append)

    assert result.image == f"folder:{tmp_path / 's1-b1'}"
    assert result.warnings == ()
    assert (tmp_path / "s1-b1" / "player.py").read_text() == PLAYER
    assert log == ["Step 1/2: check and unpack the archive", "Step 2/2: requirements (none)"]


def test_compiled_python_is_left_out_and_the_owner_is_told(tmp_path: Path) -> None:
    log: list[str] = []

    files = {"__pycache__/player.cpython-311.pyc": "x"}
    result = FolderRecipe(folder=tmp_path).build(archive(files), name="s1-b1", labels={}, log=log.append)

    (note,) = result.warnings
    assert note.startswith("Compiled Python is left out, because the arena runs only sources: __pycache__/player.cpy")
    assert f"Note: {note}" in log
    assert not (tmp_path / "s1-b1" / "__pycache__").exists()


def test_building_again_replaces_the_folder(tmp_path: Path) -> None:
    recipe = FolderRecipe(folder=tmp_path)
    recipe.build(archive({"old.txt": ""}), name="s1", labels={}, log=print)

    recipe.build(archive({"new.txt": ""}), name="s1", labels={}, log=print)

    assert sorted(path.name for path in (tmp_path / "s1").iterdir()) == ["new.txt", "player.py"]


def test_requirements_that_this_python_does_not_meet_are_warnings(tmp_path: Path) -> None:
    numpy = importlib.metadata.version("numpy")
    requirements = f"numpy=={numpy}\nno-such-package\nnumpy<0.1\nno-such-either; python_version < '3'\n"

    result = FolderRecipe(folder=tmp_path).build(
        archive({"requirements.txt": requirements}), name="s1", labels={}, log=print
    )

    assert result.warnings == (
        "no-such-package is not installed: the process sandbox uses the arena's own Python.",
        f"numpy<0.1 is required, but the process sandbox uses version {numpy} of the arena's Python.",
    )


@pytest.mark.parametrize(
    ("file", "code"),
    [
        (io.BytesIO(b"no zip"), "not_a_zip"),
        (archive({"requirements.txt": "-e ."}), "requirements_option"),
        (archive({"environment.yml": "dependencies: 1"}), "environment_yml"),
        (archive({"net.py": "def f(:"}), "does_not_compile"),
    ],
)
def test_what_is_refused_fails_the_build_and_leaves_nothing(file: io.BytesIO, code: str, tmp_path: Path) -> None:
    with pytest.raises(BuildFailed) as caught:
        FolderRecipe(folder=tmp_path).build(file, name="s1", labels={}, log=print)

    assert caught.value.code == code
    assert list(tmp_path.iterdir()) == []


def test_the_build_refuses_in_the_words_of_an_upload(tmp_path: Path) -> None:
    file = archive({"net.py": "class Net\n    pass\n"})
    with pytest.raises(BuildFailed, match=r"\Anet\.py does not compile: line 1: expected ':'\.\Z"):
        FolderRecipe(folder=tmp_path).build(file, name="s1", labels={}, log=print)


def test_only_folders_of_the_recipe_are_removed(tmp_path: Path) -> None:
    recipe = FolderRecipe(folder=tmp_path / "players")
    image = recipe.build(archive(), name="s1", labels={}, log=print).image
    (tmp_path / "other").mkdir()

    recipe.remove(image)
    recipe.remove(image)
    recipe.remove(f"folder:{tmp_path / 'other'}")
    recipe.remove(f"folder:{tmp_path / 'players' / '..'}")

    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "players"]
    assert list((tmp_path / "players").iterdir()) == []
