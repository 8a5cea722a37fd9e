"""Good archives are unpacked, and each kind of bad one is refused with a sentence before anything is written."""

from __future__ import annotations

import io
import os
import random
import stat
import struct
import zipfile
from pathlib import Path

import pytest

from arena_kit.upload.archive import ArchiveReport, inspect_archive, read_text, unpack_archive
from arena_kit.upload.zip_safety import ArchiveLimits, ArchiveRefused, check_portable

PLAYER = b"class Player: ...\n"
UTF8_FLAG = 0x800


def zip_of(
    *entries: tuple[str | zipfile.ZipInfo, bytes],
    player: bool = True,
    method: int = zipfile.ZIP_DEFLATED,
    level: int | None = None,
) -> io.BytesIO:
    """Return a zip with a player.py and these entries. level: 1 packs large entries in less time than others."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method, compresslevel=level) as archive:
        if player:
            archive.writestr("player.py", PLAYER)
        for name, data in entries:
            archive.writestr(name, data)
    return file


def patched(file: io.BytesIO, old: bytes, new: bytes) -> io.BytesIO:
    """Return the zip with bytes replaced, e.g. in file names, by as many other bytes."""
    data = file.getvalue()
    assert old in data
    assert len(old) == len(new)
    return io.BytesIO(data.replace(old, new))


def with_field(file: io.BytesIO, name: bytes, *, central: int, local: int | None, value: bytes) -> io.BytesIO:
    """Return the zip with a field of an entry's central (and local) header overwritten at these offsets."""
    data = bytearray(file.getvalue())
    starts = [(b"PK\x01\x02", 46, central)] + ([(b"PK\x03\x04", 30, local)] if local is not None else [])
    for magic, header, offset in starts:
        start = data.index(magic)
        while data[start + header : start + header + len(name)] != name:
            start = data.index(magic, start + 1)
        data[start + offset : start + offset + len(value)] = value
    return io.BytesIO(bytes(data))


