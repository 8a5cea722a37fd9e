"""The clock of a duel, and how players start."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any

import pytest

from arena_kit.environment.records import DuelRecord, MatchRecord, Outcome
from arena_kit.environment.registry import get_spec
from arena_kit.environment.spec import Limits
from arena_kit.errors import PlatformFault
from arena_kit.referee.play import PlayedDuel, run_duel
from arena_kit.referee.wire import Kind
from arena_kit.sandbox.base import Container, PlayerDidNotStart, SandboxError
from arena_kit.sandbox.ending import Ending
from arena_kit.tests.duels import (
    CONNECT_FOUR,
    FAST,
    Plan,
    at,
    faults,
    first_valid,
    mixed,
    play,
)
from arena_kit.tests.fake import Asked, FakeContainer, action, ready

# --- Time -------------------------------------------------------------------------------------------------


class TestTimeBank:
    """A clock that the player moves, so that tests do not wait."""

    limits = Limits(move_seconds=1.0, bank_seconds=2.0, duel_seconds=10_000)

    def duel(self, seconds: Sequence[float], matches: int = 1) -> PlayedDuel:
        now = [100.0]
        left = iter(seconds)

        def slow(asked: Asked) -> bytes:
            if asked.kind is not Kind.END:
                now[0] += next(left, 0.0)
            return asked.good_answer()

        def launch(player: int) -> Container:
            return FakeContainer(slow if player == 0 else first_valid)

        return run_duel(
            CONNECT_FOUR,
            launch,
            names=("slow", "two"),
            seed=1,
            match_count=matches,
            parallel_matches=1,
            limits=self.limits,
            clock=lambda: now[0],
        )

    def test_moves_within_their_time_cost_nothing(self) -> None:
        duel = self.duel([0.9] * 100)
        assert faults(duel) == {}
        assert duel.record.matches[0].slowest_move_seconds[0] == pytest.approx(0.9)
        assert duel.record.matches[0].thinking_seconds[1] == 0.0

    def test_the_time_of_every_move_is_recorded_in_milliseconds(self) -> None:
        match = self.duel([0.9, 0.0, 0.0124, *[0.3] * 100]).record.matches[0]
        assert match.move_ms is not None
        assert match.move_ms[0][:4] == (900, 0, 12, 300)
        # The other player made no move of half a millisecond.
        assert (len(match.move_ms[0]), match.move_ms[1]) == (match.move_counts[0], ())
        assert sum(match.move_ms[0]) == pytest.approx(1000 * match.thinking_seconds[0], abs=len(match.move_ms[0]))

    def test_of_answers_that_come_together_the_last_one_took_the_time(self) -> None:
        now = [100.0]
        held: list[bytes] = []

        def second_match_is_slow(asked: Asked) -> bytes:
            if asked.kind is Kind.END or asked.sequence:
                return asked.good_answer()
            held.append(asked.good_answer())
            if asked.match == 1:
                return b""
            now[0] += 0.7
            return b"".join(held)

        def launch(player: int) -> Container:
            return FakeContainer(second_match_is_slow if player == 0 else first_valid)

        # In Pong both move at once, so the first questions of both matches come together.
        duel = run_duel(
            get_spec("pong-v1"), launch, names=("slow", "two"), seed=1, match_count=2, parallel_matches=2,
            limits=self.limits, clock=lambda: now[0],
        )  # fmt: skip
        first, second = duel.record.matches
        assert first.move_ms is not None
        assert second.move_ms is not None
        assert (first.move_ms[0], second.move_ms[0][:2]) == ((), (700, 0))

    def test_what_exceeds_the_time_of_a_move_comes_from_the_bank(self) -> None:
        assert faults(self.duel([1.9, 1.9])) == {}

    def test_an_empty_bank_forfeits(self) -> None:
        assert faults(self.duel([1.9, 1.9, 1.9])) == {1: (0, "player_timed_out")}

    def test_every_match_has_its_own_bank(self) -> None:
        moves = len(play(first_valid, matches=1).record.matches[0].actions)
        first_match = [2.5, *[0.0] * (moves // 2)]
        assert faults(self.duel([*first_match, 2.5], matches=2)) == {}


def test_when_the_time_of_the_duel_is_over_the_slower_player_forfeits_the_rest() -> None:
    limits = dataclasses.replace(FAST, move_seconds=30.0, duel_seconds=0.3)
    duel = play([Plan(DeafFirst)], matches=3, parallel=2, limits=limits)
    assert faults(duel) == dict.fromkeys((1, 2, 3), (0, "duel_time_exhausted"))
    assert duel.record.summary.points == (0, 6)


class DeafFirst(FakeContainer):
    """A player that reads everything and never answers."""

    def __init__(self) -> None:
        super().__init__(lambda _: b"")


def test_time_that_no_player_used_is_the_platforms_fault() -> None:
    now = [0.0]

    def watch(matches_done: int) -> None:
        now[0] += 400.0

    with pytest.raises(PlatformFault) as fault:
        run_duel(
            CONNECT_FOUR,
            lambda _: FakeContainer(first_valid),
            names=("one", "two"),
            seed=1,
            match_count=50,
            parallel_matches=1,
            limits=Limits(move_seconds=1e9, duel_seconds=1000),
            clock=lambda: now[0],
            on_progress=watch,
        )
    assert fault.value.code == "duel_too_slow"


def test_waiting_for_the_observer_is_not_charged() -> None:
    now = [0.0]

    def watch(matches_done: int) -> None:
        now[0] += 100.0

    duel = run_duel(
        CONNECT_FOUR,
        lambda _: FakeContainer(first_valid),
        names=("one", "two"),
        seed=1,
        match_count=6,
        parallel_matches=3,
        limits=Limits(move_seconds=1.0, bank_seconds=0.0, duel_seconds=1e9),
        clock=lambda: now[0],
        on_progress=watch,
    )
    assert faults(duel) == {}


# --- Starting ---------------------------------------------------------------------------------------------


def refuses() -> Container:
    raise PlayerDidNotStart("It ended.", log="ModuleNotFoundError: torch\n", ending=Ending.EXITED)


@pytest.mark.parametrize("hello", [b"", b"\x05\0\0\0\x81null", ready(0), ready(65), ready(True), ready("4"),
                                   action(1, 0, 0), b"\0\0\0\0\0"])  # fmt: skip
@pytest.mark.slow
def test_a_player_with_a_bad_greeting_forfeits_all(hello: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena_kit.referee.link.HANDSHAKE_SECONDS", 1.0)
    limits = dataclasses.replace(FAST, move_seconds=0.05)
    duel = play([Plan(lambda: FakeContainer(first_valid, hello=hello))], matches=3, limits=limits)
    assert duel.record.summary.errors == (3, 0)
    assert duel.record.summary.points == (0, 6)


def test_a_player_that_does_not_start_forfeits_all_and_its_output_stays_its_own() -> None:
    duel = play(first_valid, [Plan(refuses)], matches=3)
    assert faults(duel) == dict.fromkeys((1, 2, 3), (1, "player_failed_to_start"))
    assert "ModuleNotFoundError: torch" in duel.player_logs[1]
    assert "torch" not in duel.log + duel.record.matches[0].error


def test_when_neither_starts_each_forfeits_one_match_of_a_pair() -> None:
    duel = play([Plan(refuses)], [Plan(refuses)], matches=4)
    assert duel.record.summary.errors == (2, 2)
    assert duel.record.summary.outcome is Outcome.DRAW


def test_a_platform_that_cannot_launch_is_no_player_s_fault_and_leaves_nothing_open() -> None:
    containers: list[FakeContainer] = []

    def fails() -> Container:
        raise SandboxError("The engine is down.", code="engine_unavailable")

    with pytest.raises(SandboxError):
        play(first_valid, [Plan(fails)], containers=containers)
    assert [container.closed for container in containers] == [1]


class BreaksInTheThirdStep:
    """An environment with a bug."""

    def __new__(cls) -> Any:
        environment = CONNECT_FOUR.make()
        step, count = environment.step, itertools.count(1)

        def broken(actions: Any) -> tuple[float, ...]:
            if next(count) == 3:
                raise ZeroDivisionError("a bug")
            return step(actions)

        environment.step = broken  # type: ignore[method-assign]
        return environment


def test_a_bug_of_the_environment_is_the_platforms_fault() -> None:
    spec = dataclasses.replace(CONNECT_FOUR, entry_point=f"{__name__}:BreaksInTheThirdStep")
    with pytest.raises(PlatformFault, match="ZeroDivisionError: a bug") as fault:
        play(first_valid, spec=spec)
    assert fault.value.code == "environment_failed"


def test_logs_of_all_containers_of_a_player_are_kept() -> None:
    dying = Plan(lambda: FakeContainer(at(1, 0, lambda _: None), log="first life"))
    living = Plan(lambda: FakeContainer(first_valid, log="second life"))
    duel = play([dying, living], matches=2, parallel=1)
    assert duel.player_logs[0] == "first life\n[the player was started again]\nsecond life"


def test_records_are_ordered_by_number() -> None:
    record: DuelRecord = play(mixed, matches=30, parallel=7).record
    matches: tuple[MatchRecord, ...] = record.matches
    assert [match.number for match in matches] == list(range(1, 31))
