"""Packs single files into an archive, for forms and clients that do not send a zip.

`arena_kit.upload.archive` checks the result like any other archive.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from tempfile import SpooledTemporaryFile
from typing import IO, Protocol, cast

from arena_kit.errors import Refused
from arena_kit.upload.archive import ENTRY_POINTS, PLAYER_ENTRY_POINTS, SCRIPT_ENTRY_POINT
from arena_kit.upload.image_reference import IMAGE_ENTRY_POINT
from arena_kit.upload.kinds import is_left_out
from arena_kit.upload.zip_safety import READ_BYTES, printable

PLAYER_FILES = ("player.py", "agent.py")
"""A main file with one of these names holds a player; any other main file is a script."""
MAX_FILES = 100
SPOOL_BYTES = 1 << 20
NOT_UTF8 = "\ufffd"
"""The character that a request's parser puts in place of bytes that are not UTF-8."""
_EPOCH = (1980, 1, 1, 0, 0, 0)


class NamedFile(Protocol):
    """A file from a request; its name may be a path, of any system."""

    @property
    def name(self) -> str | None: ...
    def seek(self, offset: int, /) -> int | None: ...
    def read(self, size: int, /) -> bytes: ...


def pack_files(files: Sequence[NamedFile], main_file: str = "", *, takes_scripts: bool = True) -> IO[bytes]:
    """Pack files under their base names into a zip; a main file that is a script becomes submission.py.

    Equal files give equal bytes. main_file: the name of a .py file; may be empty when one of the files is player.py or
    agent.py, or when there is only one .py file. takes_scripts: where agents alone play, a single .py file of another
    name becomes player.py, and Kaggle's submission.py becomes main.py. Files that no submission needs, such as hidden
    ones, are passed over. Raises Refused, with the field `main_file` or `archive`.
    """
    named = by_base_name(files)
    if not takes_scripts:
        return _zip(_players_files(named))
    main = _main_file(list(named), main_file)
    if main in PLAYER_FILES:
        entry, packed = main, named
    elif main != SCRIPT_ENTRY_POINT and SCRIPT_ENTRY_POINT in named:
        raise Refused(_two_scripts(main), field="main_file")
    else:
        entry = SCRIPT_ENTRY_POINT
        packed = {entry if name == main else name: file for name, file in named.items()}
    first = next(name for name in ENTRY_POINTS if name in packed)
    if first != entry:
        raise Refused(
            f"The arena would run {first}, not {main}. Leave {first} out, or choose it as the main file.",
            field="main_file",
        )
    return _zip(packed)


def _players_files(named: dict[str, NamedFile]) -> dict[str, NamedFile]:
    programs = _programs(named)
    if any(name in PLAYER_ENTRY_POINTS for name in named):
        return named
    # Where no script is taken, Kaggle's name of the main file can mean nothing else.
    programs = [SCRIPT_ENTRY_POINT] if SCRIPT_ENTRY_POINT in programs else programs
    if len(programs) != 1:
        raise Refused(
            "Send the file player.py with those that it needs, or a zip of them. Save a notebook's code as player.py."
            if not programs
            else f"Name the file that holds the player player.py; these are {', '.join(programs)}.",
            field="archive",
        )
    (only,) = programs
    entry = "main.py" if only == SCRIPT_ENTRY_POINT else "player.py"
    return {entry if name == only else name: file for name, file in named.items()}


def pack_script(files: Sequence[NamedFile], main_file: str) -> IO[bytes]:
    """Pack files under their base names into a zip, with the main file a second time as submission.py.

    It keeps its own name as well, because the other files may import it. Raises Refused, with the field `main_file` or
    `archive`.
    """
    named = by_base_name(files)
    if main_file not in named:
        raise Refused("main_file must match one of the uploaded file names", field="main_file")
    if main_file != SCRIPT_ENTRY_POINT and SCRIPT_ENTRY_POINT in named:
        raise Refused(_two_scripts(main_file), field="main_file")
    return _zip({**named, SCRIPT_ENTRY_POINT: named[main_file]})


def pack_image(reference: str) -> IO[bytes]:
    """Pack the name of a container image into a zip that submits it. Equal names give equal bytes."""
    packed = _new_file()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        _add(archive, IMAGE_ENTRY_POINT, io.BytesIO(f"{reference.strip()}\n".encode()))
    packed.seek(0)
    return packed


def base_name(name: str | None) -> str:
    """Return the last part of a path, of any system."""
    return (name or "").replace("\\", "/").rpartition("/")[2]


def by_base_name(files: Sequence[NamedFile]) -> dict[str, NamedFile]:
    """Return the files by their base names. Raises Refused for names that cannot be in one folder."""
    if len(files) > MAX_FILES:
        raise Refused(f"These are {len(files)} files; at most {MAX_FILES} are accepted. Send a zip.", field="archive")
    named: dict[str, NamedFile] = {}
    for file in files:
        name = base_name(file.name)
        if name not in ("", ".", "..") and is_left_out(name) and len(files) > 1:
            continue
        if name in ("", ".", ".."):
            raise Refused("A file has no name.", field="archive")
        if NOT_UTF8 in name or printable(name) != name[:100]:
            raise Refused(f"The file name {name!a} is not plain UTF-8. Rename the file.", field="archive")
        if name in named:
            raise Refused(f"Two of the files are named {name}.", field="archive")
        named[name] = file
    return named


def _zip(named: Mapping[str, NamedFile]) -> IO[bytes]:
    packed = _new_file()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, file in named.items():
            _add(archive, name, file)
    packed.seek(0)
    return packed


def _new_file() -> IO[bytes]:
    return cast(IO[bytes], SpooledTemporaryFile(max_size=SPOOL_BYTES))


def _add(archive: zipfile.ZipFile, name: str, file: NamedFile | IO[bytes]) -> None:
    entry = zipfile.ZipInfo(name, _EPOCH)
    entry.external_attr = 0o100644 << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    file.seek(0)
    with archive.open(entry, "w") as output:
        while data := file.read(READ_BYTES):
            output.write(data)


def _main_file(names: list[str], wanted: str) -> str:
    programs = _programs(names)
    if not programs:
        raise Refused("At least one Python (.py) file is needed, or a zip.", field="archive")
    if wanted:
        if wanted not in names:
            raise Refused(f"The main file must be one of {', '.join(programs)}.", field="main_file")
        if wanted not in programs:
            raise Refused("The main file must be a Python (.py) file.", field="main_file")
        return wanted
    known = [name for name in (*PLAYER_FILES, SCRIPT_ENTRY_POINT) if name in programs]
    if not known and len(programs) > 1:
        raise Refused(f"Say which of {', '.join(programs)} is the main file.", field="main_file")
    return known[0] if known else programs[0]


def _programs(names: Iterable[str]) -> list[str]:
    return [name for name in names if name.lower().endswith(".py")]


def _two_scripts(main: str) -> str:
    return f"{main} would be run as {SCRIPT_ENTRY_POINT}, but there is another {SCRIPT_ENTRY_POINT}."