def entry(name: str, mode: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.create_system = 3
    info.external_attr = mode << 16
    return info


def refusal(file: io.BytesIO, limits: ArchiveLimits | None = None) -> ArchiveRefused:
    with pytest.raises(ArchiveRefused) as caught:
        inspect_archive(file, limits or ArchiveLimits())
    return caught.value


def test_compiled_python_is_left_out_and_named(tmp_path: Path) -> None:
    compiled = ("__pycache__/player.cpython-311.pyc", "alone.pyc", "lib/old.PYO", "lib/__pycache__/data.txt")
    file = zip_of(
        ("lib/net.cpython-311-x86_64-linux-gnu.so", b"x"), ("__pycache__/", b""), *((n, b"x") for n in compiled)
    )

    report = unpack_archive(file, tmp_path / "player")

    assert report.compiled == compiled
    assert report.names == ("player.py", "lib/net.cpython-311-x86_64-linux-gnu.so")
    unpacked = {path.relative_to(tmp_path / "player").as_posix() for path in (tmp_path / "player").rglob("*")}
    assert unpacked == {"player.py", "lib", "lib/net.cpython-311-x86_64-linux-gnu.so"}
    left_out, unreadable = report.notes
    assert left_out.startswith(
        "Compiled Python is left out, because the arena runs only sources: __pycache__/player.cpython-311.pyc, "
    )
    assert unreadable == "The arena cannot show the source of lib/net.cpython-311-x86_64-linux-gnu.so."


def test_a_note_says_that_compiled_python_in_archives_is_not_loaded() -> None:
    report = inspect_archive(zip_of(("lib/modules.ZIP", b"x"), ("one.whl", b"x"), ("weights.bin", b"x")))

    not_loaded, unreadable = report.notes
    assert not_loaded.startswith("Compiled Python in lib/modules.ZIP, one.whl is never loaded, because the arena ")
    assert unreadable == "The arena cannot show the source of lib/modules.ZIP, one.whl."


def test_of_many_files_a_note_names_a_few() -> None:
    report = inspect_archive(zip_of(*((f"{number}.pyc", b"") for number in range(9))))

    assert "0.pyc, 1.pyc, 2.pyc, 3.pyc, 4.pyc and 4 more" in report.notes[0]


def test_a_compiled_main_file_alone_is_no_player() -> None:
    assert refusal(zip_of(("player.pyc", b"x"), player=False)).code == "no_entry_point"


def test_a_zip_before_the_zip_is_refused() -> None:
    caught = refusal(io.BytesIO(zip_of(("other.py", b"")).getvalue() + zip_of().getvalue()))

    assert caught.code == "not_a_zip"
    assert "begins with" in str(caught)


@pytest.mark.parametrize("name", ["a\x1b[2J.py", "a\x07.py", "a\u202eb.py", "a\u009bb.py"])
def test_no_sentence_holds_what_a_terminal_would_obey(name: str) -> None:
    assert str(refusal(zip_of((name, b"")))).isprintable()


def test_a_good_archive_is_reported_with_its_entry_point_names_and_size() -> None:
    report = inspect_archive(zip_of(("weights/net.bin", b"x" * 10), ("docs/", b"")))

    assert report == ArchiveReport("player.py", ("player.py", "weights/net.bin"), len(PLAYER) + 10)


@pytest.mark.parametrize("name", ["player.py", "agent.py", "main.py"])
def test_each_form_of_entry_point_is_accepted(name: str) -> None:
    assert inspect_archive(zip_of((name, PLAYER), player=False)).entry_point == name


def test_player_py_wins_over_the_other_forms() -> None:
    assert inspect_archive(zip_of(("main.py", b""), ("agent.py", b""))).entry_point == "player.py"


def test_unpacking_writes_the_files_with_fixed_modes_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        unpack_archive(zip_of((entry("tool/run.sh", 0o104777), b"echo"), ("empty/", b"")), tmp_path / "player")
    finally:
        os.umask(before)

    tool = tmp_path / "player" / "tool"
    assert (tool / "run.sh").read_bytes() == b"echo"
    assert stat.S_IMODE((tool / "run.sh").stat().st_mode) == 0o644
    assert stat.S_IMODE(tool.stat().st_mode) == 0o755
    assert (tmp_path / "player" / "empty").is_dir()


def test_a_smuggled_dockerfile_is_a_file_like_any_other_and_hidden_ones_are_not_unpacked(tmp_path: Path) -> None:
    unpack_archive(zip_of(("Dockerfile", b"FROM scratch"), (".dockerignore", b"*")), tmp_path)

    assert sorted(path.name for path in tmp_path.iterdir()) == ["Dockerfile", "player.py"]


def test_unpacking_never_writes_over_a_file_or_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("mine")
    (tmp_path / "player").mkdir()
    (tmp_path / "player" / "player.py").symlink_to(tmp_path / "outside")

    with pytest.raises(FileExistsError):
        unpack_archive(zip_of(), tmp_path / "player")

    assert (tmp_path / "outside").read_text() == "mine"


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "not_a_zip"),
        (b"Rar!\x1a\x07\x00 and more", "not_a_zip"),
        (b"MZ" + zip_of().getvalue(), "not_a_zip"),
        (zip_of().getvalue()[:60], "damaged_zip"),
        (b"PK\x03\x04" + b"\0" * 100, "damaged_zip"),
        (zip_of().getvalue()[:-10], "damaged_zip"),
    ],
    ids=["nothing", "rar", "program", "beginning", "zeros", "without its end"],
)
def test_what_is_no_whole_zip_is_refused(content: bytes, code: str) -> None:
    assert refusal(io.BytesIO(content)).code == code


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("/etc/passwd", "absolute_path"),
        ("C:/windows/x.py", "absolute_path"),
        ("a:b.txt", "absolute_path"),
        ("\\server\\b.py", "absolute_path"),
        ("..\\b.py", "path_traversal"),
        ("../evil.py", "path_traversal"),
        ("a/../../evil.py", "path_traversal"),
        ("a/./../b.py", "path_traversal"),
        ("a//b.py", "path_traversal"),
        ("..", "path_traversal"),
        ("line\nbreak.py", "bad_name"),
        ("escape\x1b[2J.py", "bad_name"),
        ("right\u202eto-left.py", "bad_name"),
        ("a" * 201, "name_too_long"),
        ("/".join("ab" * 15), "name_too_long"),
        ("PLAYER.PY", "duplicate_name"),
        ("\uff50layer.py", "duplicate_name"),
        ("player.py/inside.txt", "file_and_folder"),
    ],
)
def test_a_bad_name_is_refused(name: str, code: str) -> None:
    assert refusal(zip_of((name, b"x"))).code == code


