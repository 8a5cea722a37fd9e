"""Makes the hostile archives of the manifest, by name."""

from __future__ import annotations

import io
import os
import stat
import struct
import zipfile
from collections.abc import Callable

from arena_kit.tests.upload.test_archive import UTF8_FLAG, entry, patched, with_field, zip_of

File = io.BytesIO
LOUD = b"open('/tmp/arena-hostile-left-build', 'w')\n"
"""Python that leaves a file where the host looks, should it ever be run."""


def bomb() -> File:
    return zip_of(("zeros.bin", bytes(160 << 20)), level=1)


def many_bombs() -> File:
    """Each entry is within its limits, all together are not: 4 MB that unpack to 540 MB."""
    block = os.urandom(20 << 10) + bytes(3 << 20)
    return zip_of(*((f"{number}.bin", block) for number in range(180)), level=1)


def nested_bomb() -> File:
    """A zip in a zip is a file like any other: it is not unpacked."""
    return zip_of(("inner.zip", bomb().getvalue()))


def overlapping() -> File:
    file = zip_of(("aaaa.bin", os.urandom(300)), ("bbbb.bin", b"y"), method=zipfile.ZIP_STORED)
    first = struct.pack("<I", file.getvalue().index(b"PK\x03\x04", 1))
    return with_field(file, b"bbbb.bin", central=42, local=None, value=first)


def lying() -> File:
    """Claims one byte, holds 160 MB."""
    return with_field(bomb(), b"zeros.bin", central=24, local=22, value=struct.pack("<I", 1))


def named(*names: str) -> Callable[[], File]:
    return lambda: zip_of(*((name, LOUD) for name in names))


def special(kind: int, content: bytes = b"/etc/passwd") -> Callable[[], File]:
    return lambda: zip_of((entry("special", kind | 0o777), content))


def link_then_file() -> File:
    """A link to a folder outside, then a file that would go through it."""
    return zip_of((entry("out", stat.S_IFLNK | 0o777), b"/tmp"), ("out/arena-hostile-left-build", b"x"))


def python(source: bytes) -> Callable[[], File]:
    return lambda: zip_of(("player.py", source), player=False, method=zipfile.ZIP_STORED)


ARCHIVES: dict[str, Callable[[], File]] = {
    "zip bomb": bomb,
    "many small zip bombs": many_bombs,
    "zip bomb within a zip": nested_bomb,
    "overlapping entries": overlapping,
    "size that lies": lying,
    "five thousand entries": lambda: zip_of(*((f"{number}", b"") for number in range(5000))),
    "encrypted entry": lambda: with_field(
        zip_of(("secret.txt", b"x")), b"secret.txt", central=8, local=6, value=b"\x01\x00"
    ),
    "unusual compression": lambda: zip_of(("data", b"x" * 100), method=zipfile.ZIP_LZMA),
    "wrong checksum": lambda: with_field(zip_of(("a.bin", b"q" * 50)), b"a.bin", central=16, local=14, value=bytes(4)),
    "cut in half": lambda: File(zip_of(("a.bin", os.urandom(900))).getvalue()[:500]),
    "program before the zip": lambda: File(b"#!/bin/sh\n" + zip_of().getvalue()),
    "another zip before the zip": lambda: File(zip_of(("other.py", LOUD)).getvalue() + zip_of().getvalue()),
    "compiled files beside their sources": named(
        "__pycache__/player.cpython-311.pyc", "alone.pyc", "old.pyo", "package/__PyCache__/x.py"
    ),
    "no zip at all": lambda: File(b"\x1f\x8b\x08" + bytes(100)),
    "path above the folder": named("../arena-hostile-left-build"),
    "path deep above the folder": named("a/../../../../../../tmp/arena-hostile-left-build"),
    "absolute path": named("/tmp/arena-hostile-left-build"),
    "path of another system": named("..\\..\\evil.py"),
    "absolute path of another system": named("\\\\server\\share\\evil.py"),
    "path of another system and the same path": named("a\\evil.py", "a/evil.py"),
    "path above a folder that is passed over": named(".git/../../arena-hostile-left-build", "./.env/../.."),
    "link that is passed over": lambda: zip_of((entry(".out", stat.S_IFLNK | 0o777), b"/tmp")),
    "joiners in the name of the player": named("play\u200der.py"),
    "drive letter": named("C:evil.py"),
    "control characters in a name": named("a\x1b[2J.py"),
    "bidirectional name": named("a\u202eyp.exe"),
    "zero-width name": named("pla\u200byer.py"),
    "NUL in a name": lambda: patched(zip_of(("evil.pyX.txt", b"")), b"evil.pyX", b"evil.py\0"),
    "name in another encoding": lambda: with_field(
        patched(zip_of(("modXle.bin", b"")), b"modXle", b"mod\xe9le"),
        b"mod\xe9le", central=8, local=6, value=struct.pack("<H", UTF8_FLAG),
    ),
    "endless name": named("a" * 5000),
    "two entry points that differ in case": named("PLAYER.py"),
    "two entry points of look-alike letters": named("\uff50layer.py"),
    "file that is a folder, too": named("player.py/inner.py"),
    "symbolic link": special(stat.S_IFLNK),
    "link, then a file through it": link_then_file,
    "block device": special(stat.S_IFBLK, b""),
    "named pipe": special(stat.S_IFIFO, b""),
    "setuid file": lambda: zip_of((entry("tool", stat.S_IFREG | 0o6777), b"#!/bin/sh\n")),
    "smuggled Dockerfile": named("Dockerfile", ".dockerignore", "docker-compose.yml", ".git/hooks/post-checkout"),
    "set-up programs": named("setup.py", "conftest.py", "sitecustomize.py", "usercustomize.py", "evil.pth"),
    "Python that loops at import": python(b"while True: pass\n"),
    "Python that nests without end": python(b"(" * 5000 + b")" * 5000),
    "Python that folds to gigabytes": python(b"x = " + b"[" * 90 + b"1," * 6_000_000 + b"]" * 90),
    "Python with NUL bytes": python(b"x = 1\x00\n"),
    "Python in an unknown encoding": python(b"# coding: evil\n"),
}  # fmt: skip
