"""What is kept of an evaluation: seeds, actions and scores of its episodes; everything else is derived from these.

The artifact is a standard zip: `evaluation.json` (header and a light index of all episodes) and the actions of each in
`episodes/NNNNN.bin`, so that one is read without the others. Entry times are fixed: equal records give equal bytes.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Any

from arena_kit.environment.record_archive import ArtifactDamaged

FORMAT_VERSION = 1
HEADER = "evaluation.json"
COMPRESSION = 3
MAX_ENTRY_BYTES = 256 * 1024 * 1024
INTEGER_BYTES = 4
"""Of an action that is a plain integer, in the artifact."""
_EPOCH = (1980, 1, 1, 0, 0, 0)
_COLUMNS = ("seeds", "scores", "lengths", "truncated", "thinking_seconds", "slowest_move_seconds", "cpu_seconds")
_UNREADABLE = (
    KeyError, EOFError, OSError, ValueError, OverflowError, RuntimeError, NotImplementedError, TypeError,
    struct.error, zipfile.BadZipFile, zlib.error,
)  # fmt: skip
"""What `zipfile` and `json` raise for one kind of damage or another."""


@dataclass(frozen=True, slots=True)
class EpisodeRecord:
    """One episode, complete: together with the environment's version it can be played again."""

    number: int
    """1-based place of its seed in the list of the evaluation."""
    seed: int
    actions: tuple[int, ...] | tuple[bytes, ...]
    """Plain integers, or the raw values of array actions, one entry a step."""
    score: float
    """Return of the episode: the sum of its rewards, without discount."""
    truncated: bool
    """Whether a limit of steps ended it, not the task."""
    thinking_seconds: float = 0.0
    """Wall time of all its moves as the referee measured it."""
    slowest_move_seconds: float = 0.0
    cpu_seconds: float = 0.0
    """Processor time of the player's container; 0 where not known."""

    @property
    def length(self) -> int:
        """Steps."""
        return len(self.actions)


@dataclass(frozen=True, slots=True)
class EvaluationRecord:
    """All finished episodes of one player in a one-seat environment."""

    environment: str
    """Id of the spec, e.g. `cart-pole-v1`."""
    runtime: str
    """Versions of the packages in which the rules are, e.g. `gymnasium 1.4.0`."""
    player: str
    episodes: tuple[EpisodeRecord, ...]
    """In the order of their numbers."""


def seeds_sha256(seeds: Iterable[int]) -> str:
    """SHA-256 in hex over a list of seeds as decimal numbers, each ended by a line feed."""
    return hashlib.sha256("".join(f"{seed}\n" for seed in seeds).encode("ascii")).hexdigest()


def secret_order(secret: str, count: int) -> tuple[int, ...]:
    """In which order an evaluation plays its list: places from 0, sorted by a hash of each with the secret as its key.

    Every evaluation draws a secret of its own, so that an episode's turn tells nothing of its seed. With the
    secret the order can be found again; records need none of it, because their episodes stand at their places.
    """
    key = bytes.fromhex(secret)
    return tuple(sorted(range(count), key=lambda place: hashlib.blake2b(str(place).encode("ascii"), key=key).digest()))


def evaluation_sha256(record: EvaluationRecord) -> str:
    """SHA-256 in hex over what was played: equal play, equal hash, whatever the times and the player's name.

    Over lines of JSON, each ended by a line feed: `["arena-evaluation",1,environment,runtime,number of episodes]`, then
    per episode `[number,seed,SHA-256 of its actions as the artifact stores them,length,score,truncated]`. Scores are
    the shortest decimals that give the same double.
    """
    sha256 = hashlib.sha256()
    head: list[object] = ["arena-evaluation", 1, record.environment, record.runtime, len(record.episodes)]
    rows = (
        [
            episode.number,
            episode.seed,
            hashlib.sha256(_pack(episode.actions)).hexdigest(),
            episode.length,
            float(episode.score) + 0.0,  # turns the zero with a sign into the one without
            episode.truncated,
        ]
        for episode in record.episodes
    )
    for line in (head, *rows):
        sha256.update(json.dumps(line, separators=(",", ":")).encode("ascii") + b"\n")
    return sha256.hexdigest()


