"""What a recheck of a duel's record finds, and what it cannot find."""

from __future__ import annotations

import gzip
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arena_kit.cli.recheck import MISMATCH, NOT_CHECKED, VERIFIED, main
from arena_kit.environment.protocol import IllegalAction, Observation
from arena_kit.environment.record_archive import write_duel
from arena_kit.environment.records import DuelRecord, Fault, MatchRecord, Outcome, record_sha256
from arena_kit.environment.registry import get_spec
from arena_kit.environment.spec import ArraySpec, EnvironmentSpec
from arena_kit.referee.recheck.duels import compare_plays, recheck_record
from arena_kit.tests.duels import FAST, at, last_valid, mixed, play
from arena_kit.tests.environment.playing import GAMES

SPEC = get_spec("tic-tac-toe-v1")
Change = Callable[[MatchRecord], dict[str, Any]]


@pytest.fixture(scope="module")
def record() -> DuelRecord:
    """Return six matches, of which player 2 forfeits match 5 at its second move."""
    return play(mixed, at(5, 1, lambda _: None), spec=SPEC, matches=6).record


def tampered(record: DuelRecord, number: int, change: Change) -> DuelRecord:
    matches = [replace(match, **change(match)) if match.number == number else match for match in record.matches]
    return replace(record, matches=tuple(matches))


def found(record: DuelRecord, sha256: str = "") -> list[str]:
    return [str(mismatch) for mismatch in recheck_record(SPEC, record, sha256=sha256)]


@pytest.mark.parametrize("spec", GAMES, ids=lambda spec: str(spec.id))
def test_what_the_referee_records_verifies(spec: EnvironmentSpec) -> None:
    record = play(mixed, last_valid, spec=spec, matches=6).record

    assert recheck_record(spec, record, sha256=record_sha256(record)) == []


def test_real_forfeits_verify(record: DuelRecord) -> None:
    gone = play(mixed, lambda _: None, spec=SPEC, matches=12, limits=FAST).record

    assert [match.number for match in record.matches if match.fault is Fault.PLAYER] == [5]
    assert {match.error_code for match in gone.matches} == {"player_died", "too_many_restarts"}
    assert found(record) == found(gone) == []


def test_a_duel_in_an_environment_of_one_seat_is_none(record: DuelRecord) -> None:
    alone = get_spec("frozen-lake")

    (line,) = recheck_record(alone, replace(record, environment=alone.id))
    assert str(line) == "frozen-lake-v1 has no duels: its number of seats is 1."


TAMPERED: dict[str, tuple[int, Change, str]] = {
    "another action": (1, lambda m: {"actions": (m.actions[1], *m.actions[1:])}, "move 2 is not possible: Cell "),
    "an action of no game": (1, lambda m: {"actions": (*m.actions[:-1], 10**30)}, "is not possible: Cell 1000"),
    "an action left out": (1, lambda m: {"actions": m.actions[:-1]}, "it stops before its end without a fault"),
    "an action too many": (1, lambda m: {"actions": (*m.actions, 0)}, "is not possible: the match was already over"),
    "the winner's score": (
        1,
        lambda m: {"scores": (m.scores[0] + 1, m.scores[1])},
        "its scores are (0.0, 1.0), not (-1.0, 1.0)",
    ),
    "the outcome": (1, lambda m: {"outcome": Outcome.DRAW}, "its outcome is DRAW, not PLAYER_2"),
    "swapped seats": (2, lambda m: {"seats": (0, 1)}, "its seats are (0, 1), not (1, 0)"),
    "another seed": (4, lambda m: {"seed": m.seed + 1}, "its seed is "),
    "another number": (4, lambda m: {"number": 3}, "it is recorded as match 3"),
    "a count of moves": (1, lambda m: {"move_counts": (9, 0)}, "its move counts are (9, 0), not (3, 3)"),
    "a fault without forfeit": (1, lambda m: {"faulty_player": 1}, "it names a fault, but was not forfeited"),
    "a win made a forfeit": (
        1,
        lambda m: {"fault": Fault.PLAYER, "faulty_player": 1, "error_code": "player_died"},
        "it was forfeited after its end",
    ),
    "an illegal prefix": (5, lambda m: {"actions": (0, 0)}, "move 2 is not possible: Cell 0"),
    "who forfeits": (5, lambda m: {"faulty_player": 0}, "its scores are (1.0, -1.0), not (-1.0, 1.0)"),
    "no player forfeits": (5, lambda m: {"faulty_player": None}, "it was forfeited, but by neither player"),
    "the platform's fault": (5, lambda m: {"fault": Fault.PLATFORM}, "it was forfeited, but by neither player"),
    "what for": (5, lambda m: {"error_code": "bad_mood"}, "'bad_mood' is not a fault that a player forfeits for"),
    "a dearer forfeit": (5, lambda m: {"scores": (5.0, -5.0)}, "its scores are (5.0, -5.0), not (1.0, -1.0)"),
}


