"""A data set of matches as lines of JSON.

The first line is a header, every other one a match as its record has it, and the last one says how many there are and
the SHA-256 of all bytes before it. So a data set can be streamed, and a part of one is not taken for the whole.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import IO, Any

from arena_kit.environment.record_archive import ArtifactDamaged, DuelArchive

FORMAT = "rl-arena-matches"
VERSION = 1
LICENCE = "CC-BY-4.0"
"""The licence of every data set, in SPDX's words; owners consent to it for their agents."""
CHUNK_BYTES = 1 << 16
MOST_LINE_BYTES = 1 << 20
"""The longest line that is read."""
_to_json = json.JSONEncoder(separators=(",", ":")).encode


class NotADataset(ValueError):
    """A file is no data set, or not a whole one; the message is a sentence."""


@dataclass(frozen=True, slots=True)
class DuelOfDataset:
    """A duel whose matches are part of a data set. id: its number on its site. players: ids of both versions.

    names: of player 1 and player 2. file: its records.
    """

    id: int
    players: tuple[str, str]
    names: tuple[str, str]
    file: IO[bytes]


@dataclass(slots=True)
class DatasetWriter:
    """Writes a data set. environment: id of the rules. site: where it is from. made_at: ISO 8601."""

    environment: str
    site: str
    made_at: str
    match_count: int = 0
    duel_count: int = 0
    left_out: int = 0
    """Duels whose records are damaged, or of other rules."""
    _sha256: Any = field(default_factory=hashlib.sha256)

    def chunks(self, duels: Iterable[DuelOfDataset]) -> Iterator[bytes]:
        """Yield the data set in pieces of some size. The caller closes the duels' files."""
        header = {
            "format": FORMAT,
            "version": VERSION,
            "environment": self.environment,
            "licence": LICENCE,
            "site": self.site,
            "made_at": self.made_at,
        }
        kept, size = [_to_json(header).encode() + b"\n"], 0
        for duel in duels:
            for line in self._lines(duel):
                kept.append(line)
                size += len(line)
                if size > CHUNK_BYTES:
                    yield self._counted(b"".join(kept))
                    kept, size = [], 0
        yield self._counted(b"".join(kept))
        end = {
            "end": True,
            "matches": self.match_count,
            "duels": self.duel_count,
            "left_out": self.left_out,
            "sha256": self._sha256.hexdigest(),
        }
        yield _to_json(end).encode() + b"\n"

    def _counted(self, data: bytes) -> bytes:
        self._sha256.update(data)
        return data

    def _lines(self, duel: DuelOfDataset) -> list[bytes]:
        """Return the lines of a duel's matches; none if one of them is damaged."""
        about = _to_json({"duel": duel.id, "players": duel.players, "names": duel.names})[:-1].encode()
        try:
            archive = DuelArchive(duel.file)
            if archive.environment != self.environment:
                raise ArtifactDamaged("These are other rules.")
            lines = [about + b"," + _published(line)[1:].encode() + b"\n" for line in archive.lines()]
        except ArtifactDamaged:
            self.left_out += 1
            return []
        self.duel_count += 1
        self.match_count += len(lines)
        return lines


def _published(line: str) -> str:
    """Return the line of a match without the text of an error, which quotes the player's source."""
    if '"fault"' not in line:
        # Most matches have none: their line is passed on as it is, which takes a fifth of the time.
        return line
    try:
        match = json.loads(line)
        match.pop("error", None)
    except (ValueError, AttributeError, RecursionError):
        raise ArtifactDamaged("A match is damaged.") from None
    return _to_json(match)


def read_dataset(file: IO[bytes]) -> Iterator[dict[str, Any]]:
    """Yield the header of a data set, then its matches. Raises NotADataset, at the end if the file is not whole."""
    sha256 = hashlib.sha256()
    count = -1
    while line := file.readline(MOST_LINE_BYTES):
        found = _object(line)
        if count < 0 and (found.get("format"), found.get("version")) != (FORMAT, VERSION):
            raise NotADataset("This is no data set of matches, or one of a later version.")
        if found.get("end") is True:
            if (found.get("matches"), found.get("sha256")) != (count, sha256.hexdigest()):
                raise NotADataset("This data set was changed: its hash differs. Fetch it again.")
            return
        sha256.update(line)
        count += 1
        yield found
    raise NotADataset("This data set is not complete. Fetch it again.")


def _object(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise NotADataset("A line of this data set is not a JSON object.")
    return found