def test_a_name_with_a_nul_byte_is_refused() -> None:
    assert refusal(patched(zip_of(("evil.pyX.txt", b"")), b"evil.pyX", b"evil.py\0")).code == "bad_name"


def test_two_entries_of_the_same_name_are_refused() -> None:
    assert refusal(patched(zip_of(("qlayer.py", b"")), b"qlayer.py", b"player.py")).code == "duplicate_name"


def test_names_that_are_not_utf8_are_refused() -> None:
    old = patched(zip_of(("modXle.bin", b"")), b"modXle", b"mod\xe9le")
    assert refusal(old).code == "name_not_utf8"

    marked = with_field(old, b"mod\xe9le", central=8, local=6, value=struct.pack("<H", UTF8_FLAG))
    assert refusal(marked).code == "name_not_utf8"


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFSOCK])
def test_links_and_devices_are_refused(kind: int) -> None:
    assert refusal(zip_of((entry("link", kind | 0o777), b"/etc/passwd"))).code == "not_a_file"


def test_an_encrypted_zip_is_refused() -> None:
    locked = with_field(zip_of(("secret.txt", b"x")), b"secret.txt", central=8, local=6, value=b"\x01\x00")

    assert refusal(locked).code == "encrypted"


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_unusual_compression_is_refused(method: int) -> None:
    assert refusal(zip_of(("data", b"x" * 100), method=method)).code == "bad_method"


def test_overlapping_entries_are_refused() -> None:
    file = zip_of(("aaaa.bin", os.urandom(300)), ("bbbb.bin", b"y"), method=zipfile.ZIP_STORED)
    data = file.getvalue()
    first = struct.pack("<I", data.index(b"PK\x03\x04", 1))

    assert refusal(with_field(file, b"bbbb.bin", central=42, local=None, value=first)).code == "overlapping_entries"


def test_an_entry_that_reaches_into_the_table_of_contents_is_refused() -> None:
    file = zip_of(("long.bin", b"z" * 50), method=zipfile.ZIP_STORED)
    sizes = struct.pack("<II", 90, 90)

    assert refusal(with_field(file, b"long.bin", central=20, local=18, value=sizes)).code == "overlapping_entries"


@pytest.mark.parametrize("claimed", [1, 999, 2 * 10**9])
def test_an_entry_that_lies_about_its_size_is_refused(claimed: int) -> None:
    file = with_field(
        zip_of(("data.bin", b"q" * 5000)), b"data.bin", central=24, local=22, value=struct.pack("<I", claimed)
    )

    assert refusal(file).code in {"damaged_zip", "file_too_large", "too_large"}


def test_a_wrong_checksum_is_refused() -> None:
    file = with_field(zip_of(("data.bin", b"q" * 50)), b"data.bin", central=16, local=14, value=b"\0\0\0\0")

    assert refusal(file).code == "damaged_zip"


def test_too_many_entries_are_refused() -> None:
    file = zip_of(*((f"file{number}", b"") for number in range(10)))

    error = refusal(file, ArchiveLimits(entry_count=10))

    assert (error.code, "11 entries" in str(error)) == ("too_many_entries", True)


