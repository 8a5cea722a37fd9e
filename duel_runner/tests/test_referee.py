"""Duels against players that speak the wire themselves: what counts, who forfeits, what is sent again."""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from duel_runner.match import pair_seed
from duel_runner.protocol import MAX_ANSWER_BYTES, Kind
from duel_runner.referee import PlatformFault, PlayedDuel, run_duel, run_match
from duel_runner.sandbox.base import Container, Ending, PlayerDidNotStart, SandboxError
from duel_runner.tests.fake import Answerer, Asked, FakeContainer, Said, Stall, action, frame, ready, text_answer
from environments.records import DuelRecord, Fault, MatchRecord, Outcome
from environments.registry import get_spec
from environments.spec import EnvironmentSpec, Limits

CONNECT_FOUR = get_spec("connect-four")
FAST = Limits(move_seconds=0.15, bank_seconds=0.1, start_seconds=5, duel_seconds=60, max_restarts=3)
PATIENT = Limits(move_seconds=5, bank_seconds=5, start_seconds=5, duel_seconds=60, max_restarts=3)
Launchable = Callable[[], Container]


def first_valid(asked: Asked) -> bytes:
    return asked.good_answer()


def last_valid(asked: Asked) -> bytes:
    return asked.good_answer() if asked.kind is Kind.END else action(asked.match, asked.sequence, asked.valid[-1])


def mixed(asked: Asked) -> bytes:
    """Deterministic, and different in every match and move."""
    if asked.kind is Kind.END:
        return asked.good_answer()
    choice = (7 * asked.match + 3 * asked.sequence) % len(asked.valid)
    return action(asked.match, asked.sequence, asked.valid[choice])


def play(
    player_1: Answerer | Sequence[Answerer | Launchable],
    player_2: Answerer | Sequence[Answerer | Launchable] = first_valid,
    *,
    spec: EnvironmentSpec = CONNECT_FOUR,
    matches: int = 4,
    parallel: int = 4,
    limits: Limits = PATIENT,
    seed: int = 7,
    containers: list[FakeContainer] | None = None,
    **options: Any,
) -> PlayedDuel:
    """Play a duel; a list gives what each container in turn does, and its last one is used from then on."""
    plans = [list(plan) if isinstance(plan, Sequence) else [plan] for plan in (player_1, player_2)]
    made: list[FakeContainer] = [] if containers is None else containers

    def launch(player: int) -> Container:
        plan = plans[player].pop(0) if len(plans[player]) > 1 else plans[player][0]
        if isinstance(plan, Plan):
            return plan.launch()
        container = FakeContainer(plan)  # type: ignore[arg-type]
        made.append(container)
        return container

    duel = run_duel(
        spec,
        launch,
        names=("one", "two"),
        seed=seed,
        match_count=matches,
        parallel_matches=parallel,
        limits=limits,
        clock=time.monotonic,
        **options,
    )
    assert all(container.closed for container in made)
    return duel


@dataclasses.dataclass(frozen=True)
class Plan:
    """A container of another sort."""

    launch: Launchable

    def __call__(self) -> Container:
        return self.launch()


def outline(record: DuelRecord) -> list[tuple[Any, ...]]:
    """What must not depend on time: everything of a record but its clocks."""
    return [
        (m.number, m.seed, m.seats, m.actions, m.outcome, m.scores, m.fault, m.faulty_player, m.error_code, m.error)
        for m in record.matches
    ]


def faults(duel: PlayedDuel) -> dict[int, tuple[int | None, str]]:
    return {m.number: (m.faulty_player, m.error_code) for m in duel.record.matches if m.fault is not Fault.NONE}


# --- Without faults ---------------------------------------------------------------------------------------


def test_pairs_share_a_seed_with_seats_swapped() -> None:
    record = play(first_valid, matches=5).record
    assert [match.seats for match in record.matches] == [(0, 1), (1, 0), (0, 1), (1, 0), (0, 1)]
    assert [match.seed for match in record.matches] == [pair_seed(7, pair) for pair in (0, 0, 1, 1, 2)]
    assert len({match.seed for match in record.matches}) == 3


def test_pair_seeds_are_the_documented_hash() -> None:
    assert [pair_seed(7, 0), pair_seed(7, 1), pair_seed(8, 0)] == [1145793638, 2905889783, 2014869033]


