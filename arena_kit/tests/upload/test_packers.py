"""What the packers of every system write is taken or named, and what is no part of a submission is passed over."""

from __future__ import annotations

import io
import struct
import zipfile
from pathlib import Path
from typing import IO, cast

import pytest

from arena_kit.tests.upload.test_archive import PLAYER, entry, patched, refusal, with_field, zip_of
from arena_kit.upload.archive import inspect_archive, unpack_archive
from arena_kit.upload.compiling import check_python_compiles
from arena_kit.upload.kinds import is_left_out, is_secret
from arena_kit.upload.repacking import archive_plain
from arena_kit.upload.zip_safety import ArchiveLimits, ArchiveRefused

NOTE = b"\0\5\x16\7\0\2\0\0Mac OS X"
UNMARKED = struct.pack("<H", 0)
MIB = 1 << 20


def unmarked(name: str) -> io.BytesIO:
    """Return a zip with a name in UTF-8 that is not marked so, as Finder writes it."""
    raw = name.encode()
    return with_field(zip_of((name, b"x")), raw, central=8, local=6, value=UNMARKED)


@pytest.mark.parametrize(
    ("written", "names"),
    [
        (["./", "./player.py"], ["player.py"]),
        (["./player.py", "./lib/", "./lib/net.py"], ["player.py", "lib/net.py"]),
        ([".//player.py"], None),
        (["player.py", "a/./b.py"], ["player.py", "a/b.py"]),
        (["player.py", "models\\weights.bin"], ["player.py", "models/weights.bin"]),
        (["player.py", "models\\", "models\\deep\\a.bin"], ["player.py", "models/deep/a.bin"]),
        ([".\\player.py"], ["player.py"]),
        (["player.py", "._player.py", "lib/._net.py", "lib/net.py"], ["player.py", "lib/net.py"]),
        (["player.py", "__MACOSX/._player.py"], ["player.py"]),
        (["player.py", ".DS_Store", "lib/.DS_Store"], ["player.py"]),
        (["player.py", "Icon\r"], ["player.py"]),
        (["player.py", "PaxHeaders.123/player.py", "lib/@eaDir/x.py@SynoEAStream"], ["player.py"]),
        (["player.py", "Thumbs.db", "data/desktop.ini"], ["player.py"]),
        (["player.py", ".ipynb_checkpoints/player-checkpoint.py"], ["player.py"]),
        (["player.py", ".idea/workspace.xml", ".vscode/settings.json"], ["player.py"]),
        (["player.py", "venv/lib/site.py", ".venv/lib/site.py"], ["player.py"]),
        (["player.py", ".python-version"], ["player.py", ".python-version"]),
        (["player.py", "notes \U0001f468\u200d\U0001f4bb.md"], ["player.py", "notes \U0001f468\u200d\U0001f4bb.md"]),
        (["player.py", "\u0645\u06cc\u200c\u062e.txt"], ["player.py", "\u0645\u06cc\u200c\u062e.txt"]),
        (["player.py", "\U0001f3f4\U000e0067\U000e007f.md"], ["player.py", "\U0001f3f4\U000e0067\U000e007f.md"]),
        (["player.py", "lib/", "lib\\", "lib/a.py"], ["player.py", "lib/a.py"]),
    ],
    ids=ascii,
)
def test_what_packers_write_is_taken(written: list[str], names: list[str] | None, tmp_path: Path) -> None:
    file = zip_of(
        *((name, NOTE if "._" in name else b"" if name[-1] in "/\\" else PLAYER) for name in written), player=False
    )
    if names is None:
        assert refusal(file).code == "absolute_path"
        return
    assert list(unpack_archive(file, tmp_path).names) == names
    check_python_compiles(file)
    unpacked = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert unpacked == set(names)


@pytest.mark.parametrize("name", ["Prüfung.md", "данные.bin", "模型/重み.bin"])
def test_a_name_in_utf_8_that_is_not_marked_is_read(name: str, tmp_path: Path) -> None:
    unpack_archive(unmarked(name), tmp_path)
    assert (tmp_path / name).read_bytes() == b"x"


@pytest.mark.parametrize(
    ("first", "second"),
    [("Utils.py", "utils.py"), ("a\\b.py", "a/b.py"), ("na\u200dme", "name"), ("Stra\u00dfe", "STRASSE"), ("./a", "a")],
)
def test_two_entries_for_one_file_are_both_named_as_they_are_written(first: str, second: str) -> None:
    said = refusal(zip_of((first, b""), (second, b"")))
    assert said.code == "duplicate_name"
    assert f"the entries {first} and {second}, which are one file on some systems. Rename" in str(said)


def test_names_that_look_alike_are_told_apart() -> None:
    said = str(refusal(zip_of(("caf\u00e9.py", b""), ("cafe\u0301.py", b""))))
    assert r"the entries caf\xe9.py and cafe\u0301.py, which are one file" in said


