"""A duel's records as one compressed file that can be read a match at a time.

A standard zip: `duel.json` (header and a light index of all matches) and `matches/NNNNN.jsonl` blocks of
BLOCK_MATCHES matches, one JSON object a line. Entry times are fixed, so equal records give equal bytes.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import IO, Any

from environments.records import DuelRecord, Fault, MatchRecord, Outcome

FORMAT_VERSION = 1
BLOCK_MATCHES = 50
MAX_ENTRY_BYTES = 64 * 1024 * 1024
_EPOCH = (1980, 1, 1, 0, 0, 0)


class ArtifactDamaged(Exception):
    """The file is not a duel's records, or not all of them."""


@dataclass(frozen=True, slots=True)
class MatchSummary:
    """What a list of matches shows of one."""

    number: int
    outcome: Outcome
    fault: Fault
    faulty_player: int | None
    first_player: int
    """Index of the player that sat in seat 0."""
    moves: int


def write_duel(record: DuelRecord, file: IO[bytes]) -> None:
    """Write all records of a duel to a binary file."""
    header = {
        "format": FORMAT_VERSION,
        "environment": record.environment,
        "seed": record.seed,
        "players": list(record.players),
        "match_count": len(record.matches),
        "index": [
            [match.outcome.value, match.fault.value, match.faulty_player, match.seats[0],
             len(match.actions)]
            for match in record.matches
        ],
    }  # fmt: skip
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        _add(archive, "duel.json", json.dumps(header, separators=(",", ":")))
        for start in range(0, len(record.matches), BLOCK_MATCHES):
            lines = [_encode(match) for match in record.matches[start : start + BLOCK_MATCHES]]
            _add(archive, _block_name(start // BLOCK_MATCHES), "\n".join(lines))


class DuelArchive:
    """Reads what `write_duel` wrote. Raises ArtifactDamaged for anything else."""

    def __init__(self, file: IO[bytes]) -> None:
        try:
            self._archive = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, OSError, ValueError):
            raise ArtifactDamaged("The records of this duel are damaged and cannot be read.") from None
        header = self._json("duel.json")
        try:
            self.environment = str(header["environment"])
            self.seed = int(header["seed"])
            self.players = (str(header["players"][0]), str(header["players"][1]))
            self.index = tuple(
                MatchSummary(number, Outcome(row[0]), Fault(row[1]), row[2], 0 if row[3] == 0 else 1, int(row[4]))
                for number, row in enumerate(header["index"], start=1)
            )
        except (KeyError, IndexError, TypeError, ValueError):
            raise ArtifactDamaged("The header of this duel's records is damaged.") from None

    @property
    def match_count(self) -> int:
        return len(self.index)

    def match(self, number: int) -> MatchRecord:
        """One match by its number from 1, reading only its block. Raises LookupError for a number out of range."""
        if not 1 <= number <= self.match_count:
            raise LookupError(f"This duel has matches 1 to {self.match_count}; there is no match {number}.")
        block, line = divmod(number - 1, BLOCK_MATCHES)
        lines = self._read(_block_name(block)).split("\n")
        if line >= len(lines):
            raise ArtifactDamaged(f"Match {number} is missing from the records.")
        return _decode(lines[line])

    def matches(self) -> Iterator[MatchRecord]:
        """All matches in order."""
        for block in range((self.match_count + BLOCK_MATCHES - 1) // BLOCK_MATCHES):
            for line in self._read(_block_name(block)).split("\n"):
                yield _decode(line)

    def record(self) -> DuelRecord:
        """The whole duel."""
        return DuelRecord(self.environment, self.seed, self.players, tuple(self.matches()))

    def _read(self, name: str) -> str:
        try:
            with self._archive.open(name) as entry:
                data = entry.read(MAX_ENTRY_BYTES + 1)
        except (KeyError, zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError):
            raise ArtifactDamaged(f"The part {name} of this duel's records is missing or damaged.") from None
        if len(data) > MAX_ENTRY_BYTES:
            raise ArtifactDamaged(f"The part {name} of this duel's records is larger than any real one.")
        return data.decode("utf-8", "replace")

    def _json(self, name: str) -> Any:
        try:
            return json.loads(self._read(name))
        except ValueError:
            raise ArtifactDamaged(f"The part {name} of this duel's records is not JSON.") from None


def _block_name(block: int) -> str:
    return f"matches/{block:05}.jsonl"


def _add(archive: zipfile.ZipFile, name: str, text: str) -> None:
    archive.writestr(zipfile.ZipInfo(name, _EPOCH), text.encode(), zipfile.ZIP_DEFLATED)


def _encode(match: MatchRecord) -> str:
    fields = asdict(match)
    for name in ("thinking_seconds", "slowest_move_seconds"):
        fields[name] = [round(value, 6) for value in fields[name]]
    if match.fault is Fault.NONE:
        for name in ("fault", "faulty_player", "error_code", "error"):
            del fields[name]
    return json.dumps(fields, separators=(",", ":"))


def _decode(line: str) -> MatchRecord:
    try:
        fields = json.loads(line)
        for name in ("seats", "actions", "scores", "move_counts", "thinking_seconds", "slowest_move_seconds"):
            fields[name] = tuple(fields[name])
        fields["outcome"] = Outcome(fields["outcome"])
        fields["fault"] = Fault(fields.get("fault", "NONE"))
        return MatchRecord(**fields)
    except (ValueError, KeyError, TypeError):
        raise ArtifactDamaged("A match of this duel's records is damaged.") from None