def write_evaluation(record: EvaluationRecord, file: IO[bytes]) -> None:
    """Write all records of an evaluation to a binary file."""
    episodes = record.episodes
    action_bytes = next((len(e.actions[0]) for e in episodes if e.actions and isinstance(e.actions[0], bytes)), None)
    header = {
        "format": FORMAT_VERSION,
        "environment": record.environment,
        "runtime": record.runtime,
        "player": record.player,
        "action_bytes": action_bytes,
        "numbers": [episode.number for episode in episodes],
        "seeds": [episode.seed for episode in episodes],
        "scores": [episode.score for episode in episodes],
        "lengths": [episode.length for episode in episodes],
        "truncated": [episode.truncated for episode in episodes],
        "thinking_seconds": [round(episode.thinking_seconds, 6) for episode in episodes],
        "slowest_move_seconds": [round(episode.slowest_move_seconds, 6) for episode in episodes],
        "cpu_seconds": [round(episode.cpu_seconds, 6) for episode in episodes],
    }
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        _add(archive, HEADER, json.dumps(header, separators=(",", ":")).encode())
        for episode in episodes:
            _add(archive, _entry_name(episode.number), _pack(episode.actions))


def holds_evaluation(file: IO[bytes]) -> bool:
    """Whether a file is meant to be what `write_evaluation` wrote, damaged or not; it is left as it was."""
    try:
        return HEADER in zipfile.ZipFile(file).namelist()
    except _UNREADABLE:
        return False
    finally:
        file.seek(0)


class EvaluationArchive:
    """Reads what `write_evaluation` wrote. Raises ArtifactDamaged for anything else. `file` must stay open."""

    def __init__(self, file: IO[bytes]) -> None:
        try:
            self._archive = zipfile.ZipFile(file)
            data = json.loads(self._read(HEADER))
            if data["format"] != FORMAT_VERSION:
                raise ArtifactDamaged("The records of this evaluation are of a format that this arena does not know.")
            self._header: dict[str, Any] = data
            self.environment, self.runtime, self.player = (
                str(data[name]) for name in ("environment", "runtime", "player")
            )
            self.numbers: tuple[int, ...] = tuple(int(number) for number in data["numbers"])
            self._rows = {number: row for row, number in enumerate(self.numbers)}
            if any(len(data[column]) != len(self.numbers) for column in _COLUMNS):
                raise ArtifactDamaged("The index of this evaluation's records is damaged.")
        except (*_UNREADABLE, RecursionError):
            raise ArtifactDamaged("The records of this evaluation are damaged and cannot be read.") from None

    def episode(self, number: int) -> EpisodeRecord:
        """One episode by its number, reading its actions alone. Raises LookupError for one that is not there."""
        row = self._rows.get(number)
        if row is None:
            raise LookupError(f"This evaluation has no finished episode {number}.")
        try:
            values = {column: self._header[column][row] for column in _COLUMNS}
            actions = _unpack(self._read(_entry_name(number)), self._header["action_bytes"])
            score = float(values["scores"])
            if len(actions) != values["lengths"] or not math.isfinite(score):
                raise ValueError
            return EpisodeRecord(
                number=number,
                seed=int(values["seeds"]),
                actions=actions,
                score=score,
                truncated=bool(values["truncated"]),
                thinking_seconds=float(values["thinking_seconds"]),
                slowest_move_seconds=float(values["slowest_move_seconds"]),
                cpu_seconds=float(values["cpu_seconds"]),
            )
        except _UNREADABLE:
            raise ArtifactDamaged(f"Episode {number} of this evaluation's records is damaged.") from None

    def episodes(self) -> Iterator[EpisodeRecord]:
        """All episodes in order, the actions of one in memory at a time."""
        return (self.episode(number) for number in self.numbers)

    def record(self) -> EvaluationRecord:
        """The whole evaluation."""
        return EvaluationRecord(self.environment, self.runtime, self.player, tuple(self.episodes()))

    def _read(self, name: str) -> bytes:
        # The size that the zip names is not believed: reading stops one byte after what is allowed.
        with self._archive.open(name) as entry:
            data = entry.read(MAX_ENTRY_BYTES + 1)
        if len(data) > MAX_ENTRY_BYTES:
            raise ValueError("larger than any real one")
        return data


def _pack(actions: tuple[int, ...] | tuple[bytes, ...]) -> bytes:
    if actions and isinstance(actions[0], bytes):
        return b"".join(actions)
    return struct.pack(f"<{len(actions)}i", *actions)


def _unpack(data: bytes, action_bytes: int | None) -> tuple[int, ...] | tuple[bytes, ...]:
    if action_bytes is None:
        return struct.unpack(f"<{len(data) // INTEGER_BYTES}i", data)
    if action_bytes < 1 or len(data) % action_bytes:
        raise ValueError("not a whole number of actions")
    return tuple(data[start : start + action_bytes] for start in range(0, len(data), action_bytes))


def _entry_name(number: int) -> str:
    return f"episodes/{number:05}.bin"


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    archive.writestr(zipfile.ZipInfo(name, _EPOCH), data, zipfile.ZIP_DEFLATED, COMPRESSION)
