"""Checks archives before anything is unpacked, and unpacks them."""

from __future__ import annotations

import json
import os
import stat
import struct
import subprocess
import sys
import tempfile
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import IO

from arena_kit.upload.kinds import is_archive, is_compiled, is_unreadable

PLAYER_ENTRY_POINTS = ("player.py", "agent.py", "main.py")
"""The player server loads the first of these that the root of the archive has."""
SCRIPT_ENTRY_POINT = "submission.py"
"""An archive with this file and no other entry point is a script, which plays its environment itself."""
ENTRY_POINTS = (*PLAYER_ENTRY_POINTS, SCRIPT_ENTRY_POINT)
READ_BYTES = 64 * 1024
END_RECORD_BYTES, MAX_COMMENT_BYTES = 22, 65_535
NOTED_NAMES = 5
MAX_ENTRY_RECORD_BYTES = 1200
"""Limit on one entry in the zip's table of contents: the longest allowed name, and what packers may add."""

_BROKEN = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError, NotImplementedError, RuntimeError,
)  # fmt: skip
"""The exceptions that zipfile raises for damaged entries."""


class ArchiveRefused(Exception):
    """The upload is refused; the message says why and what to do.

    code: typed reason. file, line: where in the archive, if it is about one file or one line of it.
    """

    def __init__(self, message: str, *, code: str, file: str = "", line: int | None = None) -> None:
        super().__init__(message)
        self.code, self.file, self.line = code, file, line


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """What an archive may hold."""

    entry_count: int = 2000
    file_bytes: int = 256 * 1024 * 1024
    total_bytes: int = 512 * 1024 * 1024
    ratio: int = 200
    """Largest ratio of unpacked to packed size, for files above `ratio_free_bytes`."""
    ratio_free_bytes: int = 1024 * 1024
    text_bytes: int = 64 * 1024
    """Largest file that is read as text, e.g. requirements.txt."""
    compile_seconds: int = 20
    """Processor time for compiling all Python files; wall time may be twice as long."""


@dataclass(frozen=True, slots=True)
class ArchiveReport:
    """What an accepted archive holds."""

    entry_point: str
    names: tuple[str, ...]
    """The files without those in `compiled`."""
    unpacked_bytes: int
    compiled: tuple[str, ...] = ()
    """Files of compiled Python, which are left out because they could differ from the source that pages show."""

    @property
    def is_script(self) -> bool:
        return self.entry_point == SCRIPT_ENTRY_POINT

    @property
    def notes(self) -> list[str]:
        """Sentences about its files, for the owner and for people who read the source."""
        notes = []
        if self.compiled:
            notes.append(
                f"Compiled Python is left out, because the arena runs only sources: {_named(self.compiled)}. "
                "If their .py files are missing from the zip, add them."
            )
        if archives := [name for name in self.names if is_archive(name)]:
            notes.append(
                f"Compiled Python in {_named(archives)} is never loaded, because the arena runs only sources. "
                "If their .py files are missing there, add them."
            )
        if unreadable := [name for name in self.names if is_unreadable(name)]:
            notes.append(f"The arena cannot show the source of {_named(unreadable)}.")
        return notes


def printable(name: str) -> str:
    """Return a name for use in a sentence, in ASCII: all other characters are escaped, and long names are cut."""
    return name.encode("unicode_escape").decode("ascii").replace("\\\\", "\\")[:100]


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - NOTED_NAMES} more" if len(names) > NOTED_NAMES else ""
    return ", ".join(names[:NOTED_NAMES]) + more


LIMITS = ArchiveLimits()


def inspect_contents(file: IO[bytes], limits: ArchiveLimits = LIMITS) -> ArchiveReport:
    """Check an archive by its table of contents alone: names, kinds and claimed sizes. Raises ArchiveRefused.

    Nothing is decompressed, so it takes milliseconds for any archive. `unpacked_bytes` is what the archive claims.
    """
    return _report(_open(file, limits), limits)


