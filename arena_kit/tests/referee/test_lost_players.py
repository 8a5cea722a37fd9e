"""Players whose container is lost: who forfeits, which questions are repeated, and when restarts end."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable

import pytest

from arena_kit.environment.records import Fault, Outcome
from arena_kit.environment.registry import get_spec
from arena_kit.environment.spec import Limits
from arena_kit.referee.play import run_duel
from arena_kit.referee.wire import MAX_ANSWER_BYTES, Kind
from arena_kit.sandbox.ending import Ending
from arena_kit.tests.duels import (
    FAST,
    PATIENT,
    Plan,
    at,
    faults,
    first_valid,
    last_valid,
    mixed,
    outline,
    play,
)
from arena_kit.tests.fake import Answerer, Asked, FakeContainer, Said, Stall, action, frame, ready

# --- Faults that lose the container -----------------------------------------------------------------------

LOSSES: dict[str, tuple[Callable[[Asked], Said], str]] = {
    "hangs up": (lambda _: None, "player_died"),
    "says nothing": (lambda _: Stall(), "player_timed_out"),
    "answers half": (lambda a: Stall(a.good_answer()[:-1]), "player_timed_out"),
    "announces too much": (lambda _: (MAX_ANSWER_BYTES + 1).to_bytes(4, "little") + b"\x82", "oversized_answer"),
    "sends an unknown kind": (lambda _: frame(77, b"12345678"), "malformed_answer"),
    "sends an empty frame": (lambda _: b"\0\0\0\0\0", "malformed_answer"),
    "names another match": (lambda a: action(a.match + 1000, a.sequence, 0), "unexpected_answer"),
    "names another sequence": (lambda a: action(a.match, a.sequence + 1, 0), "unexpected_answer"),
    "says DONE to a move": (lambda a: frame(Kind.DONE, a.good_answer()[5:13]), "unexpected_answer"),
    "says READY again": (lambda _: ready(), "unexpected_answer"),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loss", "parallel"),
    [
        pytest.param(loss, parallel, marks=[pytest.mark.nightly] if (loss, parallel) == ("answers half", 4) else [])
        for loss in LOSSES
        for parallel in (1, 4)
    ],
)
def test_a_loss_forfeits_the_match_where_it_happened_and_a_fresh_container_goes_on(loss: str, parallel: int) -> None:
    answer, code = LOSSES[loss]
    containers: list[FakeContainer] = []
    duel = play(at(3, 2, answer), parallel=parallel, limits=FAST, containers=containers)
    assert faults(duel) == {3: (0, code)}
    assert duel.record.matches[2].outcome is Outcome.PLAYER_2
    assert [m.outcome for m in duel.record.matches if m.number != 3] == [
        Outcome.PLAYER_1,
        Outcome.PLAYER_2,
        Outcome.PLAYER_2,
    ]
    assert duel.record.matches[2].error


@pytest.mark.parametrize(
    "loss",
    [
        "hangs up",
        pytest.param("says nothing", marks=pytest.mark.nightly),
        "sends an unknown kind",
        "names another match",
    ],
)
@pytest.mark.slow
def test_results_with_losses_do_not_depend_on_how_many_matches_run_at_once(loss: str) -> None:
    answer, _ = LOSSES[loss]

    def answerer(asked: Asked) -> Said:
        if asked.match in (5, 11) and asked.sequence == 2 and asked.kind is not Kind.END:
            return answer(asked)
        return mixed(asked)

    duels = [play(answerer, last_valid, matches=16, parallel=parallel, limits=FAST) for parallel in (1, 7, 16)]
    assert [outline(duel.record) for duel in duels[1:]] == [outline(duels[0].record)] * 2
    assert set(faults(duels[0])) == {5, 11}


def test_answering_twice_costs_a_match() -> None:
    duel = play(at(1, 1, lambda a: a.good_answer() * 2), matches=2, parallel=1)
    assert set(faults(duel).values()) <= {(0, "unexpected_answer"), (0, "too_many_restarts")}
    assert faults(duel)[1][0] == 0


def test_bytes_that_were_not_asked_for_are_a_fault() -> None:
    early = Plan(lambda: FakeContainer(first_valid, hello=ready(4) + action(1, 0, 0)))
    duel = play([early], matches=4)
    assert duel.record.summary.errors == (4, 0)


def test_a_fresh_container_is_asked_everything_again_and_its_known_answers_are_thrown_away() -> None:
    containers: list[FakeContainer] = []
    # The second container plays differently, but only its answer to the open question counts.
    duel = play([at(1, 3, lambda _: None), last_valid], first_valid, matches=2, parallel=2, containers=containers)
    fresh = containers[2]
    plain = play(first_valid, matches=2).record
    assert [asked.sequence for asked in fresh.asked if asked.match == 2][:2] == [0, 1]
    resumed = duel.record.matches[1]
    moves_before_the_loss = 2
    assert resumed.actions[:moves_before_the_loss] == plain.matches[1].actions[:moves_before_the_loss]


def test_a_loss_that_does_not_happen_again_still_costs_one_match() -> None:
    both_open: Answerer = lambda a: None if a.sequence == 1 else a.good_answer()  # noqa: E731
    duel = play([both_open, first_valid], matches=4, parallel=4)
    assert list(faults(duel).values()) == [(0, "player_died")]


def test_dying_too_often_forfeits_the_rest() -> None:
    containers: list[FakeContainer] = []
    duel = play(lambda _: None, matches=10, parallel=1, containers=containers)
    codes = [m.error_code for m in duel.record.matches]
    assert codes == ["player_died"] * 4 + ["too_many_restarts"] * 6
    assert all(m.outcome is Outcome.PLAYER_2 for m in duel.record.matches)
    assert len(containers) == 1 + 4


def test_dying_in_end_is_not_punished_but_counts_as_a_restart() -> None:
    duel = play(
        lambda a: None if a.kind is Kind.END else a.good_answer(),
        matches=6,
        parallel=1,
        limits=dataclasses.replace(PATIENT, max_restarts=2),
    )
    assert set(faults(duel).values()) == {(0, "too_many_restarts")}
    assert [m.fault for m in duel.record.matches[:3]] == [Fault.NONE] * 3


def test_memory_is_named_when_it_was_the_cause() -> None:
    out = Plan(lambda: FakeContainer(at(1, 0, lambda _: None), ending=Ending.OUT_OF_MEMORY))
    assert faults(play([out, first_valid], matches=2, parallel=1)) == {1: (0, "player_out_of_memory")}


@pytest.mark.slow
def test_players_that_do_not_read_never_block_the_referee() -> None:
    quarto = get_spec("quarto-v1")
    stop = Limits(move_seconds=3.0, bank_seconds=0.0, duel_seconds=300, max_restarts=0)
    # These questions fill the socket's buffer many times over.
    duel = run_duel(
        quarto,
        lambda player: DeafContainer() if player == 0 else FakeContainer(first_valid),
        names=("deaf", "two"),
        seed=1,
        match_count=1000,
        parallel_matches=1000,
        limits=stop,
        clock=time.monotonic,
    )
    assert duel.record.summary.errors == (1000, 0)


class DeafContainer(FakeContainer):
    """A player that reads HELLO and then nothing."""

    def __init__(self) -> None:
        super().__init__(first_valid)

    def _run(self) -> None:
        self._theirs.recv(65536)
        self._theirs.sendall(ready(1000))