def test_scores_and_outcomes_belong_to_players_not_to_seats() -> None:
    # Both fill columns from the left: the seat that moves first has four in a column first.
    record = play(first_valid, matches=2).record
    assert [(m.outcome, m.scores) for m in record.matches] == [
        (Outcome.PLAYER_1, (1.0, -1.0)),
        (Outcome.PLAYER_2, (-1.0, 1.0)),
    ]
    assert record.summary.points == (2, 2)
    assert record.summary.outcome is Outcome.DRAW


def test_previous_reward_sums_up_since_the_seats_last_action() -> None:
    containers: list[FakeContainer] = []
    play(first_valid, matches=1, containers=containers)
    rewards = [[asked.reward for asked in container.asked] for container in containers]
    assert rewards[0][-1] == 1.0
    assert rewards[1][-1] == -1.0
    assert set(rewards[0][:-1]) == set(rewards[1][:-1]) == {0.0}


def test_both_players_are_told_the_end_of_every_match() -> None:
    containers: list[FakeContainer] = []
    play(first_valid, matches=3, containers=containers)
    for container in containers:
        assert sorted(asked.match for asked in container.asked if asked.kind is Kind.END) == [1, 2, 3]


@pytest.mark.parametrize("slug", ["tic-tac-toe", "connect-four", "quarto"])
def test_results_do_not_depend_on_how_many_matches_run_at_once(slug: str) -> None:
    duels = [
        play(mixed, last_valid, spec=get_spec(slug), matches=40, parallel=parallel) for parallel in (1, 7, 32, 128)
    ]
    assert [outline(duel.record) for duel in duels[1:]] == [outline(duels[0].record)] * 3
    assert len({match.actions for match in duels[0].record.matches}) > 5


def test_no_more_matches_run_at_once_than_the_more_modest_player_takes() -> None:
    containers: list[FakeContainer] = []
    modest = Plan(lambda: FakeContainer(first_valid, hello=ready(2)))
    play(first_valid, [modest], matches=9, parallel=8, containers=containers)
    running: set[int] = set()
    most = 0
    for asked in containers[0].asked:
        running.discard(asked.match) if asked.kind is Kind.END else running.add(asked.match)
        most = max(most, len(running))
    assert most == 2


def test_progress_counts_up_to_all_matches() -> None:
    seen: list[int] = []
    play(first_valid, matches=6, parallel=2, on_progress=seen.append)
    assert seen == sorted(set(seen))
    assert seen[-1] == 6


def test_a_match_in_one_process_gives_the_same_record_as_over_the_wire() -> None:
    class FirstValid:
        def start(self, state: Any, valid_actions: Any) -> int:
            return int(valid_actions[0])

        def step(self, state: Any, valid_actions: Any, prev_reward: float) -> int:
            return int(valid_actions[0])

        def end(self, state: Any, prev_reward: float) -> None:
            self.last = prev_reward

    players = (FirstValid(), FirstValid())
    bare = run_match(CONNECT_FOUR, players, pair_seed(7, 0))
    wired = play(first_valid, matches=1).record.matches[0]
    assert (bare.actions, bare.outcome, bare.scores) == (wired.actions, wired.outcome, wired.scores)
    assert (players[0].last, players[1].last) == (1.0, -1.0)


# --- Faults that cost a match and nothing else ------------------------------------------------------------


def at(match: int, sequence: int, answer: Callable[[Asked], Said]) -> Answerer:
    """The first valid action everywhere, but `answer` at one question."""
    return lambda asked: (
        answer(asked)
        if (asked.match, asked.sequence) == (match, sequence) and asked.kind is not Kind.END
        else asked.good_answer()
    )


@pytest.mark.parametrize("value", [-1, 7, 2**63 - 1, -(2**63)])
def test_an_action_that_is_not_valid_forfeits_its_match_only(value: int) -> None:
    containers: list[FakeContainer] = []
    duel = play(at(2, 1, lambda _: action(2, 1, value)), containers=containers)
    match = duel.record.matches[1]
    assert faults(duel) == {2: (0, "illegal_action")}
    assert (match.outcome, match.scores) == (Outcome.PLAYER_2, (-1.0, 1.0))
    assert str(value) in match.error
    assert len(containers) == 2


def test_a_full_column_is_refused_by_the_game_not_by_the_player() -> None:
    always_0: Answerer = lambda a: a.good_answer() if a.kind is Kind.END else action(a.match, a.sequence, 0)  # noqa: E731
    other: Answerer = lambda a: a.good_answer() if a.kind is Kind.END else action(a.match, a.sequence, 0)  # noqa: E731
    duel = play(always_0, other, matches=2)
    # Alternating discs fill column 0; the seventh disc, seat 0's fourth, has no room.
    assert [m.error_code for m in duel.record.matches] == ["illegal_action"] * 2
    assert [m.faulty_player for m in duel.record.matches] == [0, 1]