def inspect_archive(
    file: IO[bytes], limits: ArchiveLimits = LIMITS, *, needs_entry_point: bool = True
) -> ArchiveReport:
    """Check an archive, including the real sizes of its files, without unpacking it. Raises ArchiveRefused.

    file: a seekable binary file. needs_entry_point: False for archives that hold no player.
    """
    archive = _open(file, limits)
    # The table of contents comes first, because checking it is quick.
    report = _report(archive, limits, needs_entry_point=needs_entry_point)
    total = 0
    for entry in archive.infolist():
        total += sum(len(data) for data in _content(archive, entry, limits))
        _check_total(total, limits)
    return replace(report, unpacked_bytes=total)


def _report(archive: zipfile.ZipFile, limits: ArchiveLimits, *, needs_entry_point: bool = True) -> ArchiveReport:
    """Check the table of contents and return what it claims."""
    entries = archive.infolist()
    if len(entries) > limits.entry_count:
        raise ArchiveRefused(
            f"The zip has {len(entries)} entries; at most {limits.entry_count} are allowed.", code="too_many_entries"
        )
    _check_names(entries)
    _check_overlap(entries, archive.start_dir)
    claimed = sum(entry.file_size for entry in entries)
    _check_total(claimed, limits)
    for entry in entries:
        _check_entry(entry, limits)
    files = [entry.filename for entry in entries if not entry.is_dir()]
    names = tuple(name for name in files if not is_compiled(name))
    entry_point = _entry_point(names) if needs_entry_point else ""
    return ArchiveReport(entry_point, names, claimed, tuple(name for name in files if is_compiled(name)))


def unpack_archive(
    file: IO[bytes], folder: Path, limits: ArchiveLimits = LIMITS, *, needs_entry_point: bool = True
) -> ArchiveReport:
    """Check an archive, then unpack it into an empty folder, without compiled Python. Raises ArchiveRefused."""
    report = inspect_archive(file, limits, needs_entry_point=needs_entry_point)
    archive = _open(file, limits)
    folder.mkdir(parents=True, exist_ok=True)
    for entry in archive.infolist():
        if is_compiled(entry.filename.rstrip("/")):
            continue
        *parents, name = PurePosixPath(entry.filename).parts
        if entry.is_dir():
            _make_folders(folder, [*parents, name])
            continue
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        target = os.open(_make_folders(folder, parents) / name, flags, 0o644)
        with os.fdopen(target, "wb") as output:
            # The player runs as another user: the mode must not depend on this process's umask.
            os.fchmod(target, 0o644)
            for data in _content(archive, entry, limits):
                output.write(data)
    return report


def read_text(file: IO[bytes], name: str, limits: ArchiveLimits = LIMITS) -> str:
    """Return the text of a small UTF-8 file in the archive. Raises ArchiveRefused."""
    with _open(file, limits).open(name) as entry:
        data = entry.read(limits.text_bytes + 1)
    if len(data) > limits.text_bytes:
        raise ArchiveRefused(f"{name} is larger than {limits.text_bytes // 1024} KiB.", code="text_too_large")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise ArchiveRefused(f"{name} is not UTF-8 text.", code="not_utf8") from None


_COMPILER = """
import json, resource, sys, zipfile
seconds = int(sys.argv[2])
for kind, value in ((resource.RLIMIT_CPU, seconds), (resource.RLIMIT_AS, 1 << 30), (resource.RLIMIT_FSIZE, 0),
                    (resource.RLIMIT_CORE, 0)):
    resource.setrlimit(kind, (value, value))
import warnings
warnings.simplefilter("ignore")
with zipfile.ZipFile(sys.argv[1]) as archive:
    for name in archive.namelist():
        # Finder's zips hold a data file of its own beside each file, with the same ending.
        if name.endswith(".py") and not name.startswith("__MACOSX/"):
            try:
                compile(archive.read(name), name, "exec", dont_inherit=True)
            except SyntaxError as error:
                print(json.dumps([name, error.lineno, f"{name} does not compile: line {error.lineno}: {error.msg}"]))
                sys.exit(3)
            except (ValueError, RecursionError, MemoryError, OverflowError) as error:
                print(json.dumps([name, None, f"{name} does not compile: {type(error).__name__}: {error}"]))
                sys.exit(3)
"""


