"""Players are not charged for time in which the referee itself was held up."""

from __future__ import annotations

import time

import pytest

from arena_kit.environment.spec import Limits
from arena_kit.referee import stalls
from arena_kit.referee.play import PlayedDuel, run_duel
from arena_kit.referee.stalls import STALL_SECONDS, Stalls
from arena_kit.tests.duels import CONNECT_FOUR, faults, first_valid
from arena_kit.tests.fake import Asked, FakeContainer

LIMITS = Limits(move_seconds=1.0, bank_seconds=2.0, duel_seconds=10_000)
STOP_SECONDS = 30.0


def played(monkeypatch: pytest.MonkeyPatch, *, the_kernel_knows: bool) -> PlayedDuel:
    """Play a duel in which 30 s pass at the fifth question, by the players' clock and optionally by the kernel's."""
    now = [time.monotonic()]
    asked = [0]

    def answer(question: Asked) -> bytes:
        asked[0] += 1
        if asked[0] == 5:
            now[0] += STOP_SECONDS
        return question.good_answer()

    with monkeypatch.context() as patch:
        if the_kernel_knows:
            patch.setattr(stalls.time, "monotonic", lambda: now[0])  # type: ignore[attr-defined]  # the module's own
        return run_duel(
            CONNECT_FOUR,
            lambda player: FakeContainer(answer if player == 0 else first_valid),
            names=("one", "two"),
            seed=1,
            match_count=1,
            parallel_matches=1,
            limits=LIMITS,
            clock=lambda: now[0],
        )


def test_a_referee_that_was_stopped_charges_no_player_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    duel = played(monkeypatch, the_kernel_knows=True)
    assert faults(duel) == {}
    assert duel.record.matches[0].thinking_seconds[0] < STOP_SECONDS


def test_a_player_that_took_as_long_itself_forfeits(monkeypatch: pytest.MonkeyPatch) -> None:
    assert faults(played(monkeypatch, the_kernel_knows=False)) == {1: (0, "player_timed_out")}


def test_waiting_as_long_as_was_asked_for_is_no_stall(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [50.0]
    monkeypatch.setattr(stalls.time, "monotonic", lambda: now[0])  # type: ignore[attr-defined]  # the module's own
    watch = Stalls()
    now[0] += 1.0 + STALL_SECONDS
    assert not watch.was_stalled(1.0)
    now[0] += 1.1 + STALL_SECONDS
    assert watch.was_stalled(1.0)
    # Only the time since the last call counts.
    assert not watch.was_stalled(1.0)
