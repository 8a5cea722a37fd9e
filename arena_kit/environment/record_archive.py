"""Stores a duel's records as one compressed file that can be read one match at a time.

The file is a standard zip with a header and an index of all matches in `duel.json`, and BLOCK_MATCHES matches, one JSON
object per line, in each `matches/NNNNN.jsonl`. Entry times are fixed, so equal records give equal bytes.
"""

from __future__ import annotations

import json
import math
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import IO, Any, TypeVar

from arena_kit.environment.records import DuelRecord, DuelSummary, Fault, MatchRecord, Outcome

FORMAT_VERSION = 1
BLOCK_MATCHES = 50
COMPRESSION = 3
"""The zip's level of compression; a higher one takes twice the time and saves a tenth of the size."""
MAX_ENTRY_BYTES = 64 * 1024 * 1024
_EPOCH = (1980, 1, 1, 0, 0, 0)
# One shared encoder: `json.dumps` with these options makes a new one for every match.
_to_json = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
_TIMES = ("thinking_seconds", "slowest_move_seconds", "cpu_seconds")
UNREADABLE = (
    KeyError,
    EOFError,
    OSError,
    ValueError,
    OverflowError,
    RuntimeError,
    NotImplementedError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)
"""The exceptions that `zipfile` raises for damaged files."""

Item = TypeVar("Item")


class ArtifactDamaged(Exception):
    """The file does not hold the records of a duel or an evaluation, or lacks a part of them."""


@dataclass(frozen=True, slots=True)
class MatchSummary:
    """One match in a list of matches."""

    number: int
    outcome: Outcome
    fault: Fault
    faulty_player: int | None
    first_player: int
    """Index of the player that sat in seat 0."""
    moves: int
    """The number of actions of the match, those of its opening included."""
    same_as: int | None = None
    """The number of the first match that is the same; None where that was not found out."""


@dataclass(frozen=True, slots=True)
class DuelHeader:
    """The facts about a duel that need none of its matches."""

    format: int
    environment: str
    """Id of the spec, e.g. `connect-four-v1`."""
    seed: int
    players: tuple[str, str]
    match_count: int
    summary: DuelSummary
    opening: tuple[int, ...] | None
    """The same as in `DuelRecord`."""


