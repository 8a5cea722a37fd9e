"""The records of an evaluation: seeds, actions and scores of its episodes. Everything else is derived from these.

The artifact is a standard zip with a header and an index of all episodes in `evaluation.json`, and the actions of each
episode in `episodes/NNNNN.bin`, so that one can be read without the others. Entry times are fixed, so equal records
give equal bytes.
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
"""Bytes that an action takes in the artifact where it is a plain integer."""
_EPOCH = (1980, 1, 1, 0, 0, 0)
_COLUMNS = ("seeds", "scores", "lengths", "truncated", "thinking_seconds", "slowest_move_seconds", "cpu_seconds")
_UNREADABLE = (
    KeyError,
    EOFError,
    OSError,
    ValueError,
    OverflowError,
    RuntimeError,
    NotImplementedError,
    TypeError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)
"""The exceptions that `zipfile` and `json` raise for damaged files."""


@dataclass(frozen=True, slots=True)
class EpisodeRecord:
    """One complete episode; with the environment's version it can be played again."""

    number: int
    """1-based place of its seed in the evaluation's list."""
    seed: int
    actions: tuple[int, ...] | tuple[bytes, ...]
    """Plain integers, or the raw bytes of array actions; one entry per step."""
    score: float
    """Return of the episode: the undiscounted sum of its rewards."""
    truncated: bool
    """Whether the step limit ended it, not the task."""
    thinking_seconds: float = 0.0
    """Wall time of all its moves, measured by the referee."""
    slowest_move_seconds: float = 0.0
    cpu_seconds: float = 0.0
    """Processor time of the player's container; 0 when unknown."""

    @property
    def length(self) -> int:
        """Number of steps."""
        return len(self.actions)


@dataclass(frozen=True, slots=True)
class EvaluationRecord:
    """All finished episodes of one player in a one-seat environment."""

    environment: str
    """Id of the spec, e.g. `cart-pole-v1`."""
    runtime: str
    """The `EnvironmentSpec.runtime`, e.g. `gymnasium 1.4.0`; empty when all rules are in the arena's own code."""
    player: str
    episodes: tuple[EpisodeRecord, ...]
    """Ordered by number."""


def seeds_sha256(seeds: Iterable[int]) -> str:
    """Return the SHA-256, in hexadecimal, of a list of seeds: decimal numbers, each followed by a line feed."""
    return hashlib.sha256("".join(f"{seed}\n" for seed in seeds).encode("ascii")).hexdigest()


def secret_order(secret: str, count: int) -> tuple[int, ...]:
    """Return the order in which an evaluation plays its list: places from 0, sorted by a hash keyed with the secret.

    Every evaluation draws its own secret, so that a player cannot tell an episode's seed from its turn. The secret
    gives the order again. Records do not need it, because they keep episodes in the order of the list.

    secret: hexadecimal. count: the length of the list.
    """
    key = bytes.fromhex(secret)
    return tuple(sorted(range(count), key=lambda place: hashlib.blake2b(str(place).encode("ascii"), key=key).digest()))


def evaluation_sha256(record: EvaluationRecord) -> str:
    """Return the SHA-256, in hexadecimal, of what was played; times and the player's name are left out.

    The hash is taken over lines of JSON, each followed by a line feed: `["arena-evaluation",1,environment,runtime,
    number of episodes]`, then for each episode `[number,seed,SHA-256 of its actions as the artifact stores them,length,
    score,truncated]`. Scores are the shortest decimals that give the same double.
    """
    sha256 = hashlib.sha256()
    head: list[object] = ["arena-evaluation", 1, record.environment, record.runtime, len(record.episodes)]
    rows = (
        [
            episode.number,
            episode.seed,
            hashlib.sha256(_pack(episode.actions)).hexdigest(),
            episode.length,
            float(episode.score) + 0.0,  # turns -0.0 into 0.0
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
    """Return whether a file looks like the output of `write_evaluation`, even a damaged one; rewinds the file."""
    try:
        return HEADER in zipfile.ZipFile(file).namelist()
    except _UNREADABLE:
        return False
    finally:
        file.seek(0)


class EvaluationArchive:
    """Reads what `write_evaluation` wrote. `file` must stay open. Raises ArtifactDamaged for anything else."""

    def __init__(self, file: IO[bytes]) -> None:
        try:
            self._archive = zipfile.ZipFile(file)
            data = json.loads(self._read(HEADER))
            if data["format"] != FORMAT_VERSION:
                raise ArtifactDamaged("The records of this evaluation have a format that this arena does not know.")
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
        """Return one episode by its number, reading only its actions. Raises LookupError and ArtifactDamaged."""
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
        """Yield all episodes in order, holding the actions of one in memory at a time."""
        return (self.episode(number) for number in self.numbers)

    def record(self) -> EvaluationRecord:
        """Read the whole evaluation."""
        return EvaluationRecord(self.environment, self.runtime, self.player, tuple(self.episodes()))

    def _read(self, name: str) -> bytes:
        # The size that the zip claims may be wrong, so reading stops one byte after the limit.
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
