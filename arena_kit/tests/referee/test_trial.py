"""Trials, the duels of validations, end at the first fault and within a fixed time."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from arena_kit.referee.wire import Kind
from arena_kit.sandbox.base import Container, PlayerDidNotStart
from arena_kit.sandbox.ending import Ending
from arena_kit.tests.duels import FAST, PATIENT, Plan, at, faults, mixed, outline, play
from arena_kit.tests.fake import Asked, FakeContainer, Stall, action

FAR = 1e9
"""A time of the clock that no test reaches."""


def wrong(asked: Asked) -> bytes:
    return action(asked.match, asked.sequence, -1)


def late(asked: Asked) -> Stall:
    return Stall()


@pytest.mark.parametrize("parallel", [1, 7, 40])
def test_it_ends_at_the_first_fault_of_the_schedule_however_many_matches_run_at_once(parallel: int) -> None:
    def fails_twice(asked: Asked) -> bytes:
        is_wrong = asked.kind is not Kind.END and (asked.match, asked.sequence) in {(5, 3), (9, 0)}
        return wrong(asked) if is_wrong else mixed(asked)

    duel = play(fails_twice, mixed, matches=40, parallel=parallel, trial_until=FAR)
    assert faults(duel) == {5: (0, "illegal_action")}
    assert outline(duel.record)[:4] == outline(play(mixed, mixed, matches=40).record)[:4]
    assert len(duel.record.matches) == 5


@pytest.mark.slow
def test_a_player_that_never_answers_is_asked_once_and_not_started_again() -> None:
    containers: list[FakeContainer] = []
    duel = play(late, late, matches=40, parallel=40, limits=FAST, trial_until=FAR, containers=containers)
    (fault,) = {code for _, code in faults(duel).values()}
    assert (fault, len(containers)) == ("player_timed_out", 2)
    assert {asked.match for container in containers for asked in container.asked} <= {1, 2}


@pytest.mark.slow
def test_a_fault_beyond_the_first_pair_is_found_and_nothing_after_it_is_begun() -> None:
    duel = play(at(3, 1, late), mixed, matches=6, parallel=1, limits=FAST, trial_until=FAR)
    assert faults(duel) == {3: (0, "player_timed_out")}
    assert len(duel.record.matches) == 3


def test_of_a_player_that_cannot_be_started_no_second_one_is_started() -> None:
    starts = []

    def hang() -> Container:
        starts.append("start")
        raise PlayerDidNotStart("It was not ready within 30 s.", log="", ending=Ending.RUNNING)

    duel = play([Plan(hang)], [Plan(hang)], matches=40, trial_until=FAR)
    (match,) = duel.record.matches
    assert (match.error_code, match.error) == (
        "player_start_timed_out",
        "The player could not be started. It was not ready within 30 s.",
    )
    assert len(starts) == 1


def test_when_its_time_is_over_it_is_content_with_whole_pairs_without_a_fault() -> None:
    ahead = [0.0]

    def watch(done: int) -> None:
        ahead[0] = 1000.0 if done >= 3 else 0.0

    limits = replace(PATIENT, move_seconds=1e6)
    duel = play(
        mixed, mixed, matches=40, parallel=1, limits=limits, on_progress=watch,
        clock=lambda: time.monotonic() + ahead[0], trial_until=time.monotonic() + 500,
    )  # fmt: skip
    assert faults(duel) == {}
    assert len(duel.record.matches) == 2
    assert "enough" in duel.log


def test_without_one_pair_its_time_is_the_players_fault_when_the_player_has_used_it() -> None:
    duel = play(late, late, matches=40, parallel=40, limits=replace(FAST, bank_seconds=1e6), trial_until=0.0)
    assert {code for _, code in faults(duel).values()} == {"duel_time_exhausted"}
    assert len(duel.record.matches) == 1


def test_a_fault_that_is_still_looked_for_when_the_time_is_over_counts() -> None:
    ahead = [0.0]

    def dies(asked: Asked) -> bytes | None:
        return mixed(asked) if asked.match < 3 else None

    def takes_all_time(asked: Asked) -> Stall:
        ahead[0] = 1000.0
        return Stall()

    duel = play(
        [dies, takes_all_time], mixed, matches=40, parallel=40, limits=replace(FAST, bank_seconds=1e6),
        clock=lambda: time.monotonic() + ahead[0], trial_until=time.monotonic() + 500,
    )  # fmt: skip
    assert faults(duel) == {3: (0, "player_died")}
