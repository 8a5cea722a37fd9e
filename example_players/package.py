"""Packs example players into archives: `python -m example_players.package [NAME ...] --output FOLDER`."""

from __future__ import annotations

import io
import sys
import zipfile
from argparse import ArgumentParser
from collections.abc import Iterable, Sequence
from pathlib import Path

FOLDER = Path(__file__).parent
ENTRY_POINT = "player.py"
EARLIEST = (1980, 1, 1, 0, 0, 0)
"""The first moment a zip can name: with the real times of the files no two archives would be equal."""
LEFT_OUT = frozenset({"__pycache__"})
FILE_MODE = 0o100644


class UnknownPlayer(LookupError):
    """There is no example player of this name; the message lists those there are."""


def names() -> tuple[str, ...]:
    """Names of all example players, ascending: the folders that hold a `player.py`."""
    return tuple(sorted(path.parent.name for path in FOLDER.glob(f"*/{ENTRY_POINT}")))


def make_archive(name: str) -> bytes:
    """The zip of one example player; the same files always give the same bytes. Raises UnknownPlayer."""
    if name not in names():
        raise UnknownPlayer(f"There is no example player {name!r}. There are: {', '.join(names())}.")
    folder = FOLDER / name
    return zip_bytes((path.relative_to(folder).as_posix(), path.read_bytes()) for path in _files(folder))


def zip_bytes(files: Iterable[tuple[str, bytes]]) -> bytes:
    """A zip of (name, content) pairs, sorted by name, with fixed times and modes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in sorted(files):
            entry = zipfile.ZipInfo(name, EARLIEST)
            entry.create_system = 3  # Unix, whatever machine packs
            entry.external_attr = FILE_MODE << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED, compresslevel=9)
    return buffer.getvalue()


def write_archives(folder: Path, wanted: Sequence[str] = ()) -> list[Path]:
    """Write the zips of the named players, or of all, into a folder; return their paths. Raises UnknownPlayer."""
    archives = {name: make_archive(name) for name in wanted or names()}
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, content in archives.items():
        path = folder / f"{name}.zip"
        path.write_bytes(content)
        paths.append(path)
    return paths


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line. Returns the exit status."""
    parser = ArgumentParser(prog="python -m example_players.package", description="Pack example players into zips.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"default: all ({', '.join(names())})")
    parser.add_argument("--output", type=Path, default=Path(), metavar="FOLDER", help="for the zips; default: here")
    options = parser.parse_args(arguments)
    try:
        paths = write_archives(options.output, options.names)
    except UnknownPlayer as error:
        parser.error(str(error))
    sys.stdout.writelines(f"{path}\n" for path in paths)
    return 0


def _files(folder: Path) -> list[Path]:
    """The files that belong to a player: no caches, no hidden files."""
    return [
        path
        for path in folder.rglob("*")
        if path.is_file()
        and not any(part.startswith(".") or part in LEFT_OUT for part in path.relative_to(folder).parts)
    ]


if __name__ == "__main__":
    sys.exit(main())
