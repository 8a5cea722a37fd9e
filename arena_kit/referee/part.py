"""The result of one part of a lot as bytes: what was played, or why the platform failed."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from arena_kit.environment.episodes import EvaluationArchive, write_evaluation
from arena_kit.environment.record_archive import ArtifactDamaged, DuelArchive, write_duel
from arena_kit.referee.episode import Failure
from arena_kit.referee.faults import PlayerFault
from arena_kit.referee.play import PlayedDuel, PlayedEvaluation
from arena_kit.referee.sealed import Reader

PART_LINE = re.compile(r"part \S+ \d+ -?\d+ \d+ [0-9a-f]{64}")
"""The whole of the line that ends a part."""
HEAD_BYTES = 4
"""The length of a part's description, little-endian, which is followed by the description and the archive."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The platform failed; as in PlatformFault."""

    code: str
    sentence: str
    matches: tuple[int, ...] = ()


NOT_PLAYED = "not_played"
"""The code of a part that a lot could not play for what happened in an earlier one."""
PLAYER_LOST = Failed(NOT_PLAYED, "A container of its lot was lost in an earlier duel.")
LOT_FULL = Failed(NOT_PLAYED, "The results of its lot fill the log of a pod.")
KILLED = Failed("container_killed", "A player's container was killed from outside.")


@dataclass(frozen=True, slots=True)
class PlayedPart:
    """The result of a part. lost: indexes, in the lot, of its players whose containers were gone when it ended.

    The result holds unless the pod's status says that such a container was killed from outside.
    """

    result: PlayedDuel | PlayedEvaluation | Failed
    lost: tuple[int, ...] = ()
    seconds: float = 0.0
    """Wall time from the first start of a player to the end of play."""

    def to_bytes(self) -> bytes:
        """Return the part as bytes that `read_part` understands."""
        archive = io.BytesIO()
        result = self.result
        described: dict[str, Any] = {"lost": self.lost, "seconds": self.seconds}
        if isinstance(result, Failed):
            described |= {"kind": "failed", "code": result.code, "sentence": result.sentence, "matches": result.matches}
        else:
            described |= {"playing_seconds": result.playing_seconds}
        if isinstance(result, PlayedDuel):
            write_duel(result.record, archive)
            described |= {"kind": "duel", "log": result.log, "player_logs": result.player_logs}
        if isinstance(result, PlayedEvaluation):
            write_evaluation(result.record, archive)
            failure = result.failure
            described |= {
                "kind": "evaluation",
                "player_log": result.player_log,
                "failure": None
                if failure is None
                else [failure.fault.value, failure.episode, failure.sentence, failure.public_sentence],
            }
        head = json.dumps(described).encode()
        return len(head).to_bytes(HEAD_BYTES, "little") + head + archive.getvalue()


def read_part(data: bytes) -> PlayedPart:
    """Return the part of `PlayedPart.to_bytes`. Raises ArtifactDamaged."""
    end = HEAD_BYTES + int.from_bytes(data[:HEAD_BYTES], "little")
    archive = io.BytesIO(data[end:])
    try:
        described = json.loads(data[HEAD_BYTES:end])
        lost = tuple(int(number) for number in described["lost"])
        seconds = float(described["seconds"])
        match described["kind"]:
            case "failed":
                matches = tuple(int(number) for number in described["matches"])
                return PlayedPart(Failed(str(described["code"]), str(described["sentence"]), matches), lost, seconds)
            case "duel":
                first, second = described["player_logs"]
                duel = PlayedDuel(
                    DuelArchive(archive).record(),
                    str(described["log"]),
                    (str(first), str(second)),
                    float(described["playing_seconds"]),
                )
                return PlayedPart(duel, lost, seconds)
            case "evaluation":
                evaluation = PlayedEvaluation(
                    EvaluationArchive(archive).record(),
                    _failure(described["failure"]),
                    str(described["player_log"]),
                    float(described["playing_seconds"]),
                )
                return PlayedPart(evaluation, lost, seconds)
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    raise ArtifactDamaged("The result of a part of a lot cannot be read.")


def read_lot(lines: Iterable[str], seal: str, claim: str, killed: AbstractSet[int]) -> dict[str, PlayedPart]:
    """Return the parts of a lot by id, out of its log and seal. Raises NotSealed and ArtifactDamaged.

    killed: numbers of the players whose containers were killed, but not for lack of memory. That is the platform's
    fault, and so is a result with such a loss. Any other loss is the player's: one that found a way to end its
    supervisor could otherwise take back its losses.
    """
    reader = Reader()
    reader.read(lines)
    reader.check(seal, claim)
    parts = {part: read_part(data) for part, data in reader.parts.items()}
    for part, played in parts.items():
        if not isinstance(played.result, Failed) and killed & set(played.lost):
            parts[part] = PlayedPart(KILLED, played.lost, played.seconds)
    return parts


def finished_parts(lines: Sequence[str]) -> dict[str, PlayedPart]:
    """Return the parts that the log of a lot holds, which may still be written or be cut off. They have no seal.

    Each part has a hash of its own, and only the referee's container writes this log. Left out are failures and parts
    with lost players, where only the end of the pod shows who is to blame. Raises NotSealed and ArtifactDamaged.
    """
    ends = [number for number, line in enumerate(lines, start=1) if PART_LINE.fullmatch(line)]
    reader = Reader()
    reader.read(lines[: ends[-1] if ends else 0])
    parts = {part: read_part(data) for part, data in reader.parts.items()}
    return {part: played for part, played in parts.items() if not (isinstance(played.result, Failed) or played.lost)}


def _failure(values: list[Any] | None) -> Failure | None:
    if values is None:
        return None
    fault, episode, sentence, public_sentence = values
    return Failure(PlayerFault(fault), None if episode is None else int(episode), str(sentence), str(public_sentence))
