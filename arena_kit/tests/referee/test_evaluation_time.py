"""The clock of an evaluation: which time the player is charged, and what happens when it is used up."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from arena_kit.environment.episodes import EpisodeRecord
from arena_kit.environment.spec import Limits
from arena_kit.errors import PlatformFault
from arena_kit.referee.faults import PlayerFault
from arena_kit.referee.wire import Kind
from arena_kit.sandbox.base import Container
from arena_kit.tests.corridors import FAST, SEEDS, Clock, at, evaluate, failure_of, rightwards, slow
from arena_kit.tests.fake import Asked, FakeContainer, Said, Stall, frame

BANKED = Limits(move_seconds=1.0, bank_seconds=2.0, start_seconds=5, duel_seconds=10_000)


def test_moves_within_their_free_time_cost_nothing() -> None:
    clock = Clock()
    played = evaluate(slow(clock, lambda _: 0.875), limits=BANKED, clock=clock, seeds=[0])

    assert played.failure is None
    (episode,) = played.record.episodes
    assert (episode.length, episode.thinking_seconds, episode.slowest_move_seconds) == (9, 9 * 0.875, 0.875)


def test_every_episode_has_a_bank_of_its_own() -> None:
    clock = Clock()
    played = evaluate(slow(clock, lambda a: 2.9375 if a.sequence == 1 else 0.5), limits=BANKED, clock=clock, parallel=1)

    assert played.failure is None
    assert len(played.record.episodes) == len(SEEDS)


def test_a_bank_that_is_used_up_fails_the_evaluation() -> None:
    clock = Clock()
    played = evaluate(slow(clock, lambda a: 1.75 if a.match == 2 else 0.5), limits=BANKED, clock=clock, parallel=1)

    failure = failure_of(played)
    assert (failure.fault, failure.episode) == (PlayerFault.TIMED_OUT, 2)
    assert failure.sentence == (
        "Episode 2: The player did not answer in time. A move may take 1 s, and all moves together 2 s beyond that. "
        "The last one took 1.75 s."
    )


@pytest.mark.slow
@pytest.mark.parametrize("parallel", [1, 4])
def test_no_answer_fails_the_evaluation(parallel: int) -> None:
    failure = failure_of(evaluate(at(1, 2, lambda _: Stall()), limits=FAST, parallel=parallel))

    assert failure.fault is PlayerFault.TIMED_OUT
    # With several open episodes, the one at fault is unknown.
    assert failure.episode == (1 if parallel == 1 else None)


def test_an_answer_that_trickles_is_no_answer() -> None:
    clock = Clock()
    container: list[FakeContainer] = []

    def trickle(asked: Asked) -> Said:
        theirs = container[0]._theirs
        for byte in frame(Kind.ERROR, bytes(60_000)):
            clock.pass_(0.25)
            theirs.sendall(bytes([byte]))
        return b""

    def launch() -> Container:
        container.append(FakeContainer(at(1, 1, trickle)))
        return container[0]

    failure = failure_of(evaluate(rightwards, launch=launch, limits=BANKED, clock=clock, parallel=1))

    assert failure.fault is PlayerFault.TIMED_OUT


def test_what_the_referee_does_meanwhile_is_not_the_players_time() -> None:
    clock, told = Clock(), threading.Event()

    def answerer(asked: Asked) -> bytes:
        # The last answer of the second episode is open while the end of the first one is reported.
        if (asked.match, asked.sequence) == (2, 2):
            assert told.wait(60)
        return rightwards(asked)

    def on_episode(_: EpisodeRecord) -> None:
        clock.pass_(60.0)
        told.set()

    played = evaluate(answerer, seeds=[6, 6], limits=BANKED, clock=clock, on_episode=on_episode)

    assert played.failure is None
    assert [episode.slowest_move_seconds for episode in played.record.episodes] == [0.0, 0.0]


def test_an_evaluation_that_the_player_makes_too_long_is_its_fault() -> None:
    clock = Clock()
    limits = replace(BANKED, bank_seconds=1000.0, duel_seconds=10.0)

    failure = failure_of(evaluate(slow(clock, lambda _: 0.75), limits=limits, clock=clock))

    assert (failure.fault, failure.episode) == (PlayerFault.EVALUATION_TIME, None)
    assert failure.sentence == "The time of the evaluation was used up, most of it by this player."


def test_an_evaluation_that_others_make_too_long_is_a_fault_of_the_platform() -> None:
    clock = Clock()
    limits = replace(BANKED, duel_seconds=10.0)

    with pytest.raises(PlatformFault, match="took too long for a reason other than its player") as caught:
        evaluate(rightwards, limits=limits, clock=clock, parallel=2, on_episode=lambda _: clock.pass_(6.0))

    assert caught.value.code == "too_slow"
