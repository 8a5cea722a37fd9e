from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import Any

import pytest

from arena_kit.environment.adapters.classic.document import classic_document, match_result
from arena_kit.environment.record_archive import DuelArchive
from arena_kit.environment.records import DuelRecord, Fault, MatchRecord, Outcome
from arena_kit.environment.registry import get_spec
from arena_kit.environment.replay import ReplayMismatch
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.tests.environment.playing import GAMES, duel_record, match_record, written

SPEC = get_spec("connect-four-v1")
DUEL_KEYS = [
    "result", "error_msg", "num_matches", "player_1_errors", "player_2_errors", "other_errors", "player_1_wins",
    "player_2_wins", "draws", "player_1_score", "player_2_score", "matches",
]  # fmt: skip
MATCH_KEYS = ["result", "error_msg", "player_1_score", "player_2_score", "first_player", "states"]


def document(spec: EnvironmentSpec, record: DuelRecord, error: str = "") -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads("".join(classic_document(spec, record, error)))
    return loaded


@pytest.mark.parametrize("spec", GAMES, ids=lambda spec: str(spec.id))
def test_the_document_has_the_classic_keys_in_their_order(spec: EnvironmentSpec) -> None:
    found = document(spec, duel_record(spec))
    assert list(found) == DUEL_KEYS
    keys = MATCH_KEYS if spec.openings is None else [*MATCH_KEYS, "opening_plies"]
    assert [list(match) for match in found["matches"]] == [keys] * 6


def test_the_counts_are_those_of_the_matches() -> None:
    record = duel_record(SPEC, count=20)
    found = document(SPEC, record)
    results = [match["result"] for match in found["matches"]]
    assert found["num_matches"] == len(results) == 20
    assert results[2] == "PLAYER_2_ERROR"
    for count, result in {
        "player_1_wins": "PLAYER_1_WIN",
        "player_2_wins": "PLAYER_2_WIN",
        "player_2_errors": "PLAYER_2_ERROR",
        "draws": "DRAW",
    }.items():
        assert found[count] == results.count(result)
    assert found["player_1_score"] == sum(match["player_1_score"] for match in found["matches"])
    assert found["result"] in ("PLAYER_1_WIN", "PLAYER_2_WIN", "DRAW")
    assert [match["first_player"] for match in found["matches"][:2]] == ["PLAYER_1", "PLAYER_2"]


def test_the_states_are_the_frames_from_the_first_to_the_last() -> None:
    record = duel_record(SPEC, count=1)
    states = document(SPEC, record)["matches"][0]["states"]
    assert len(states) == len(record.matches[0].actions) + 1
    assert states[0]["cells"] == [0] * 42
    assert states[-1]["over"]


def test_times_tracebacks_and_addresses_do_not_change_the_bytes() -> None:
    record = duel_record(SPEC)
    matches = [replace(match, thinking_seconds=(9.0, 9.0)) for match in record.matches]
    matches[2] = replace(matches[2], error=matches[2].error.replace("0x7f01", "0x55aa") + "\n another traceback")
    again = replace(record, matches=tuple(matches))
    assert "".join(classic_document(SPEC, again)) == "".join(classic_document(SPEC, record))
    message = document(SPEC, record)["matches"][2]["error_msg"]
    assert message == "The player raised an exception: KeyError: <Board object at 0x…>"


def test_an_archive_gives_the_bytes_of_its_record() -> None:
    record = duel_record(SPEC, count=60)
    archive = DuelArchive(io.BytesIO(written(record)))
    assert "".join(classic_document(SPEC, archive)) == "".join(classic_document(SPEC, record))


def test_the_document_comes_a_match_at_a_time() -> None:
    chunks = list(classic_document(SPEC, duel_record(SPEC, count=30)))
    assert len(chunks) == 32


def test_a_duel_that_could_not_be_played_is_an_error() -> None:
    found = document(SPEC, DuelRecord(SPEC.id, 7, ("a", "b"), ()), "The engine does not answer.\nTraceback")
    assert (found["result"], found["error_msg"]) == ("ERROR", "The engine does not answer.")
    assert (found["num_matches"], found["matches"]) == (0, [])


def test_a_match_that_the_platform_failed_makes_the_duel_an_error() -> None:
    failed = MatchRecord(2, 7, (1, 0), (3,), Outcome.NONE, (0.0, 0.0), fault=Fault.PLATFORM, error="The disk is full.")
    found = document(SPEC, DuelRecord(SPEC.id, 7, ("a", "b"), (match_record(SPEC), failed)))
    assert (found["result"], found["other_errors"]) == ("ERROR", 1)
    assert found["matches"][1]["result"] == "OTHER_ERROR"
    assert found["matches"][1]["error_msg"] == "The disk is full."


@pytest.mark.parametrize(
    ("outcome", "result"),
    [
        (Outcome.PLAYER_1, "PLAYER_1_WIN"),
        (Outcome.PLAYER_2, "PLAYER_2_WIN"),
        (Outcome.DRAW, "DRAW"),
        (Outcome.NONE, "OTHER_ERROR"),
    ],
)
def test_a_match_without_a_fault_has_the_result_of_its_outcome(outcome: Outcome, result: str) -> None:
    assert match_result(replace(match_record(SPEC), outcome=outcome)) == result


@pytest.mark.parametrize("player", [0, 1])
def test_a_fault_of_a_player_is_its_error_and_not_a_win_of_the_other(player: int) -> None:
    assert match_result(match_record(SPEC, forfeits=player)) == f"PLAYER_{player + 1}_ERROR"


def test_records_of_another_environment_are_refused() -> None:
    with pytest.raises(ReplayMismatch):
        list(classic_document(get_spec("tic-tac-toe-v1"), duel_record(get_spec("quarto"))))
