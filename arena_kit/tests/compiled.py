"""Compiled files that Python loads without checking the source beside them."""

from __future__ import annotations

import py_compile
import tempfile
from pathlib import Path


def write_compiled(source: str, target: Path) -> None:
    """Compile a source into a file that every user can read."""
    target.parent.mkdir(exist_ok=True, parents=True)
    target.parent.chmod(0o755)
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(source)
        file.flush()
        mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
        py_compile.compile(file.name, str(target), doraise=True, invalidation_mode=mode)
    target.chmod(0o644)
