"""Opens a submission, given as a folder, a zip or a .py file, as the archive that a site would get."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, cast

from arena_kit.cli.common import BadArgument
from arena_kit.errors import Refused
from arena_kit.upload.folder import pack_folder
from arena_kit.upload.packing import pack_files


class Unpackable(Exception):
    """A folder cannot be packed. The message is a sentence; code: typed reason."""

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.code = code


@contextlib.contextmanager
def archive_of(
    word: str, takes_scripts: Callable[[], bool] = lambda: False
) -> Iterator[tuple[IO[bytes], tuple[str, ...]]]:
    """Yield the zip of a folder or of a single .py file, or a zip itself, and notes for the user.

    takes_scripts: whether the environment does; it is called only for a single file. Raises BadArgument and Unpackable.
    """
    with contextlib.ExitStack() as stack:
        # What goes wrong while the archive is used has nothing to do with reading it.
        file, notes = _opened(Path(word), stack, takes_scripts)
        yield file, notes


def _opened(
    path: Path, stack: contextlib.ExitStack, takes_scripts: Callable[[], bool]
) -> tuple[IO[bytes], tuple[str, ...]]:
    try:
        if path.is_dir():
            file = cast(IO[bytes], stack.enter_context(tempfile.TemporaryFile()))  # noqa: SIM115  (the stack closes it)
            notes = pack_folder(path, file).notes
            file.seek(0)
            return file, notes
        if path.is_file() and path.suffix.lower() == ".py":
            with path.open("rb") as source:
                return stack.enter_context(pack_files([source], takes_scripts=takes_scripts())), ()
        if path.is_file():
            return stack.enter_context(path.open("rb")), ()
    except Refused as refusal:
        raise Unpackable(str(refusal), code=refusal.code) from None
    except OSError as error:
        raise BadArgument(f"{path} cannot be read: {error.strerror}.") from None
    raise BadArgument(f"There is no file or folder {path}.")