def write_duel(record: DuelRecord, file: IO[bytes]) -> None:
    """Write all records of a duel to a binary file."""
    index: list[list[object]] = [
        [match.outcome.value, match.fault.value, match.faulty_player, match.seats[0], len(match.actions)]
        for match in record.matches
    ]
    if record.alike is not None:
        index = [[*row, same_as] for row, same_as in zip(index, record.alike, strict=True)]
    header = {
        "format": FORMAT_VERSION,
        "environment": record.environment,
        "seed": record.seed,
        "players": list(record.players),
        "match_count": len(record.matches),
        "summary": asdict(record.summary),
        **({} if record.opening is None else {"opening": list(record.opening)}),
        "index": index,
    }
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        _add(archive, "duel.json", _to_json(header))
        for start in range(0, len(record.matches), BLOCK_MATCHES):
            lines = [match_line(match) for match in record.matches[start : start + BLOCK_MATCHES]]
            _add(archive, _block_name(start // BLOCK_MATCHES), "\n".join(lines))


class DuelArchive:
    """Reads what `write_duel` wrote.

    The header and the index are read at once, a match when it is asked for, with its block. `file` must stay open.
    Raises ArtifactDamaged for anything else.
    """

    def __init__(self, file: IO[bytes]) -> None:
        try:
            self._archive = zipfile.ZipFile(file)
        except UNREADABLE:
            raise ArtifactDamaged("The records of this duel are damaged and cannot be read.") from None
        data = self._json("duel.json")
        if isinstance(data, dict) and data.get("format") != FORMAT_VERSION:
            raise ArtifactDamaged("The records of this duel have a format that this arena does not know.")
        self.header = _understood(_header, data, "The header of this duel's records is damaged.")
        self.index = _understood(_index, data, "The index of this duel's records is damaged.")

    @property
    def environment(self) -> str:
        return self.header.environment

    @property
    def seed(self) -> int:
        return self.header.seed

    @property
    def players(self) -> tuple[str, str]:
        return self.header.players

    @property
    def summary(self) -> DuelSummary:
        return self.header.summary

    @property
    def alike(self) -> tuple[int, ...] | None:
        """The field of `DuelRecord`, from the index."""
        found = tuple(row.same_as for row in self.index if row.same_as is not None)
        return found if len(found) == self.match_count > 0 else None

    @property
    def distinct_matches(self) -> int | None:
        return None if self.alike is None else len(set(self.alike))

    @property
    def match_count(self) -> int:
        return self.header.match_count

    def match(self, number: int) -> MatchRecord:
        """Return one match by its number from 1, reading only its block. Raises LookupError and ArtifactDamaged."""
        if not 1 <= number <= self.match_count:
            raise LookupError(f"This duel has matches 1 to {self.match_count}; there is no match {number}.")
        block, line = divmod(number - 1, BLOCK_MATCHES)
        lines = self._lines(block)
        return match_read(lines[line], number)

    def matches(self) -> Iterator[MatchRecord]:
        """Yield all matches in order, holding one block in memory at a time."""
        for block in range((self.match_count + BLOCK_MATCHES - 1) // BLOCK_MATCHES):
            for number, line in enumerate(self._lines(block), start=block * BLOCK_MATCHES + 1):
                yield match_read(line, number)

    def lines(self) -> Iterator[str]:
        """Yield the line of each match in order, as `match_line` made it, without reading it."""
        for block in range((self.match_count + BLOCK_MATCHES - 1) // BLOCK_MATCHES):
            yield from self._lines(block)

    def record(self) -> DuelRecord:
        """Read the whole duel."""
        head = self.header
        return DuelRecord(head.environment, head.seed, head.players, tuple(self.matches()), self.alike, head.opening)

    def _lines(self, block: int) -> list[str]:
        lines = self._read(_block_name(block)).split("\n")
        if len(lines) != min(BLOCK_MATCHES, self.match_count - block * BLOCK_MATCHES):
            raise ArtifactDamaged(f"Matches are missing from the part {_block_name(block)} of this duel's records.")
        return lines

    def _read(self, name: str) -> str:
        # The size that the zip claims may be wrong, so reading stops one byte after the limit.
        try:
            with self._archive.open(name) as entry:
                data = entry.read(MAX_ENTRY_BYTES + 1)
        except UNREADABLE:
            raise ArtifactDamaged(f"The part {name} of this duel's records is missing or damaged.") from None
        if len(data) > MAX_ENTRY_BYTES:
            raise ArtifactDamaged(f"The part {name} of this duel's records is larger than any real one.")
        return data.decode("utf-8", "replace")

    def _json(self, name: str) -> Any:
        return _understood(json.loads, self._read(name), f"The part {name} of this duel's records is not JSON.")


def _understood(read: Callable[[Any], Item], data: Any, complaint: str) -> Item:
    """Return `read(data)`. Raises ArtifactDamaged with the complaint when `read` fails."""
    try:
        return read(data)
    # Deeply nested JSON raises RecursionError.
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        raise ArtifactDamaged(complaint) from None


def _header(data: dict[str, Any]) -> DuelHeader:
    counts, (first, second) = data["summary"], data["players"]
    summary = DuelSummary(
        outcome=Outcome(counts["outcome"]),
        match_count=_whole(counts["match_count"]),
        wins=_pair(counts["wins"], _whole),
        errors=_pair(counts["errors"], _whole),
        draws=_whole(counts["draws"]),
        scores=_pair(counts["scores"], _number),
    )
    opening = data.get("opening")
    return DuelHeader(
        format=FORMAT_VERSION,
        environment=str(data["environment"]),
        seed=_whole(data["seed"]),
        players=(str(first), str(second)),
        match_count=_whole(data["match_count"]),
        summary=summary,
        opening=None if opening is None else tuple(_whole(action) for action in opening),
    )


def _index(data: dict[str, Any]) -> tuple[MatchSummary, ...]:
    rows = tuple(
        MatchSummary(
            number,
            Outcome(outcome),
            Fault(fault),
            _player(faulty),
            _whole(first),
            _whole(moves),
            _whole(same_as[0]) if same_as else None,
        )
        for number, (outcome, fault, faulty, first, moves, *same_as) in enumerate(data["index"], start=1)
    )
    if len(rows) != data["match_count"] or any(row.first_player not in (0, 1) for row in rows):
        raise ValueError("The index does not fit the number of matches.")
    return rows


def _block_name(block: int) -> str:
    return f"matches/{block:05}.jsonl"


def _add(archive: zipfile.ZipFile, name: str, text: str) -> None:
    archive.writestr(zipfile.ZipInfo(name, _EPOCH), text.encode(), zipfile.ZIP_DEFLATED, COMPRESSION)


def match_line(match: MatchRecord) -> str:
    """Return a match as a line of JSON, put together by hand because a general encoder takes twice as long."""
    fault = ""
    if match.fault is not Fault.NONE:
        names = ("fault", "faulty_player", "error_code", "error")
        fault = "," + _to_json({name: getattr(match, name) for name in names})[1:-1]
    opening = f',"opening_count":{match.opening_count}' if match.opening_count else ""
    moved = "" if match.move_ms is None else f',"move_ms":[{",".join(map(_numbers, match.move_ms))}]'
    return (
        f'{{"number":{match.number},"seed":{match.seed},"seats":{_numbers(match.seats)},'
        f'"actions":{_numbers(match.actions)},"outcome":"{match.outcome.value}","scores":{_numbers(match.scores)},'
        f'"move_counts":{_numbers(match.move_counts)},"thinking_seconds":{_times(match.thinking_seconds)},'
        f'"slowest_move_seconds":{_times(match.slowest_move_seconds)},"cpu_seconds":{_times(match.cpu_seconds)}'
        f"{opening}{moved}{fault}}}"
    )


def _numbers(values: tuple[float, ...]) -> str:
    return str(list(values)).replace(" ", "")


def _times(values: tuple[float, ...]) -> str:
    first, second = values
    return f"[{first:.6f},{second:.6f}]"


def match_read(line: str, number: int) -> MatchRecord:
    """Return the match of a line that `match_line` made. Raises ArtifactDamaged."""
    match = _understood(_match, line, f"Match {number} of this duel's records is damaged.")
    if match.number != number:
        raise ArtifactDamaged(f"Match {number} of this duel's records has the number {match.number}.")
    return match


def _match(line: str) -> MatchRecord:
    fields = json.loads(line)
    for name in ("seats", "actions", "move_counts"):
        fields[name] = tuple(_whole(value) for value in fields[name])
    fields.setdefault("cpu_seconds", (0.0, 0.0))
    for name in ("scores", *_TIMES):
        fields[name] = tuple(_number(value) for value in fields[name])
    for name in ("error_code", "error"):
        fields[name] = str(fields.get(name, ""))
    fields["number"], fields["seed"] = _whole(fields["number"]), _whole(fields["seed"])
    fields["opening_count"] = _whole(fields.get("opening_count", 0))
    if not 0 <= fields["opening_count"] <= len(fields["actions"]):
        raise ValueError("An opening is a part of the actions.")
    if "move_ms" in fields:
        fields["move_ms"] = _pair(fields["move_ms"], lambda times: tuple(_whole(time) for time in times))
    fields["outcome"], fields["fault"] = Outcome(fields["outcome"]), Fault(fields.get("fault", "NONE"))
    fields["faulty_player"] = _player(fields.get("faulty_player"))
    return MatchRecord(**fields)


def _pair(values: Any, read: Callable[[Any], Item]) -> tuple[Item, Item]:
    first, second = values
    return read(first), read(second)


def _player(value: Any) -> int | None:
    if value not in (None, 0, 1):
        raise ValueError("There are two players.")
    return value if value is None else _whole(value)


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise TypeError("This must be a whole number.")
    return value


def _number(value: Any) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):
        raise TypeError("This must be a number.")
    return float(value)
