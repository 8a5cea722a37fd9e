"""Reads zips that may be hostile: names, kinds and sizes are checked before anything is unpacked."""

from __future__ import annotations

import os
import re
import stat
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import IO

from arena_kit.upload.kinds import is_left_out, is_litter

READ_BYTES = 64 * 1024
END_RECORD_BYTES, MAX_COMMENT_BYTES = 22, 65_535
MAX_ENTRY_RECORD_BYTES = 1200
"""Limit on one entry in the zip's table of contents: the longest allowed name, and what packers may add."""

_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    ValueError,
    NotImplementedError,
    RuntimeError,
)
"""The exceptions that zipfile raises for damaged entries."""


class UploadRefused(Exception):
    """An upload is refused; the message has the reason and what to do, and those of `others`.

    sentence: the message about this mistake alone. code: typed reason. file, line: where in the archive, if it is about
    one file or one line of it. others: further mistakes of the same kind.
    """

    def __init__(self, sentence: str, *, code: str, file: str = "", line: int | None = None) -> None:
        super().__init__(sentence)
        self.sentence, self.code, self.file, self.line = sentence, code, file, line
        self.others: tuple[UploadRefused, ...] = ()

    def __str__(self) -> str:
        return " ".join(one.sentence for one in (self, *self.others))


class ArchiveRefused(UploadRefused):
    """The files of an upload are refused."""


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """The limits of an archive."""

    entry_count: int = 2000
    file_bytes: int = 256 * 1024 * 1024
    total_bytes: int = 512 * 1024 * 1024
    ratio: int = 200
    """Files that are packed better than this, e.g. tables of zeros, may unpack to `ratio_free_bytes` together."""
    ratio_free_bytes: int = 128 * 1024 * 1024
    text_bytes: int = 64 * 1024
    """Largest file that is read as text, e.g. requirements.txt."""
    compile_seconds: int = 20
    """Processor time for compiling all Python files; wall time may be twice as long."""
    keeps_hidden: bool = False
    """Whether hidden files are content, as in packages of organisers; otherwise they are passed over."""


LIMITS = ArchiveLimits()
MOST_MISTAKES = 20
"""The mistakes of one kind that a refusal names."""
_NOT_ON_WINDOWS = re.compile(r'[<>:"|?*]|[. ]$')
_PORTS = (f"{name}{number}" for name in ("COM", "LPT") for number in "123456789\u00b9\u00b2\u00b3")
_DEVICES = frozenset(("CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", *_PORTS))
"""Names that stand for devices in every folder of Windows, whatever their ending; raised digits count as digits."""
_JOINERS = frozenset("\u200c\u200d\u2060")
"""Marks between letters, which Persian words and some emoji are written with; they are no controls."""
_TAGS = range(0xE0020, 0xE0080)
"""Characters that the flags of regions end with."""
_PACKED = (
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"Rar!", "a RAR archive"),
)
"""The beginnings of archives that people send under the name of a zip."""
_UTF8 = 0x800
"""The flag of an entry whose name is marked as UTF-8."""


def printable(name: str) -> str:
    """Return a name for use in a sentence: characters that cannot be seen are escaped, and long names are cut."""
    return "".join(
        letter if letter.isprintable() or _joins(letter) else letter.encode("unicode_escape").decode("ascii")
        for letter in name[:100]
    )[:100]


def _joins(letter: str) -> bool:
    return letter in _JOINERS or ord(letter) in _TAGS


class Archive(zipfile.ZipFile):
    """A zip whose entries have plain names, without those that are no part of a submission.

    Windows writes folders with backslashes, tar begins every path with `./`, and Finder writes UTF-8 without marking
    it. left_out: names of the entries that are passed over.
    """

    def __init__(self, file: IO[bytes], *, keeps_hidden: bool) -> None:
        super().__init__(file)
        _check_overlap(self.filelist, self.start_dir)
        kept, left_out = [], []
        for entry in self.filelist:
            entry.filename = _plain(entry)
            if is_litter(entry.filename) or (is_left_out(entry.filename) and not keeps_hidden):
                left_out.append(entry.filename)
            elif entry.filename != "./":
                kept.append(entry)
        self.filelist, self.left_out = kept, tuple(left_out)
        self.NameToInfo = {entry.filename: entry for entry in kept}


def _plain(entry: zipfile.ZipInfo) -> str:
    """Return the path of an entry without `.` and with / between its parts; that of the root is `./`."""
    name = (entry.orig_filename if is_utf8(entry) else _unmarked(entry) or entry.orig_filename).replace("\\", "/")
    parts = name.split("/")
    plain = "/".join(part for part in parts if part != ".")
    return plain or ("./" if name else "")