@pytest.mark.parametrize(
    ("begin", "sentence"),
    [
        (b"\x1f\x8b\x08 and more", "This is not a zip file but a gzip archive. Pack player.py and its files into"),
        (b"7z\xbc\xaf\x27\x1c", "but a 7z archive. Pack"),
        (b"Rar!\x1a\x07\x00", "but a RAR archive. Pack"),
        (b"BZh91AY", "but a bzip2 archive. Pack"),
        (b"player.py".ljust(257, b"\0") + b"ustar  \0", "but a tar archive: tar makes no zip of a name that ends with"),
        (b'\n{"metadata": {}, "cells": []}', "but a notebook. Save its code as player.py."),
        (b"", "This is not a zip file. Pack player.py and its files into a zip."),
        (b'{"cell": 1}', "This is not a zip file. Pack"),
    ],
)
def test_what_is_sent_in_place_of_a_zip_is_named(begin: bytes, sentence: str) -> None:
    assert sentence in str(refusal(io.BytesIO(begin)))


def test_a_zip_in_a_zip_is_named() -> None:
    inner = zip_of().getvalue()
    assert str(refusal(zip_of(("agent.zip", inner), player=False))).endswith(
        "Send agent.zip, which is in it, by itself."
    )
    assert "by itself" not in str(refusal(zip_of(("a.zip", inner), ("b.zip", inner), player=False)))


def test_a_name_is_shown_readable() -> None:
    assert "two entries named Prüfung.py" in str(
        refusal(patched(zip_of(("Prüfung.py", b""), ("Prüfunk.py", b"")), b"k.py", b"g.py"))
    )
    assert r"a\u202eb.py has control" in str(refusal(zip_of(("a\u202eb.py", b""))))


@pytest.mark.parametrize(
    "hidden",
    [
        ("..\\..\\.x/evil", b""),
        (".git/../../evil", b""),
        (entry(".link", 0o120777), b"/etc"),
        (".a/" * 30 + "deep", b""),
    ],
    ids=["backslashes", "dots", "link", "deep"],
)
def test_a_hidden_file_never_refuses_an_upload_and_leaves_nothing(hidden: tuple[str, bytes], tmp_path: Path) -> None:
    unpack_archive(zip_of(hidden), tmp_path / "player")
    assert [path.name for path in tmp_path.rglob("*")] == ["player", "player.py"]


@pytest.mark.parametrize(
    ("sizes", "is_taken"),
    [([40], True), ([127], True), ([129], False), ([60, 60], True), ([70, 70], False)],
)
def test_sparse_tables_are_taken_up_to_a_limit_on_what_they_unpack_to(sizes: list[int], is_taken: bool) -> None:
    file = zip_of(*((f"q{number}.npy", bytes(size * MIB)) for number, size in enumerate(sizes)), level=1)
    if is_taken:
        assert inspect_archive(file).unpacked_bytes > sizes[0] * MIB
    else:
        assert "unpack to 128 MiB together. Save it without its zeros" in str(refusal(file))


SECRETS = [
    *(".env", ".env.local", "prod.env", "kaggle.json", ".kaggle/kaggle.json", ".git/config", ".netrc", "_netrc"),
    *("id_rsa", "keys/id_ed25519", "server.pem", "credentials.json", ".aws/credentials", "client_secret_1.json"),
    *("secrets.toml", ".streamlit/secrets.toml", "service-account-1.json", ".pypirc", ".huggingface/token"),
]


@pytest.mark.parametrize("name", SECRETS)
def test_files_with_secrets_are_left_out_and_named(name: str, tmp_path: Path) -> None:
    report = unpack_archive(zip_of((name, b"token")), tmp_path)
    assert report.names == ("player.py",)
    (note,) = report.notes
    assert note.startswith(f"Files that usually hold passwords or tokens are left out: {name}.")


@pytest.mark.parametrize(
    "name", ["env.py", "env/grid.py", "environment.yml", "my.envelope", "tokens.json", "secret_agent.py"]
)
def test_names_that_only_look_like_those_of_secrets_are_kept(name: str) -> None:
    assert not is_secret(name)
    assert not is_left_out(name)


def test_what_is_stored_holds_nothing_that_is_left_out_and_is_the_same_otherwise() -> None:
    data = b"\1\2\3" * 5000
    sent = zip_of((".env", b"T=1"), ("lib\\a.bin", data), ("lib\\", b""), ("Ü.md", b"x"))
    made = archive_plain(sent)
    assert made is not None
    with zipfile.ZipFile(made) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == ["player.py", "lib/a.bin", "lib/", "Ü.md"]
        assert archive.read("lib/a.bin") == data
    made.seek(0)
    assert b"T=1" not in made.read()
    assert inspect_archive(made).left_out == ()
    assert archive_plain(made) is None
    made.seek(0)
    with made, cast(IO[bytes], archive_plain(sent)) as again:
        assert again.read() == made.read()


def test_a_zip_whose_files_begin_elsewhere_cannot_be_packed_anew() -> None:
    file = with_field(zip_of((".env", b"x"), ("data", b"q" * 90)), b"data", central=42, local=None, value=b"\x90\0\0\0")
    with pytest.raises(ArchiveRefused) as refused:
        archive_plain(file)
    assert refused.value.code in ("damaged_zip", "overlapping_entries")


def test_a_package_of_an_organiser_keeps_its_hidden_files(tmp_path: Path) -> None:
    limits = ArchiveLimits(keeps_hidden=True)
    names = unpack_archive(zip_of((".env", b"x"), ("._a", b"x"), (".npmrc", b"x")), tmp_path, limits).names
    assert names == ("player.py", ".env", ".npmrc")
