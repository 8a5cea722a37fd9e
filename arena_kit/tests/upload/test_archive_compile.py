"""Python files are compiled in a limited process of their own, and never run."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from arena_kit.upload.compiling import check_python_compiles
from arena_kit.upload.zip_safety import ArchiveLimits, ArchiveRefused


def archive(**files: str | bytes) -> io.BytesIO:
    """Return a zip with these files; in names, `__` stands for `/`, and `.py` is added."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        for name, source in files.items():
            packed.writestr(name.replace("__", "/") + ".py", source)
    return file


def refusal(file: io.BytesIO, limits: ArchiveLimits | None = None) -> str:
    with pytest.raises(ArchiveRefused) as caught:
        check_python_compiles(file, limits or ArchiveLimits())
    return f"{caught.value.code}: {caught.value}"


def test_good_python_passes_and_is_not_run(tmp_path: Path) -> None:
    trace = tmp_path / "trace"

    check_python_compiles(archive(player=f"open({str(trace)!r}, 'w')", lib__net="x = '\\d'  # warns, compiles\n"))

    assert not trace.exists()


def test_the_first_error_is_named_with_file_and_line() -> None:
    file = archive(player="import lib\n", lib__net="def f():\n    pass\nif True\n")

    assert refusal(file) == "does_not_compile: lib/net.py does not compile: line 3: expected ':'."


def test_an_error_of_the_whole_file_names_no_line() -> None:
    said = refusal(archive(player=b"x = 'a\0b'"))

    assert said == "does_not_compile: player.py does not compile: source code string cannot contain null bytes."


def test_a_file_in_utf_16_gets_advice() -> None:
    said = refusal(archive(player="x = 1\n".encode("utf-16")))

    assert said == "does_not_compile: player.py does not compile: PowerShell wrote it as UTF-16, so save it as UTF-8."


@pytest.mark.parametrize(
    "source",
    [b"x = 'a\0b'", b"# coding: nothing\n", b"\xff\xfe", b"(" * 5000 + b")" * 5000, b"x = " + b"-" * 200_000 + b"1"],
    ids=["nul", "encoding", "bytes", "brackets", "deep"],
)
def test_odd_sources_are_refused_not_crashed_on(source: bytes) -> None:
    said = refusal(archive(player=source))
    assert "does_not_compile" in said
    assert "Error" not in said


@pytest.mark.slow
def test_a_source_that_compiles_for_ever_is_stopped() -> None:
    # Constant folding of nested shifts and products is bounded, but the time for a very long file is not.
    source = "x = [" + "(lambda a: a + 1), " * 3_000_000 + "]\n"

    assert refusal(archive(player=source), ArchiveLimits(compile_seconds=1)).startswith(
        ("does_not_compile", "compile_too_slow")
    )


@pytest.mark.nightly
def test_a_source_that_needs_too_much_memory_is_refused() -> None:
    assert "does_not_compile" in refusal(
        archive(player="x = " + "[" * 90 + "1," * 6_000_000 + "]" * 90), ArchiveLimits(compile_seconds=300)
    )


def test_files_that_finder_adds_are_no_python() -> None:
    file = archive(player="pass")
    with zipfile.ZipFile(file, "a") as packed:
        packed.writestr("__MACOSX/._player.py", b"\0\x05\x16\x07")

    check_python_compiles(file)

    with zipfile.ZipFile(file, "a") as packed:
        packed.writestr("broken.py", b"\0\x05\x16\x07")
    assert "broken.py does not compile" in refusal(file)


def test_all_files_that_do_not_compile_are_named_at_once() -> None:
    with pytest.raises(ArchiveRefused) as caught:
        check_python_compiles(archive(player="", a="def (:\n", b="x = = 1\n", c="x = 1\n\0"))
    assert [caught.value.file, *(one.file for one in caught.value.others)] == ["a.py", "b.py", "c.py"]
    assert "a.py does not compile: line 1: invalid syntax. b.py does not compile" in str(caught.value)


@pytest.mark.parametrize(
    ("source", "is_refused"),
    [
        (b"# \xe9t\xe9\nprint(1)\n", True),
        (b"x = '\xe9'\n", True),
        (b"# coding: latin-1\n# \xe9\n", False),
        ("# été\n".encode(), False),
        (b"\xef\xbb\xbfprint(1)\n", False),
    ],
)
def test_a_script_is_read_as_python_reads_its_own_program(source: bytes, is_refused: bool) -> None:
    if is_refused:
        assert "submission.py does not compile: it is not in UTF-8" in refusal(archive(submission=source))
    else:
        check_python_compiles(archive(submission=source))