def test_a_reported_exception_forfeits_with_its_text_and_the_player_goes_on() -> None:
    raised = at(1, 1, lambda _: text_answer(Kind.ERROR, 1, 1, "ValueError: no\x00 idea\nTraceback"))
    duel = play(raised)
    assert faults(duel) == {1: (0, "player_raised")}
    assert duel.record.matches[0].error == "The player raised an exception: ValueError: no idea"
    assert "Traceback" in duel.player_logs[0]


def test_an_answer_that_is_no_integer_forfeits_as_illegal() -> None:
    duel = play(at(1, 0, lambda _: text_answer(Kind.INVALID, 1, 0, "not float")))
    assert faults(duel) == {1: (0, "illegal_action")}
    assert duel.record.matches[0].error.endswith(": not float")


def test_a_failing_end_is_logged_and_never_punished() -> None:
    def answerer(asked: Asked) -> bytes:
        if asked.kind is Kind.END:
            return text_answer(Kind.ERROR, asked.match, asked.sequence, "OSError: cannot save")
        return asked.good_answer()

    duel = play(answerer)
    assert faults(duel) == {}
    assert "cannot save" in duel.log


def test_a_forfeit_costs_as_much_as_the_environment_says() -> None:
    quarto = get_spec("quarto")
    duel = play(at(1, 0, lambda _: action(1, 0, -5)), spec=quarto, matches=1)
    assert duel.record.matches[0].scores == (-100.0, 100.0)


# --- Faults that cost the container -----------------------------------------------------------------------

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


@pytest.mark.parametrize("parallel", [1, 4])
@pytest.mark.parametrize("loss", LOSSES)
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


@pytest.mark.parametrize("loss", ["hangs up", "says nothing", "sends an unknown kind", "names another match"])
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


def test_bytes_nobody_asked_for_are_a_fault() -> None:
    early = Plan(lambda: FakeContainer(first_valid, hello=ready(4) + action(1, 0, 0)))
    duel = play([early], matches=4)
    assert duel.record.summary.errors == (4, 0)


def test_a_fresh_container_is_asked_everything_again_and_its_known_answers_are_thrown_away() -> None:
    containers: list[FakeContainer] = []
    # The second container would play otherwise: only the open question counts.
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


def test_players_that_do_not_read_never_block_the_referee() -> None:
    quarto = get_spec("quarto")
    stop = Limits(move_seconds=0.1, bank_seconds=0.0, duel_seconds=30, max_restarts=0)
    # Enough requests to fill the socket's buffer many times over.
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
    """Reads the greeting, then nothing."""

    def __init__(self) -> None:
        super().__init__(first_valid)

    def _run(self) -> None:
        self._theirs.recv(65536)
        self._theirs.sendall(ready(1000))


# --- Time -------------------------------------------------------------------------------------------------


class TestTimeBank:
    """A clock that the player moves: no test waits."""

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
    """Accepts everything and never answers."""

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


def test_waiting_for_whoever_watches_is_not_charged() -> None:
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
def test_a_player_with_a_bad_greeting_forfeits_all(hello: bytes) -> None:
    limits = dataclasses.replace(FAST, move_seconds=0.05)
    duel = play([Plan(lambda: FakeContainer(first_valid, hello=hello))], matches=3, limits=limits)
    assert duel.record.summary.errors == (3, 0)
    assert duel.record.summary.points == (0, 6)


def test_a_player_that_does_not_start_forfeits_all_with_the_last_line_of_its_log() -> None:
    duel = play(first_valid, [Plan(refuses)], matches=3)
    assert faults(duel) == dict.fromkeys((1, 2, 3), (1, "player_failed_to_start"))
    assert "ModuleNotFoundError: torch" in duel.player_logs[1]
    assert "ModuleNotFoundError: torch" in duel.log


def test_when_neither_starts_each_forfeits_one_match_of_a_pair() -> None:
    duel = play([Plan(refuses)], [Plan(refuses)], matches=4)
    assert duel.record.summary.errors == (2, 2)
    assert duel.record.summary.outcome is Outcome.DRAW


def test_a_platform_that_cannot_launch_is_nobodys_fault_and_leaves_nothing_open() -> None:
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
