"""Makes the classic duel document, the format of earlier arenas, from a duel's records."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from arena_kit.environment.record_archive import DuelArchive
from arena_kit.environment.records import DuelRecord, Fault, MatchRecord, Outcome
from arena_kit.environment.replay import replay
from arena_kit.environment.spec import EnvironmentSpec

_WON = {Outcome.PLAYER_1: "PLAYER_1_WIN", Outcome.PLAYER_2: "PLAYER_2_WIN", Outcome.DRAW: "DRAW"}
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")


def classic_document(
    spec: EnvironmentSpec, duel: DuelRecord | DuelArchive, error: str = "", *, check: Mapping[str, object] | None = None
) -> Iterator[str]:
    """Yield the document as pieces of JSON text, one match at a time, so that large duels need little memory.

    The same seed and deterministic players give the same bytes: times, tracebacks and memory addresses are left out.

    duel: records in memory, or an open archive, which is read one block at a time. error: the platform's error when
    the duel could not be played; the result is then ERROR. check: an object to put before the matches under the key
    `check`; it holds what is needed to recheck the duel. Raises ReplayMismatch or ArtifactDamaged, possibly after some
    pieces, when the records do not fit `spec`.
    """
    summary = duel.summary
    rows = duel.index if isinstance(duel, DuelArchive) else duel.matches
    other_errors = sum(_unplayed(row.fault, row.outcome) for row in rows)
    head: dict[str, object] = {
        "result": "ERROR" if error or other_errors else _WON[summary.outcome],
        "error_msg": _first_line(error),
        "num_matches": summary.match_count,
        "player_1_errors": summary.errors[0],
        "player_2_errors": summary.errors[1],
        "other_errors": other_errors,
        "player_1_wins": summary.wins[0],
        "player_2_wins": summary.wins[1],
        "draws": summary.draws,
        "player_1_score": summary.scores[0],
        "player_2_score": summary.scores[1],
    }
    if duel.distinct_matches is not None:
        head["distinct_matches"] = duel.distinct_matches
    if check is not None:
        head["check"] = dict(check)
    yield json.dumps(head)[:-1] + ', "matches": ['
    matches = duel.matches() if isinstance(duel, DuelArchive) else duel.matches
    for index, match in enumerate(matches):
        yield (", " if index else "") + json.dumps(_match(spec, match))
    yield "]}\n"


def match_result(match: MatchRecord) -> str:
    """Return the classic name of a match's result."""
    if match.fault is Fault.PLAYER and match.faulty_player is not None:
        return f"PLAYER_{match.faulty_player + 1}_ERROR"
    return "OTHER_ERROR" if _unplayed(match.fault, match.outcome) else _WON[match.outcome]


def _unplayed(fault: Fault, outcome: Outcome) -> bool:
    """Return whether a match was not played to its end: an outcome of NONE says so even without a platform fault."""
    return fault is Fault.PLATFORM or outcome is Outcome.NONE


def _match(spec: EnvironmentSpec, match: MatchRecord) -> dict[str, Any]:
    states = list(replay(spec, match))
    opening = {"opening_plies": sum(step.is_opening for step in states)} if match.opening_count else {}
    return {
        "result": match_result(match),
        "error_msg": _first_line(match.error),
        "player_1_score": match.scores[0],
        "player_2_score": match.scores[1],
        "first_player": f"PLAYER_{match.seats[0] + 1}",
        # What a classic environment's own `to_jsonable` returns is what its documents have always held.
        "states": [step.frame if spec.classic is None else step.frame["state"] for step in states],
        **opening,
    }


def _first_line(error: str) -> str:
    """Return an error without what differs between runs: no traceback, no `<object at 0x7f...>`."""
    return _ADDRESS.sub("0x…", error.partition("\n")[0])
