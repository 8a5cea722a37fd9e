"""Duels that begin with openings: what players see, what is recorded, and what a recheck finds."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from arena_kit.environment.adapters.classic.document import classic_document
from arena_kit.environment.distinct import first_alike
from arena_kit.environment.openings import opening_of
from arena_kit.environment.protocol import BrokenEnvironment
from arena_kit.environment.record_archive import DuelArchive, write_duel
from arena_kit.environment.records import DuelRecord, Fault, canonical_lines, record_sha256
from arena_kit.environment.registry import get_spec
from arena_kit.environment.replay import replay
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.referee.match import pair_seed
from arena_kit.referee.play import run_match
from arena_kit.referee.recheck.duels import recheck_record
from arena_kit.referee.wire import Kind
from arena_kit.tests.duels import FAST, at, first_valid, last_valid, mixed, outline, play
from arena_kit.tests.environment.playing import GAMES
from arena_kit.tests.fake import Asked

CONNECT_FOUR = get_spec("connect-four")
GOLDEN = Path(__file__).parent / "golden"
HASHES = {
    "tic-tac-toe-v1": "98ccd5870f4d511570bc1a89b947456f6ac03bd58d29796a61eda3c51e4c3b0d",
    "connect-four-v1": "e3af0e3e3458fd8aedf0ef62afcc70b00ac232c4ec68be58e0ff3a791751e4d5",
    "quarto-v1": "34b224ec0d74867df11d5580e8d86fe4869ed748fa18eae076340b1d7f9906ff",
}


def faults_of(record: DuelRecord) -> list[str]:
    return [str(mismatch) for mismatch in recheck_record(CONNECT_FOUR, record)]


@pytest.fixture(scope="module")
def record() -> DuelRecord:
    return play(mixed, last_valid, spec=CONNECT_FOUR, matches=12).record


def test_both_matches_of_a_pair_begin_with_the_opening_of_its_seed(record: DuelRecord) -> None:
    for pair in range(6):
        opening = opening_of(CONNECT_FOUR, pair_seed(7, pair))
        for match in record.matches[2 * pair : 2 * pair + 2]:
            assert match.actions[: match.opening_count] == opening
            assert sum(match.move_counts) == len(match.actions) - len(opening)
    assert [match.seats for match in record.matches[:2]] == [(0, 1), (1, 0)]
    assert len({match.actions[: match.opening_count] for match in record.matches}) == 6


def test_openings_follow_from_rules_and_seed_and_not_from_the_players(record: DuelRecord) -> None:
    other = play(first_valid, mixed, spec=CONNECT_FOUR, matches=12, parallel=1).record

    openings = [[match.actions[: match.opening_count] for match in one.matches] for one in (record, other)]
    assert openings[0] == openings[1]


def test_start_is_asked_once_for_the_position_reached_and_never_for_the_opening() -> None:
    asked: list[Asked] = []

    def remembers(one: Asked) -> bytes:
        asked.append(one)
        return first_valid(one)

    match = play(remembers, last_valid, spec=CONNECT_FOUR, matches=1).record.matches[0]
    environment = CONNECT_FOUR.make()
    environment.reset(match.seed)
    steps = list(replay(CONNECT_FOUR, match))
    first = next(step for step in steps[match.opening_count + 1 :] if step.player == 0)

    assert [one.kind for one in asked] == [Kind.START, *[Kind.STEP] * (len(asked) - 2), Kind.END]
    assert [one.sequence for one in asked] == list(range(len(asked)))
    assert steps.index(first) - match.opening_count in (1, 2)
    assert [step.is_opening for step in steps].count(True) == match.opening_count
    assert [step.is_opening for step in steps[1 : match.opening_count + 1]] == [True] * match.opening_count
    assert match.move_counts[0] == len(asked) - 1


def test_after_an_odd_opening_the_second_seat_acts_first(record: DuelRecord) -> None:
    odd = next(match for match in record.matches if match.opening_count % 2)
    first = list(replay(CONNECT_FOUR, odd))[odd.opening_count + 1]

    assert first.seat == 1
    assert first.player == odd.seats[1]


def test_a_forfeit_in_the_first_own_move_keeps_the_opening_and_costs_the_match() -> None:
    record = play(at(1, 0, lambda _: None), first_valid, spec=CONNECT_FOUR, matches=2, limits=FAST).record
    lost = record.matches[0]

    assert (lost.fault, lost.faulty_player, lost.scores) == (Fault.PLAYER, 0, (-1.0, 1.0))
    assert lost.actions[: lost.opening_count] == opening_of(CONNECT_FOUR, lost.seed)
    assert lost.move_counts[0] == 0
    assert len(lost.actions) == lost.opening_count + lost.move_counts[1]
    assert faults_of(record) == []


def test_a_player_that_is_lost_forfeits_matches_that_never_begin() -> None:
    record = play(mixed, lambda _: None, spec=CONNECT_FOUR, matches=12, limits=FAST).record
    unbegun = [match for match in record.matches if not match.actions]

    assert unbegun
    assert {match.opening_count for match in unbegun} == {0}
    assert faults_of(record) == []


@pytest.mark.parametrize("spec", GAMES, ids=lambda spec: str(spec.slug))
def test_a_match_in_one_process_begins_with_the_same_opening(spec: EnvironmentSpec) -> None:
    class First:
        def start(self, state: object, valid: list[int]) -> int:
            return valid[0]

        def step(self, state: object, valid: list[int], reward: float) -> int:
            return valid[0]

        def end(self, state: object, reward: float) -> None:
            pass

    bare = run_match(spec, (First(), First()), pair_seed(7, 0))  # type: ignore[arg-type]  # lists serve as arrays here
    wired = play(first_valid, first_valid, spec=spec, matches=1).record.matches[0]

    assert (bare.actions, bare.opening_count, bare.scores, bare.move_counts) == (
        wired.actions, wired.opening_count, wired.scores, wired.move_counts,
    )  # fmt: skip


def test_a_recheck_finds_a_forged_opening(record: DuelRecord) -> None:
    match = record.matches[2]
    other = record.matches[0]
    given = " ".join(map(str, match.actions[: match.opening_count]))
    forged = {
        "borrowed": {"actions": other.actions, "opening_count": other.opening_count},
        "left out": {"opening_count": 0, "move_counts": (20, 20)},
        "shortened": {"opening_count": match.opening_count - 1},
        "made longer": {"opening_count": match.opening_count + 1},
    }

    for what, changes in forged.items():
        matches = [replace(one, **changes) if one is match else one for one in record.matches]  # type: ignore[arg-type]
        found = faults_of(replace(record, matches=tuple(matches)))
        assert len(found) == 1, what
        assert found[0].startswith("Match 3: its opening is "), what
        assert found[0].endswith(f", not {given}, which its seed gives."), what


def test_a_recheck_finds_an_opening_where_the_rules_have_none() -> None:
    plain = get_spec("connect-four-v1")
    record = play(mixed, last_valid, spec=plain, matches=2).record
    forged = replace(record.matches[0], opening_count=2)

    found = recheck_record(plain, replace(record, matches=(forged, record.matches[1])))
    assert "its opening is" in str(found[0])
    assert "not none, which its seed gives" in str(found[0])


@pytest.mark.parametrize("name", sorted(HASHES))
def test_records_from_before_openings_still_verify(name: str) -> None:
    """These files were written by the code before openings."""
    with (GOLDEN / f"{name}.zip").open("rb") as file:
        kept = DuelArchive(file).record()
    again = play(mixed, at(5, 1, lambda _: None), spec=get_spec(name), matches=6, limits=FAST).record

    assert recheck_record(get_spec(name), kept, sha256=HASHES[name]) == []
    assert record_sha256(again) == HASHES[name]
    assert kept.distinct_matches is None


def test_the_opening_is_part_of_the_hash_the_archive_and_the_classic_document(record: DuelRecord) -> None:
    file = io.BytesIO()
    write_duel(record, file)
    document = json.loads("".join(classic_document(CONNECT_FOUR, record)))
    match = record.matches[0]
    lines = [json.loads(line) for line in canonical_lines(record)]

    kept = DuelArchive(file).record()

    assert (outline(kept), kept.distinct_matches) == (outline(record), record.distinct_matches)
    assert [one.opening_count for one in kept.matches] == [one.opening_count for one in record.matches]
    assert [line[-1] for line in lines[1:]] == [one.opening_count for one in record.matches]
    assert document["distinct_matches"] == record.distinct_matches
    assert document["matches"][0]["opening_plies"] == match.opening_count
    assert len(document["matches"][0]["states"]) == len(match.actions) + 1


def test_deterministic_players_repeat_matches_without_openings_and_hardly_with_them() -> None:
    plain = play(first_valid, last_valid, spec=get_spec("connect-four-v1"), matches=40).record
    varied = play(first_valid, last_valid, spec=CONNECT_FOUR, matches=40).record

    assert plain.distinct_matches == 2
    assert varied.distinct_matches is not None
    assert varied.distinct_matches >= 38


def test_matches_that_reach_the_same_position_in_another_order_are_one(record: DuelRecord) -> None:
    spec = CONNECT_FOUR
    base = record.matches[0]
    ways = [(0, 1, 2, 3), (2, 1, 0, 3), (0, 1, 2, 4)]
    matches = [replace(base, number=number, actions=(*way, 5), opening_count=4) for number, way in enumerate(ways, 1)]

    assert first_alike(spec, matches[:2]) == (1, 1)
    assert len(set(first_alike(spec, matches))) == 2
    assert first_alike(spec, [matches[0], replace(matches[0], number=2, seats=(1, 0))]) == (1, 2)


def test_a_duel_is_not_void_if_its_matches_cannot_be_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> int:
        raise BrokenEnvironment("its server has ended, with the signal 6.")

    monkeypatch.setattr("arena_kit.referee.play.first_alike", fails)
    record = play(first_valid, last_valid, spec=CONNECT_FOUR, matches=4).record
    assert (len(record.matches), record.distinct_matches) == (4, None)
    assert recheck_record(CONNECT_FOUR, record) == []


def test_a_recheck_counts_the_distinct_matches_again(record: DuelRecord) -> None:
    assert record.alike is not None
    assert record.distinct_matches == 12
    forged = replace(record, alike=(*record.alike[:-1], 1))

    assert faults_of(forged) == ["It says that 11 matches are distinct, but 12 are."]
