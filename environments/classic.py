"""The classic duel document, as earlier arenas wrote it; produced on demand from the records."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from environments.records import DuelRecord, Fault, MatchRecord, Outcome
from environments.replay import replay
from environments.spec import EnvironmentSpec

_WON = {Outcome.PLAYER_1: "PLAYER_1_WIN", Outcome.PLAYER_2: "PLAYER_2_WIN", Outcome.DRAW: "DRAW"}


def classic_document(spec: EnvironmentSpec, record: DuelRecord, error: str = "") -> Iterator[str]:
    """The document as chunks of JSON text, one match at a time, so that large duels need little memory.

    error: the platform's error when the duel could not be played; the result is then ERROR. The same seed and
    deterministic players give the same bytes: times and tracebacks are left out.
    """
    summary = record.summary
    other_errors = sum(match.fault is Fault.PLATFORM for match in record.matches)
    head = {
        "result": "ERROR" if error or other_errors else _WON[summary.outcome],
        "error_msg": error,
        "num_matches": len(record.matches),
        "player_1_errors": summary.errors[0],
        "player_2_errors": summary.errors[1],
        "other_errors": other_errors,
        "player_1_wins": summary.wins[0],
        "player_2_wins": summary.wins[1],
        "draws": summary.draws,
        "player_1_score": summary.scores[0],
        "player_2_score": summary.scores[1],
    }
    yield json.dumps(head)[:-1] + ', "matches": ['
    for index, match in enumerate(record.matches):
        yield (", " if index else "") + json.dumps(_match(spec, match))
    yield "]}\n"


def match_result(match: MatchRecord) -> str:
    """The classic name of a match's result."""
    if match.fault is Fault.PLAYER and match.faulty_player is not None:
        return f"PLAYER_{match.faulty_player + 1}_ERROR"
    if match.fault is Fault.PLATFORM:
        return "OTHER_ERROR"
    return _WON[match.outcome]


def _match(spec: EnvironmentSpec, match: MatchRecord) -> dict[str, Any]:
    return {
        "result": match_result(match),
        "error_msg": match.error.partition("\n")[0],
        "player_1_score": match.scores[0],
        "player_2_score": match.scores[1],
        "first_player": f"PLAYER_{match.seats[0] + 1}",
        "states": [step.frame for step in replay(spec, match)],
    }