def check_python_compiles(file: IO[bytes], limits: ArchiveLimits = LIMITS) -> None:
    """Compile every .py file in a limited process of its own. Raises ArchiveRefused when that fails."""
    with tempfile.NamedTemporaryFile(suffix=".zip") as copy:
        file.seek(0)
        while data := file.read(READ_BYTES):
            copy.write(data)
        copy.flush()
        check_python_compiles_at(copy.name, limits)


def check_python_compiles_at(path: str, limits: ArchiveLimits = LIMITS) -> None:
    """Do what `check_python_compiles` does for an archive that another process can open by its path."""
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _COMPILER, path, str(limits.compile_seconds)],
            capture_output=True,
            timeout=limits.compile_seconds * 2,
            env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ArchiveRefused("Compiling the Python files takes too long.", code="compile_too_slow") from None
    if done.returncode == 3:
        name, line, sentence = json.loads(done.stdout)
        raise ArchiveRefused(sentence[:300].strip() + ".", code="does_not_compile", file=name, line=line)
    if done.returncode != 0:
        raise ArchiveRefused("The Python files cannot be compiled within the limits.", code="does_not_compile")


def _open(file: IO[bytes], limits: ArchiveLimits) -> zipfile.ZipFile:
    file.seek(0)
    if file.read(4) not in (b"PK\x03\x04", b"PK\x05\x06"):
        raise ArchiveRefused("This is not a zip file. Pack player.py and its files into a zip.", code="not_a_zip")
    _check_end_record(file, limits)
    file.seek(0)
    try:
        return zipfile.ZipFile(file)
    except UnicodeDecodeError:
        raise ArchiveRefused(
            "The zip has a file name that is not UTF-8. Rename that file.", code="name_not_utf8"
        ) from None
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, OverflowError, struct.error):
        raise _damaged("The zip file") from None