def test_a_huge_table_of_contents_is_refused_before_it_is_read() -> None:
    file = zip_of(*((f"file{number:04}", b"") for number in range(200)))
    # If the table were read, this name, which is not UTF-8, would be found first.
    broken = with_field(file, b"file0100", central=8, local=6, value=struct.pack("<H", UTF8_FLAG))
    broken = patched(broken, b"file0100", b"file\xff\xff\xff\xff")

    assert refusal(broken, ArchiveLimits(entry_count=5)).code == "too_many_entries"


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        (ArchiveLimits(file_bytes=5000), "file_too_large"),
        (ArchiveLimits(total_bytes=5000), "too_large"),
        (ArchiveLimits(ratio_free_bytes=1000, ratio=50), "compression_ratio"),
    ],
)
def test_what_unpacks_to_too_much_is_refused(limits: ArchiveLimits, code: str) -> None:
    assert refusal(zip_of(("zeros.bin", b"\0" * 100_000)), limits).code == code


def test_a_folder_around_everything_is_named_in_the_refusal() -> None:
    error = refusal(zip_of(("bot/player.py", PLAYER), ("__MACOSX/bot/._player.py", b"\0"), player=False))

    assert error.code == "entry_point_in_folder"
    assert str(error).startswith("player.py must be at the root of the zip; it was found in the folder bot.")


def test_capital_letters_in_the_name_of_the_entry_point_are_explained() -> None:
    assert str(refusal(zip_of(("Player.py", PLAYER), player=False))) == (
        "Rename Player.py to player.py, in lower case."
    )


@pytest.mark.parametrize("names", [(), ("notes.txt",)])
def test_an_archive_without_entry_point_is_refused(names: tuple[str, ...]) -> None:
    assert refusal(zip_of(*((name, b"") for name in names), player=False)).code == "no_entry_point"


def test_small_text_files_are_read_and_others_refused() -> None:
    file = zip_of(("requirements.txt", b"numpy\n"), ("big.txt", b"x" * 101), ("latin.txt", b"caf\xe9"))

    assert read_text(file, "requirements.txt") == "numpy\n"
    for name, code in [("big.txt", "text_too_large"), ("latin.txt", "not_utf8")]:
        with pytest.raises(ArchiveRefused) as caught:
            read_text(file, name, ArchiveLimits(text_bytes=100))
        assert caught.value.code == code


def test_two_thousand_damaged_zips_are_each_accepted_or_refused_never_crash() -> None:
    whole = zip_of(("requirements.txt", b"numpy"), ("a/b/c.bin", os.urandom(200)), ("d/", b"")).getvalue()
    dice = random.Random(20)
    refusals = []
    for _ in range(2000):
        data = bytearray(whole)
        for _ in range(dice.randint(1, 4)):
            data[dice.randrange(4, len(data))] = dice.randrange(256)
        try:
            inspect_archive(io.BytesIO(bytes(data)))
        except ArchiveRefused as error:
            refusals.append(error)
    assert len(refusals) > 1000
    assert all(error.code and str(error).endswith(".") for error in refusals)


@pytest.mark.parametrize(
    "name",
    [
        "data/a:b.txt",
        "aux.txt",
        "models/NUL",
        "weights .",
        "notes ",
        "what?.txt",
        "com1.tar.gz",
        'a"b',
        "lpt\u00b2.x",
        "conin$",
    ],
)
def test_names_that_windows_cannot_hold_are_refused_at_the_upload(name: str) -> None:
    with pytest.raises(ArchiveRefused) as refused:
        check_portable([name])
    assert refused.value.code == "name_not_portable"
    assert "Rename it" in str(refused.value)


def test_names_that_every_system_holds_are_taken() -> None:
    check_portable(["player.py", "auxiliary.txt", "console/nullable.py", ".python-version", "a.b/c d.txt", "COM10"])