def is_utf8(entry: zipfile.ZipInfo) -> bool:
    """Return whether the name of an entry is plain ASCII or marked as UTF-8."""
    return bool(entry.flag_bits & _UTF8) or entry.orig_filename.isascii()


def _unmarked(entry: zipfile.ZipInfo) -> str | None:
    """Return a name that is UTF-8 without being marked; None for another encoding."""
    try:
        return entry.orig_filename.encode("cp437").decode()
    except UnicodeError:
        return None


def _really(file: IO[bytes]) -> str:
    """Return what a file is that is no zip, as far as its beginning shows, and what to do."""
    file.seek(0)
    begin = file.read(READ_BYTES)
    if begin.lstrip().startswith(b"{") and b'"cells"' in begin:
        return " but a notebook. Save its code as player.py"
    if begin[257:262] == b"ustar":
        return " but a tar archive: tar makes no zip of a name that ends with .zip. Pack player.py and its files anew"
    kind = next((name for magic, name in _PACKED if begin.startswith(magic)), "")
    return f"{kind and f' but {kind}'}. Pack player.py and its files into a zip"


def open_zip(file: IO[bytes], limits: ArchiveLimits) -> Archive:
    """Open a seekable file as a zip, once its table of contents is known to be small. Raises ArchiveRefused."""
    file.seek(0)
    if file.read(4) not in (b"PK\x03\x04", b"PK\x05\x06"):
        raise ArchiveRefused(f"This is not a zip file{_really(file)}.", code="not_a_zip")
    _check_end_record(file, limits)
    file.seek(0)
    try:
        return Archive(file, keeps_hidden=limits.keeps_hidden)
    except UnicodeDecodeError:
        raise ArchiveRefused(
            "The zip has a file name that is not UTF-8. Rename that file.", code="name_not_utf8"
        ) from None
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, OverflowError, struct.error):
        raise _damaged("The zip file") from None


def check_table(archive: zipfile.ZipFile, limits: ArchiveLimits) -> int:
    """Check the table of contents; return the unpacked size that it claims. Raises ArchiveRefused."""
    entries = archive.infolist()
    if len(entries) > limits.entry_count:
        raise ArchiveRefused(
            f"The zip has {len(entries)} entries; at most {limits.entry_count} are allowed.", code="too_many_entries"
        )
    _check_names(entries)
    claimed = sum(entry.file_size for entry in entries)
    _check_total(claimed, limits)
    for entry in entries:
        _check_entry(entry, limits)
    swollen = [entry for entry in entries if entry.file_size > max(1, entry.compress_size) * limits.ratio]
    if sum(entry.file_size for entry in swollen) > limits.ratio_free_bytes:
        largest = max(swollen, key=lambda entry: entry.file_size)
        raise ArchiveRefused(
            f"{printable(largest.filename)} unpacks to more than {limits.ratio} times its size, and such files may "
            f"unpack to {limits.ratio_free_bytes // 2**20} MiB together. Save it without its zeros, e.g. as a "
            "dictionary or with numpy.savez_compressed, and unpack it in your player.",
            code="compression_ratio",
        )
    return claimed


def check_portable(names: Iterable[str]) -> None:
    """Raise ArchiveRefused for a name that Windows cannot hold, where the version could never be pulled or played."""
    for name in names:
        for part in name.rstrip("/").split("/"):
            if _NOT_ON_WINDOWS.search(part) or part.partition(".")[0].rstrip().upper() in _DEVICES:
                raise ArchiveRefused(
                    f"Windows cannot hold a file named {printable(name)}. Rename it: without < > : | ? * and quotes, "
                    "without a dot or blank at the end, and not as a device such as CON, AUX or NUL.",
                    code="name_not_portable",
                )


def unpacked_size(archive: zipfile.ZipFile, limits: ArchiveLimits) -> int:
    """Return the real size of the content, which is read for this. Raises ArchiveRefused."""
    total = 0
    for entry in archive.infolist():
        total += sum(len(data) for data in content(archive, entry, limits))
        _check_total(total, limits)
    return total


