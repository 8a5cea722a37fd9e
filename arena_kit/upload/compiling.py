"""Compiles the Python files of an archive in a limited process of its own, without running them."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from typing import IO

from arena_kit.upload.zip_safety import LIMITS, READ_BYTES, ArchiveLimits, ArchiveRefused

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
