"""The program that compiles the Python files of a zip and looks for warnings, in a limited process that runs nothing.

`sources_read` starts it, because the compiler and the parser of Python may take any amount of time and memory for a
hostile source. It uses the standard library only, so that it starts quickly.
"""

from __future__ import annotations

import codecs
import io
import json
import sys
import time
import tokenize
import warnings
import zipfile
import zlib
from pathlib import Path

from arena_kit.machine.processes import limit
from arena_kit.upload.zip_safety import MOST_MISTAKES, Archive

SCRIPT_ENTRY_POINT = "submission.py"
MEMORY_BYTES = 1 << 30
POINTER_BYTES = 1024
WARNING_SECONDS = 3
"""Processor time for finding warnings, after the files have compiled."""
REFUSED, NOT_READ, DAMAGED = 3, 4, 5
"""Exit codes: files do not compile, and the output says which; the files compile, but warnings were not found; a
file cannot be decompressed, which is found and named where the archive is unpacked."""


def main() -> int:
    """Compile the zip named by the first argument, and print what is found as a line of JSON each.

    Further arguments: the processor time for compiling, in seconds; then, if warnings are wanted, yes or no for whether
    the archive names packages, and the version of Python as two numbers.
    """
    path, seconds, *wanted = sys.argv[1:]
    most = int(seconds)
    for name, value in {"FSIZE": 0, "CORE": 0, "AS": MEMORY_BYTES, "CPU": most}.items():
        limit(name, value, for_good=False)
    warnings.simplefilter("ignore")
    with Path(path).open("rb") as file, Archive(file, keeps_hidden=False) as archive:
        names = [name for name in archive.namelist() if name.endswith(".py")]
        mistakes, named = [], set[bytes]()
        for name in names:
            try:
                source = archive.read(name)
            except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError):
                return DAMAGED
            # A script's main file is packed twice, as submission.py too.
            if source not in named and (wrong := _wrong(name, source)) is not None:
                mistakes.append(wrong)
                named.add(source)
        if mistakes:
            sys.stdout.write(json.dumps(mistakes[:MOST_MISTAKES]))
            return REFUSED
        sys.stdout.write("true\n")
        sys.stdout.flush()
        if wanted:
            limit("CPU", int(time.process_time()) + WARNING_SECONDS + 1, for_good=False)
            pointers = [entry.filename for entry in archive.infolist() if _is_pointer(archive, entry)]
            return _warn({name: archive.read(name) for name in names}, pointers, *wanted)
    return 0


def _is_pointer(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bool:
    """Return whether a file is what Git keeps in the place of a large one."""
    if not 50 < entry.file_size < POINTER_BYTES:
        return False
    try:
        return archive.read(entry).startswith(b"version https://git-lfs")
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError):
        return False


def _wrong(name: str, source: bytes) -> tuple[str, int | None, str] | None:
    """Return file, line and sentence of what is wrong with a file; None if it compiles."""
    if source.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return name, None, f"{name} does not compile: PowerShell wrote it as UTF-16, so save it as UTF-8"
    if name == SCRIPT_ENTRY_POINT:
        # Python reads a program's own file more strictly than `compile` does.
        try:
            source.decode(tokenize.detect_encoding(io.BytesIO(source).readline)[0])
        except (UnicodeDecodeError, SyntaxError, LookupError):
            return name, None, f"{name} does not compile: it is not in UTF-8, so save it as UTF-8"
    try:
        compile(source, name, "exec", dont_inherit=True)
    except SyntaxError as error:
        where = f"line {error.lineno}: " if error.lineno else ""
        return name, error.lineno, f"{name} does not compile: {where}{error.msg}"
    except ValueError as error:
        # Until Python 3.11.4 a null byte was no error of syntax.
        return name, None, f"{name} does not compile: {error}"
    except (RecursionError, MemoryError, OverflowError):
        return name, None, f"{name} does not compile: it is too large or too deeply nested for Python"
    return None


def _warn(sources: dict[str, bytes], pointers: list[str], has_requirements: str, major: str, minor: str) -> int:
    # Late: the files compile first, which needs none of it.
    from arena_kit.upload.source_warnings import warnings_of

    try:
        found = warnings_of(sources, has_requirements=has_requirements == "yes", python=(int(major), int(minor)))
    except (RecursionError, MemoryError, SyntaxError, ValueError):
        return NOT_READ
    why = "{} is a pointer of Git LFS without the data: run git lfs pull, and pack again."
    found += [
        {"code": "lfs_pointer", "message": why.format(name), "file": name, "line": None} for name in pointers[:20]
    ]
    sys.stdout.write(json.dumps(found))
    return 0
