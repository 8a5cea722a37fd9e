"""Packing a folder: equal bytes, nothing hidden, nothing from outside."""

from __future__ import annotations

import io
import os
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from arena_kit.errors import Refused
from arena_kit.upload.archive import inspect_archive
from arena_kit.upload.folder import pack_folder
from arena_kit.upload.zip_safety import LIMITS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "my_player"
    (root / "lib" / "__pycache__").mkdir(parents=True)
    (root / "player.py").write_text("import lib.moves\n")
    (root / "lib" / "moves.py").write_text("")
    (root / "lib" / "__pycache__" / "moves.cpython-311.pyc").write_bytes(b"x")
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("secret")
    (root / ".env").write_text("TOKEN=1")
    return root


def packed(folder: Path) -> tuple[bytes, tuple[str, ...]]:
    file = io.BytesIO()
    notes = pack_folder(folder, file).notes
    return file.getvalue(), notes


def test_hidden_files_and_compiled_python_stay_here(folder: Path) -> None:
    content, notes = packed(folder)
    assert inspect_archive(io.BytesIO(content)).names == ("lib/moves.py", "player.py")
    assert ".git/" in notes[0]
    assert "passwords or tokens are left out: .env." in notes[1]


def test_the_wanted_python_is_packed_and_an_environment_of_tools_is_not(folder: Path) -> None:
    (folder / ".python-version").write_text("3.12\n")
    (folder / "venv").mkdir()
    (folder / "venv" / "pyvenv.cfg").write_text("home = /usr/bin\n")
    content, _ = packed(folder)
    assert inspect_archive(io.BytesIO(content)).names == (".python-version", "lib/moves.py", "player.py")


def test_equal_files_give_equal_bytes(folder: Path) -> None:
    first, _ = packed(folder)
    os.utime(folder / "player.py", (1, 1))
    (folder / "player.py").chmod(0o755)
    assert packed(folder)[0] == first


def test_a_link_within_the_folder_is_packed_as_its_file(folder: Path) -> None:
    (folder / "same.py").symlink_to("player.py")
    content, _ = packed(folder)
    assert zipfile.ZipFile(io.BytesIO(content)).read("same.py") == b"import lib.moves\n"


@pytest.mark.parametrize("target", ["../secret.txt", "../outside", "nowhere"])
def test_a_link_that_leads_out_of_the_folder_is_refused(folder: Path, target: str) -> None:
    (folder.parent / "secret.txt").write_text("my key")
    (folder.parent / "outside").mkdir()
    (folder / "weights").symlink_to(target)
    with pytest.raises(Refused) as caught:
        packed(folder)
    assert caught.value.code in ("link_outside", "not_a_file")


def test_a_pipe_is_refused_and_not_read(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    with pytest.raises(Refused, match="pipe is not a file"):
        packed(folder)


def test_a_whole_disk_is_refused_soon(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena_kit.upload.folder.LIMITS", replace(LIMITS, entry_count=1))
    with pytest.raises(Refused) as caught:
        packed(folder)
    assert caught.value.code == "too_many_entries"