def _check_end_record(file: IO[bytes], limits: ArchiveLimits) -> None:
    """Refuse a huge table of contents before zipfile reads it into memory."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - END_RECORD_BYTES - MAX_COMMENT_BYTES))
    tail = file.read()
    position = tail.rfind(b"PK\x05\x06")
    if position < 0 or len(tail) - position < END_RECORD_BYTES:
        raise _damaged("The zip file")
    if tail[max(0, position - 20) :].startswith(b"PK\x06\x07"):
        raise ArchiveRefused("The zip is in the format for huge archives. Pack fewer or smaller files.", code="zip64")
    (table_bytes,) = struct.unpack_from("<I", tail, position + 12)
    if table_bytes > limits.entry_count * MAX_ENTRY_RECORD_BYTES:
        raise ArchiveRefused(
            f"The zip has too many entries; {limits.entry_count} are allowed.", code="too_many_entries"
        )


def _damaged(what: str) -> ArchiveRefused:
    return ArchiveRefused(f"{what} is damaged. Pack it again.", code="damaged_zip")


def _check_names(entries: list[zipfile.ZipInfo]) -> None:
    seen: dict[str, str] = {}
    files: set[str] = set()
    for entry in entries:
        name = entry.filename
        shown = printable(name)
        raw = getattr(entry, "orig_filename", name)
        if not entry.flag_bits & 0x800 and not name.isascii():
            raise ArchiveRefused(
                f"The file name {shown} is not marked as UTF-8. Rename it with plain letters.", code="name_not_utf8"
            )
        if "\x00" in raw or any(unicodedata.category(letter) in ("Cc", "Cf", "Cs") for letter in raw):
            raise ArchiveRefused(f"The file name {shown} has control characters.", code="bad_name")
        parts = name.rstrip("/").split("/")
        if name.startswith("/") or "\\" in raw or (len(name) > 1 and name[1] == ":"):
            raise ArchiveRefused(f"The path {shown} must be relative, with / between folders.", code="absolute_path")
        if any(part in ("", ".", "..") for part in parts):
            raise ArchiveRefused(f"The path {shown} leaves the archive or is not plain.", code="path_traversal")
        if len(name.encode()) > 400 or any(len(part.encode()) > 200 for part in parts) or len(parts) > 20:
            raise ArchiveRefused(f"The path {shown} is too long.", code="name_too_long")
        key = unicodedata.normalize("NFKC", name.rstrip("/")).casefold()
        if key in seen:
            raise ArchiveRefused(f"The zip has two entries named {shown}.", code="duplicate_name")
        seen[key] = name
        if not entry.is_dir():
            files.add(key)
    for key in seen:
        for parent in PurePosixPath(key).parents:
            if str(parent) in files:
                raise ArchiveRefused(f"{parent} is both a file and a folder.", code="file_and_folder")


def _check_overlap(entries: list[zipfile.ZipInfo], table_start: int) -> None:
    """Refuse bytes before the first entry, which other tools may read as another zip, and entries that share bytes."""
    if entries and (start := min(entry.header_offset for entry in entries)) > 0:
        raise ArchiveRefused(
            f"The zip begins with {start} bytes that do not belong to it. Pack it again.", code="not_a_zip"
        )
    end = 0
    for entry in sorted(entries, key=lambda item: item.header_offset):
        if entry.header_offset < end:
            raise ArchiveRefused("Entries of the zip overlap.", code="overlapping_entries")
        end = entry.header_offset + 30 + len(entry.filename.encode()) + entry.compress_size
    if end > table_start:
        raise ArchiveRefused("Entries of the zip overlap.", code="overlapping_entries")


def _check_total(total: int, limits: ArchiveLimits) -> None:
    if total > limits.total_bytes:
        raise ArchiveRefused(f"The zip unpacks to more than {limits.total_bytes // 2**20} MiB.", code="too_large")


def _check_entry(entry: zipfile.ZipInfo, limits: ArchiveLimits) -> None:
    name = entry.filename[:100]
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise ArchiveRefused(f"{name} is a link or a device. Only files and folders are allowed.", code="not_a_file")
    if entry.is_dir() and entry.file_size:
        raise _damaged(f"{name} in the zip")
    if entry.flag_bits & 0x1:
        raise ArchiveRefused("The zip is encrypted. Pack it without a password.", code="encrypted")
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ArchiveRefused(f"{name} is compressed in an unusual way. Use the ordinary method.", code="bad_method")
    _check_size(entry, entry.file_size, limits)


def _check_size(entry: zipfile.ZipInfo, size: int, limits: ArchiveLimits) -> None:
    name = entry.filename[:100]
    if size > limits.file_bytes:
        raise ArchiveRefused(f"{name} is larger than {limits.file_bytes // 2**20} MiB.", code="file_too_large")
    if size > limits.ratio_free_bytes and size > max(1, entry.compress_size) * limits.ratio:
        raise ArchiveRefused(
            f"{name} is compressed suspiciously well: more than {limits.ratio} to 1.", code="compression_ratio"
        )


def _content(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, limits: ArchiveLimits) -> Iterator[bytes]:
    """Yield the real content of an entry in pieces. Raises ArchiveRefused when it differs from the claimed size."""
    size = 0
    try:
        with archive.open(entry) as source:
            while data := source.read(READ_BYTES):
                size += len(data)
                _check_size(entry, size, limits)
                yield data
    except _BROKEN:
        raise _damaged(f"{entry.filename[:100]} in the zip") from None
    if size != entry.file_size:
        raise _damaged(f"{entry.filename[:100]} in the zip")


def _make_folders(root: Path, parts: list[str]) -> Path:
    folder = root
    for part in parts:
        folder /= part
        if not folder.is_dir():
            folder.mkdir()
            folder.chmod(0o755)
    return folder


def _entry_point(names: tuple[str, ...]) -> str:
    for name in ENTRY_POINTS:
        if name in names:
            return name
    for wanted in ENTRY_POINTS:
        for name in sorted(names, key=lambda path: path.count("/")):
            folder, _, last = name.rpartition("/")
            if last == wanted and not name.startswith("__MACOSX/"):
                raise ArchiveRefused(
                    f"{wanted} must be at the root of the zip; it was found in the folder {folder}. "
                    "Pack the content of the folder, not the folder.",
                    code="entry_point_in_folder",
                )
            if name.lower() == wanted:
                raise ArchiveRefused(f"Rename {name} to {wanted}, in lower case.", code="entry_point_name")
    raise ArchiveRefused(
        "The zip has no player.py at its root (agent.py and main.py are accepted too).", code="no_entry_point"
    )
