"""The key `openings` of an environment's file: how long openings are, and the book that they come from, if any."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

RANDOM, BOOK = "random", "book"
KEYS = ("plies", "from", "file", "decided")
LONGEST = 100
"""The largest number of plies of an opening: a longer one would leave little of a match to the players."""
BOOK_BYTES = 1 << 20
"""The largest size of a book."""
BOOK_LINES = 20_000
"""The largest number of lines of a book."""


@dataclass(frozen=True, slots=True)
class Openings:
    """How the first plies of every match are chosen, before the players act.

    plies: the least and the greatest number of steps of the environment. lines: the lines of the book, each the actions
    of one opening in the order of a record; empty where openings are random. decided: `module:function`, in the
    environment's folder or installed, which takes an environment after the opening and says whether the match is
    decided there; empty if every open position will do. where: the file and the key, for complaints.
    """

    plies: tuple[int, int]
    lines: tuple[tuple[int, ...], ...] = field(default=(), hash=False)
    decided: str = ""
    file: str = ""
    """Name of the book in the environment's folder; empty where openings are random."""
    where: str = field(default="openings", compare=False)

    @property
    def is_book(self) -> bool:
        """Return whether openings are the lines of a book; otherwise they are random."""
        return bool(self.file)


def read_openings(where: str, value: object, folder: Path) -> Openings:
    """Return the value of the key `openings`. where: its file and key. Raises ValueError with both and a sentence."""
    if not isinstance(value, Mapping):
        raise ValueError(f"{where}: must be a mapping with the keys {', '.join(KEYS)}.")
    if unknown := [str(key) for key in value if key not in KEYS]:
        raise ValueError(f"{where}: {unknown[0]}: there is no such key; the keys are {', '.join(KEYS)}.")
    source = value.get("from", RANDOM)
    if source not in (RANDOM, BOOK):
        raise ValueError(f"{where}: from: must be {RANDOM} or {BOOK}, not {source!r}.")
    decided = value.get("decided", "")
    if not isinstance(decided, str) or (decided and not re.fullmatch(r"[\w.]+:\w+", decided)):
        raise ValueError(f"{where}: decided: must be written module:function.")
    if source == RANDOM:
        if "file" in value:
            raise ValueError(f"{where}: file: only openings from a {BOOK} have a file.")
        if "plies" not in value:
            raise ValueError(f"{where}: plies: this key is missing.")
        return Openings(_plies(where, value["plies"]), decided=decided, where=where)
    name = value.get("file", "")
    if not isinstance(name, str) or not re.fullmatch(r"\w[\w.-]*", name):
        raise ValueError(f"{where}: file: must be the name of a book beside this file, e.g. openings.txt.")
    lines = _read_book(f"{where}: file", folder / name)
    plies = _plies(where, value["plies"]) if "plies" in value else (1, LONGEST)
    return Openings(plies, lines, decided, name, where)


def _plies(where: str, value: object) -> tuple[int, int]:
    if type(value) is int:
        least = most = value
    elif isinstance(value, str) and (found := re.fullmatch(r"\s*(\d{1,4})\s*\.\.\s*(\d{1,4})\s*", value)):
        least, most = int(found[1]), int(found[2])
    else:
        raise ValueError(f"{where}: plies: must be a whole number or a range such as 2..6, not {value!r}.")
    if not 1 <= least <= most <= LONGEST:
        raise ValueError(f"{where}: plies: must lie between 1 and {LONGEST}, the smaller first, not {value!r}.")
    return least, most


def _read_book(where: str, path: Path) -> tuple[tuple[int, ...], ...]:
    """Return the lines of a book: YAML with a list of lists of actions, or text with an opening a line."""
    if not path.is_file():
        raise ValueError(f"{where}: there is no book {path.name} beside this file.")
    try:
        with path.open("rb") as file:
            raw = file.read(BOOK_BYTES + 1)
        text = raw.decode("utf-8")
    except OSError:
        raise ValueError(f"{where}: there is no book {path.name} beside this file.") from None
    except UnicodeDecodeError:
        raise ValueError(f"{where}: {path.name} is not UTF-8 text.") from None
    if len(raw) > BOOK_BYTES:
        raise ValueError(f"{where}: {path.name} has more than {BOOK_BYTES >> 20} MiB.")
    lines = _yaml_lines(where, path.name, text) if path.suffix in (".yml", ".yaml") else _text_lines(where, path, text)
    if not 1 <= len(lines) <= BOOK_LINES:
        raise ValueError(f"{where}: {path.name} must have 1 to {BOOK_LINES} openings, not {len(lines)}.")
    if len(set(lines)) < len(lines):
        twice = next(line for index, line in enumerate(lines) if line in lines[:index])
        raise ValueError(f"{where}: {path.name} has the opening {in_words(twice)} twice.")
    return lines


def _text_lines(where: str, path: Path, text: str) -> tuple[tuple[int, ...], ...]:
    lines = []
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.partition("#")[0].replace(",", " ").split()
        if not all(word.isascii() and word.isdigit() and len(word) < 10 for word in words):
            raise ValueError(
                f"{where}: line {number} of {path.name} must be actions, whole numbers with spaces between."
            )
        if words:
            lines.append(tuple(int(word) for word in words))
    return tuple(lines)


def _yaml_lines(where: str, name: str, text: str) -> tuple[tuple[int, ...], ...]:
    try:
        _check_events(where, name, text)
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(f"{where}: {name} is not YAML: {' '.join(str(error).split())}.") from None
    is_lines = isinstance(data, list) and all(isinstance(line, list) and line for line in data)
    if not is_lines or not all(type(action) is int for line in data for action in line):
        raise ValueError(f"{where}: {name} must be a list of lists of actions, which are whole numbers.")
    return tuple(tuple(line) for line in data)


def _check_events(where: str, name: str, text: str) -> None:
    """Refuse what would take hours to read, or more memory than there is. Raises ValueError and YAMLError."""
    depth = 0
    for event in yaml.parse(text, yaml.SafeLoader):
        if isinstance(event, yaml.AliasEvent):
            raise ValueError(f"{where}: {name} uses an alias (*name), which a book does not need.")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > 2:
            raise ValueError(f"{where}: {name} must be a list of lists of actions, which are whole numbers.")


def in_words(line: tuple[int, ...]) -> str:
    """Return the actions of an opening, for sentences."""
    return " ".join(map(str, line))
