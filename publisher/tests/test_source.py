from __future__ import annotations

import io
from pathlib import Path

import pytest

from publisher.source import FILE_BYTES, SourceRefused, unpack_source
from publisher.tests.samples import zip_of


def test_files_are_published_as_they_are(tmp_path: Path) -> None:
    source = unpack_source(zip_of({"lib/search.py": "depth = 3\n"}), tmp_path / "source")

    assert source.paths == ("lib/search.py", "player.py")
    assert (source.folder / "lib/search.py").read_text() == "depth = 3\n"
    assert source.entry_point == "player.py"
    assert source.notes == ()


def test_a_note_stands_in_the_place_of_a_large_file(tmp_path: Path) -> None:
    files = {"weights.bin": bytes(range(256)) * (FILE_BYTES // 256) + b"x", "fits.bin": b"\x07" * FILE_BYTES}
    source = unpack_source(zip_of(files), tmp_path / "source")

    note = (source.folder / "weights.bin").read_text()
    assert note == f"This file has {FILE_BYTES + 1} bytes. Files above 1 MiB are not published.\n"
    assert (source.folder / "fits.bin").stat().st_size == FILE_BYTES
    assert source.notes == (f"weights.bin has {FILE_BYTES + 1} bytes: a note stands in its place.",)


@pytest.mark.parametrize(
    "name",
    [".git/hooks/post-checkout", "lib/.GIT/config", ".git", ".git./config", ".git /config",
     ".git::$INDEX_ALLOCATION/config", ".gitmodules", "lib/.gitattributes", ".GitModules"],
)  # fmt: skip
def test_git_folders_and_instructions_to_git_are_left_out_in_every_disguise(tmp_path: Path, name: str) -> None:
    source = unpack_source(zip_of({name: "#!/bin/sh\ntouch /tmp/owned\n"}), tmp_path / "source")

    assert source.paths == ("player.py",)
    assert [file.name for file in source.folder.rglob("*") if file.is_file()] == ["player.py"]
    assert len(source.notes) == 1
    assert name in source.notes[0]


def test_a_git_folder_under_its_short_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceRefused, match="belongs to a git repository") as refusal:
        unpack_source(zip_of({"lib/git~1/config": "[core]"}), tmp_path / "source")
    assert refusal.value.code == "git_folder"


def test_too_much_source_is_refused(tmp_path: Path) -> None:
    files = {f"part{number}.bin": b"\x07" * FILE_BYTES for number in range(51)}
    with pytest.raises(SourceRefused, match="more than 50 MiB together") as refusal:
        unpack_source(zip_of(files), tmp_path / "source")
    assert refusal.value.code == "too_large"


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceRefused, match="not a zip file") as refusal:
        unpack_source(io.BytesIO(b"GIF89a"), tmp_path / "source")
    assert refusal.value.code == "not_a_zip"