def content(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, limits: ArchiveLimits) -> Iterator[bytes]:
    """Yield the real content of an entry in pieces. Raises ArchiveRefused when it differs from the claimed size."""
    size = 0
    try:
        with archive.open(entry) as source:
            while data := source.read(READ_BYTES):
                size += len(data)
                _check_size(entry, size, limits)
                yield data
    except _BROKEN:
        raise _damaged(f"{printable(entry.filename)} in the zip") from None
    if size != entry.file_size:
        raise _damaged(f"{printable(entry.filename)} in the zip")


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
    seen: dict[str, zipfile.ZipInfo] = {}
    files: set[str] = set()
    for entry in entries:
        name = entry.filename
        shown, written = printable(name), printable(entry.orig_filename)
        if not is_utf8(entry) and _unmarked(entry) is None:
            raise ArchiveRefused(
                f"The file name {written} is not marked as UTF-8. Rename it with plain letters.", code="name_not_utf8"
            )
        if any(unicodedata.category(letter) in ("Cc", "Cf", "Cs") and not _joins(letter) for letter in name):
            raise ArchiveRefused(
                f"The file name {shown} has control characters, which are not shown. Rename the file.", code="bad_name"
            )
        parts = name.rstrip("/").split("/")
        if name.startswith("/") or (len(name) > 1 and name[1] == ":"):
            raise ArchiveRefused(
                f"The path {written} must be relative, without a drive. Pack the files from within their folder.",
                code="absolute_path",
            )
        if any(part in ("", ".", "..") for part in parts):
            raise ArchiveRefused(f"The path {written} leaves the archive or is not plain.", code="path_traversal")
        if len(name.encode()) > 400 or any(len(part.encode()) > 200 for part in parts) or len(parts) > 20:
            raise ArchiveRefused(f"The path {shown} is too long. Use shorter names.", code="name_too_long")
        visible = "".join(letter for letter in name.rstrip("/") if not _joins(letter))
        key = unicodedata.normalize("NFKC", visible).casefold()
        if (other := seen.setdefault(key, entry)) is not entry and not (
            other.filename == name and other.is_dir() and entry.is_dir()
        ):
            raise ArchiveRefused(_twice(printable(other.orig_filename), written), code="duplicate_name")
        if not entry.is_dir():
            files.add(key)
    for key in seen:
        for parent in PurePosixPath(key).parents:
            if str(parent) in files:
                raise ArchiveRefused(f"{printable(str(parent))} is both a file and a folder.", code="file_and_folder")


def _twice(first: str, second: str) -> str:
    if first == second:
        return f"The zip has two entries named {first}. Pack it again, with one of them."
    if unicodedata.normalize("NFC", first) == unicodedata.normalize("NFC", second):
        # They look alike: one has its accents as letters of their own, as macOS may write them.
        first, second = ascii(first)[1:-1], ascii(second)[1:-1]
    return f"The zip has the entries {first} and {second}, which are one file on some systems. Rename one of them."


def _check_overlap(entries: list[zipfile.ZipInfo], table_start: int) -> None:
    """Refuse bytes before the first entry, which other tools may read as another zip, and entries that share bytes."""
    if entries and (start := min(entry.header_offset for entry in entries)) > 0:
        raise ArchiveRefused(
            f"The zip begins with {start} bytes that do not belong to it. Pack it again.", code="not_a_zip"
        )
    end = 0
    for entry in sorted(entries, key=lambda item: item.header_offset):
        encoding = "utf-8" if entry.flag_bits & _UTF8 else "cp437"
        if entry.header_offset < end:
            raise ArchiveRefused("Entries of the zip overlap.", code="overlapping_entries")
        end = entry.header_offset + 30 + len(entry.orig_filename.encode(encoding)) + entry.compress_size
    if end > table_start:
        raise ArchiveRefused("Entries of the zip overlap.", code="overlapping_entries")


def _check_total(total: int, limits: ArchiveLimits) -> None:
    if total > limits.total_bytes:
        raise ArchiveRefused(f"The zip unpacks to more than {limits.total_bytes // 2**20} MiB.", code="too_large")


def _check_entry(entry: zipfile.ZipInfo, limits: ArchiveLimits) -> None:
    name = printable(entry.filename)
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise ArchiveRefused(f"{name} is a link or a device. Only files and folders are allowed.", code="not_a_file")
    if entry.is_dir() and entry.file_size:
        raise _damaged(f"{name} in the zip")
    if entry.flag_bits & 0x1:
        raise ArchiveRefused("The zip is encrypted. Pack it without a password.", code="encrypted")
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ArchiveRefused(
            f"{name} is compressed in an unusual way. Pack it with the ordinary method, Deflate.", code="bad_method"
        )
    _check_size(entry, entry.file_size, limits)


def _check_size(entry: zipfile.ZipInfo, size: int, limits: ArchiveLimits) -> None:
    if size > limits.file_bytes:
        raise ArchiveRefused(
            f"{printable(entry.filename)} is larger than {limits.file_bytes // 2**20} MiB.", code="file_too_large"
        )