@pytest.mark.parametrize("what", TAMPERED)
def test_a_match_that_was_tampered_with_is_found(what: str, record: DuelRecord) -> None:
    number, change, sentence = TAMPERED[what]

    other = tampered(record, number, change)

    assert any(line.startswith(f"Match {number}: ") and sentence in line for line in found(other)), found(other)
    assert {mismatch.number for mismatch in recheck_record(SPEC, other)} == {number}
    assert found(other, record_sha256(record))[0].startswith("The record's hash is ")


def test_a_pair_of_matches_with_another_seed_of_the_duel_is_found(record: DuelRecord) -> None:
    assert len(found(replace(record, seed=8))) == 6


def test_a_legal_but_other_match_is_found_by_the_hash(record: DuelRecord) -> None:
    """A simulation cannot find changed legal actions, but the hash does."""
    other = play(last_valid, last_valid, spec=SPEC, matches=6).record

    assert found(other) == []
    (line,) = found(other, record_sha256(record))
    assert line == f"The record's hash is {record_sha256(other)}, not {record_sha256(record)}."


class Morra:
    """Both seats show 0 or 1 at once, three times; seat 0 gets a point if they are equal, seat 1 if not."""

    def reset(self, seed: int) -> None:
        self._steps = 0

    @property
    def to_move(self) -> tuple[int, ...]:
        return (0, 1) if self._steps < 3 else ()

    @property
    def truncated(self) -> bool:
        return False

    def observe(self, seat: int) -> Observation:
        return Observation([self._steps], (0, 1))

    def step(self, actions: Mapping[int, int]) -> tuple[float, ...]:
        if any(action not in (0, 1) for action in actions.values()):
            raise IllegalAction("Show 0 or 1.")
        self._steps += 1
        return (1.0, -1.0) if actions[0] == actions[1] else (-1.0, 1.0)

    def frame(self) -> dict[str, int]:
        return {"steps": self._steps}


def test_simultaneous_matches_are_simulated_step_by_step() -> None:
    spec = replace(SPEC, entry_point=f"{__name__}:Morra", observation=ArraySpec((1,)), action_count=2)
    record = play(mixed, at(2, 1, lambda _: None), spec=spec, matches=4).record

    assert len(record.matches[0].actions) == 6
    assert {match.number: match.error_code for match in record.matches if match.error_code} == {2: "player_died"}
    assert recheck_record(spec, record) == []
    cut = tampered(record, 1, lambda m: {"actions": m.actions[:-1]})
    assert [str(fault) for fault in recheck_record(spec, cut)] == [
        "Match 1: move 5 is not possible: the record ends within a step."
    ]


def test_a_record_of_other_rules_is_found(record: DuelRecord) -> None:
    assert found(replace(record, environment="quarto-v1")) == ["The record is of quarto-v1, not of tic-tac-toe-v1."]


def test_playing_again_is_compared_match_by_match(record: DuelRecord) -> None:
    moved = tampered(record, 2, lambda m: {"actions": (*m.actions[:3], 99, *m.actions[4:])})
    shorter = tampered(moved, 5, lambda m: {"actions": m.actions[:1]})
    again = tampered(shorter, 6, lambda m: {"error_code": "player_timed_out"})

    assert compare_plays(record, record) == []
    assert [str(difference) for difference in compare_plays(record, again)] == [
        "Match 2: other actions from move 4 on.",
        "Match 5: other actions from move 2 on.",
        f"Match 6: the same actions, but {record.matches[5].outcome} became player_timed_out.",
    ]


def test_downloaded_records_can_be_checked_without_a_site(record: DuelRecord, tmp_path: Path) -> None:
    path = tmp_path / "duel-1-records.zip"
    with path.open("wb") as file:
        write_duel(record, file)

    command = [sys.executable, "-m", "arena_kit", "recheck", str(path), "--sha256", record_sha256(record)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (VERIFIED, "")
    assert f"tic-tac-toe-v1, seed 7, 6 matches, sha256 {record_sha256(record)}\nThe record verifies" in done.stdout


def test_downloaded_records_that_do_not_verify_say_why(
    record: DuelRecord, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "records.zip"
    with path.open("wb") as file:
        write_duel(tampered(record, 5, lambda _: {"actions": (0, 0)}), file)

    assert main([str(path)]) == MISMATCH
    assert capsys.readouterr().out.startswith("Match 5: move 2 is not possible: Cell 0 does not exist or is taken.")
    path.write_bytes(b"no zip")
    assert main([str(path)]) == NOT_CHECKED
    assert "damaged" in capsys.readouterr().err


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_document_of_the_duel_is_told_from_its_records(
    pack: Callable[[bytes], bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "results.json"
    path.write_bytes(pack(b'{"result": "DRAW", "matches": []}'))
    assert main([str(path)]) == NOT_CHECKED
    assert "is a document with states. To check a result, download its records, a zip." in capsys.readouterr().err
