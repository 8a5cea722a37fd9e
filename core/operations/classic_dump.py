"""Reads a plain dump of the older arena's database, as `pg_dump` writes it; nothing of it is executed."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

from core.errors import Refused

TABLES = ("user", "environment", "competitor", "revision", "tournament", "tournamentparticipant", "duel")
MOST_BYTES = 1 << 20
"""The longest line, and with MOST_ROWS the bound on the memory that a dump can take."""
MOST_ROWS = 2_000_000
FORM = "Give the dump as plain text: pg_dump --format=plain, or pg_restore --file=dump.sql for another one."
_COPY = re.compile(r"COPY public\.core_(\w+) \(([\w\", ]+)\) FROM stdin;")
_ESCAPED = re.compile(r"\\(.)")
_MEANT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
Row = dict[str, str | None]


def tables_read(path: Path) -> dict[str, list[Row]]:
    """Return the rows of TABLES by name, each by column, with None for NULL. Raises Refused and OSError."""
    found: dict[str, list[Row]] = {}
    try:
        with cast(IO[bytes], gzip.open(path) if path.suffix == ".gz" else path.open("rb")) as file:
            lines = _lines(file)
            for line in lines:
                if (head := _COPY.fullmatch(line)) and head[1] in TABLES:
                    columns = [name.strip(' "') for name in head[2].split(",")]
                    found[head[1]] = list(_rows(lines, columns, head[1]))
    except (UnicodeError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise Refused(f"The dump cannot be read: {error}. {FORM}") from None
    if missing := [name for name in TABLES if name not in found]:
        raise Refused(f"The dump has no rows of the table core_{missing[0]}. {FORM}")
    return found


def _lines(file: IO[bytes]) -> Iterator[str]:
    while line := file.readline(MOST_BYTES + 1):
        if len(line) > MOST_BYTES:
            raise Refused(f"A line of the dump is longer than {MOST_BYTES} bytes. {FORM}")
        yield line.decode().rstrip("\r\n")


def _rows(lines: Iterator[str], columns: list[str], table: str) -> Iterator[Row]:
    for number, line in enumerate(lines):
        if line == r"\.":
            return
        values = [None if value == r"\N" else _ESCAPED.sub(_plain, value) for value in line.split("\t")]
        if len(values) != len(columns) or number >= MOST_ROWS:
            raise Refused(f"Row {number + 1} of the table core_{table} cannot be read. {FORM}")
        yield dict(zip(columns, values, strict=True))
    raise Refused(f"The dump ends within the table core_{table}.")


def _plain(escaped: re.Match[str]) -> str:
    return _MEANT.get(escaped[1], escaped[1])
