"""Where commands write: files are checked before anything is played, and written whole or not at all."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from arena_kit.cli.common import BadArgument


def output_check(path: Path) -> None:
    """Look, before any long work, whether a file can be written. Raises BadArgument."""
    if not path.parent.is_dir():
        raise BadArgument(f"The folder {path.parent} of the output does not exist.")
    if path.is_dir():
        raise BadArgument(f"{path} cannot be written: it is a folder. Name a file.")
    if _is_device(path):
        return
    try:
        # Only an attempt shows it: the administrator's rights, for one, do not help on a disk that is read only.
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise BadArgument(f"{path} cannot be written: {error.strerror}.") from None


def folder_made(folder: Path) -> None:
    """Make a folder for output, if it is not there. Raises BadArgument."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadArgument(f"The folder {folder} cannot be made: {error.strerror}.") from None
    output_check(folder / "log")


def output_open(path: Path) -> contextlib.AbstractContextManager[IO[bytes]]:
    """Open a file to write, which has its name only once it is complete. Raises BadArgument."""
    output_check(path)
    return _output(path)


@contextlib.contextmanager
def _output(path: Path) -> Iterator[IO[bytes]]:
    part = path if _is_device(path) else path.with_name(path.name + ".part")
    try:
        with part.open("wb") as file:
            yield file
        if part != path:
            part.replace(path)
    except OSError as error:
        raise BadArgument(f"{path} cannot be written: {error.strerror}.") from None
    finally:
        if part != path:
            part.unlink(missing_ok=True)


def _is_device(path: Path) -> bool:
    """Return whether a path is something like /dev/null, which is written to and never replaced."""
    return path.exists() and not path.is_file()


def content_write(path: Path, make: Callable[[], bytes]) -> None:
    """Write what `make` returns; if it raises, nothing is written. Raises BadArgument."""
    opened = output_open(path)
    content = make()
    with opened as file:
        file.write(content)
