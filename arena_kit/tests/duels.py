"""Duels between players that speak the wire themselves, for tests."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from typing import Any

from arena_kit.environment.records import DuelRecord, Fault
from arena_kit.environment.registry import get_spec
from arena_kit.environment.spec import EnvironmentSpec, Limits
from arena_kit.referee.play import PlayedDuel, run_duel
from arena_kit.referee.wire import Kind
from arena_kit.sandbox.base import Container
from arena_kit.tests.fake import Answerer, Asked, FakeContainer, Said, action

CONNECT_FOUR = get_spec("connect-four-v1")
FAST = Limits(move_seconds=1.0, bank_seconds=0.5, start_seconds=30, duel_seconds=120, max_restarts=3)
"""Limits for players that never answer; a stall of this machine of more than a second is not charged to them."""
PATIENT = Limits(move_seconds=30, bank_seconds=30, start_seconds=30, duel_seconds=300, max_restarts=3)
Launchable = Callable[[], Container]


def first_valid(asked: Asked) -> bytes:
    return asked.good_answer()


def last_valid(asked: Asked) -> bytes:
    return asked.good_answer() if asked.kind is Kind.END else action(asked.match, asked.sequence, asked.valid[-1])


def mixed(asked: Asked) -> bytes:
    """Choose actions that are deterministic, but differ between matches and moves."""
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
    """Play a duel. A list has a player for each container in turn; the last one is used from then on."""
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
        **{"clock": time.monotonic, **options},
    )
    assert all(container.closed for container in made)
    return duel


@dataclasses.dataclass(frozen=True)
class Plan:
    """Return a launcher of another kind of container."""

    launch: Launchable

    def __call__(self) -> Container:
        return self.launch()


def outline(record: DuelRecord) -> list[tuple[Any, ...]]:
    """Return a record without its times, which is what must not depend on time."""
    return [
        (m.number, m.seed, m.seats, m.actions, m.outcome, m.scores, m.fault, m.faulty_player, m.error_code, m.error)
        for m in record.matches
    ]


def faults(duel: PlayedDuel) -> dict[int, tuple[int | None, str]]:
    return {m.number: (m.faulty_player, m.error_code) for m in duel.record.matches if m.fault is not Fault.NONE}


def at(match: int, sequence: int, answer: Callable[[Asked], Said]) -> Answerer:
    """Return a player that plays the first valid action, but gives `answer` to one question."""
    return lambda asked: (
        answer(asked)
        if (asked.match, asked.sequence) == (match, sequence) and asked.kind is not Kind.END
        else asked.good_answer()
    )
