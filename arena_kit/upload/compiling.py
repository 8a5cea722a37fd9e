"""Compiles the Python files of an archive in a limited process of its own, and looks for warnings, running nothing."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO, Any

from arena_kit.machine.processes import NO_WINDOW, child_variables, run_copy
from arena_kit.upload.pythons import Version
from arena_kit.upload.source_program import DAMAGED, REFUSED, main
from arena_kit.upload.zip_safety import LIMITS, READ_BYTES, ArchiveLimits, ArchiveRefused

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = (
    "import sys; sys.path.append(sys.argv.pop(1)); from arena_kit.upload.source_program import main; sys.exit(main())"
)
"""The program's own path comes last, because only arena-kit is wanted from it."""
PATIENCE_SECONDS = 60
"""How long the process may wait for others while it looks for warnings."""


def check_python_compiles(file: IO[bytes], limits: ArchiveLimits = LIMITS) -> None:
    """Compile every .py file in a limited process of its own. Raises ArchiveRefused when that fails."""
    # A file of its own that is closed again: Windows lets no other process open one that is still held.
    with tempfile.TemporaryDirectory(prefix="arena-compiled-") as folder:
        copy = Path(folder) / "copy.zip"
        file.seek(0)
        with copy.open("wb") as target:
            shutil.copyfileobj(file, target, READ_BYTES)
        _program(str(copy), limits)


def sources_read(
    path: str,
    limits: ArchiveLimits = LIMITS,
    *,
    has_requirements: bool,
    python: Version | None,
    is_copied: bool = False,
) -> list[dict[str, Any]] | None:
    """Compile every .py file of an archive that another process can open by its path, and return the warnings.

    has_requirements: whether the archive names packages. python: the version that players run on; None if no warnings
    are wanted. is_copied: whether a copy of this process reads them, which starts faster than a new one. Returns None
    if the files are too much to be read for warnings. Raises ArchiveRefused for files that do not compile.
    """
    if python is None:
        _program(path, limits, is_copied=is_copied)
        return []
    said = _program(path, limits, "yes" if has_requirements else "no", *map(str, python), is_copied=is_copied)
    found: list[dict[str, Any]] | None = json.loads(said) if said else None
    return found


def _program(path: str, limits: ArchiveLimits, *wanted: str, is_copied: bool = False) -> bytes:
    """Run the program; return what it prints after it has compiled the files. Raises ArchiveRefused.

    is_copied: as in `sources_read`.
    """
    seconds = 2 * limits.compile_seconds + (PATIENCE_SECONDS if wanted else 0)
    arguments = [path, str(limits.compile_seconds), *wanted]
    command = [sys.executable, "-I", "-S", "-c", PROGRAM, str(ROOT), *arguments]
    try:
        if is_copied:
            done = run_copy(main, arguments, seconds)
        else:
            done = subprocess.run(
                command, capture_output=True, timeout=seconds, env=child_variables({}), check=False, **NO_WINDOW
            )
    except subprocess.TimeoutExpired as late:
        compiled, _, _ = (late.stdout or b"").partition(b"\n")
        if compiled:
            return b""
        raise ArchiveRefused("Compiling the Python files takes too long.", code="compile_too_slow") from None
    if done.returncode == REFUSED:
        first, *others = [
            ArchiveRefused(sentence[:300].strip() + ".", code="does_not_compile", file=name, line=line)
            for name, line, sentence in json.loads(done.stdout)
        ]
        first.others = tuple(others)
        raise first
    compiled, _, said = done.stdout.partition(b"\n")
    if done.returncode == DAMAGED:
        return b""
    if not compiled:
        raise ArchiveRefused("The Python files cannot be compiled within the limits.", code="does_not_compile")
    return said if done.returncode == 0 else b""
