"""Plays tournaments of any format in memory."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import count

from arena_kit.ranking.formats import CountedDuel, DuelOrder, DuelState, Format, History, Plan

Judge = Callable[[DuelOrder], int]
"""Points of player_1 in a duel, out of 2."""
_keys = count(1)


def stronger_wins(order: DuelOrder) -> int:
    """Participants are numbered by strength, the best first."""
    return 2 if order.players[0] < order.players[1] else 0


def by_chance(seed: int) -> Judge:
    """Any result, the same whenever the same duel is played; a third are draws."""
    return lambda order: random.Random(f"{seed} {order.seed}").randrange(3)


def record(
    number: int,
    players: tuple[int, int],
    state: DuelState = DuelState.OPEN,
    points: tuple[int, int] = (0, 0),
    scores: tuple[float, float] = (0.0, 0.0),
) -> CountedDuel:
    """A duel of a round, under a key that no other has."""
    return CountedDuel(next(_keys), number, players, state, points, scores)


def played(order: DuelOrder, points: int) -> CountedDuel:
    return record(order.round, order.players, DuelState.PLAYED, (points, 2 - points))


def plain(duels: Iterable[CountedDuel]) -> list[CountedDuel]:
    """Duels in an order and with keys that do not tell when they were created."""
    return sorted((replace(duel, key=0) for duel in duels), key=repr)


def participants(count: int) -> tuple[int, ...]:
    """Numbers that are not places in a list, so that the two are not mixed up."""
    return tuple(range(101, 101 + count))


def play_on(
    form: Format,
    who: tuple[int, ...],
    judge: Judge,
    duels: Iterable[CountedDuel] = (),
    left: Mapping[int, int] | None = None,
    until: Callable[[Plan], bool] = lambda plan: False,
) -> tuple[list[CountedDuel], list[Plan]]:
    """Play from given duels to the end as a caller would; returns the duels that count and every plan on the way."""
    kept = list(duels)
    plans = []
    while True:
        plan = form.plan(History(who, tuple(kept), left or {}, seed=7))
        plans.append(plan)
        stale = {duel.key for duel in plan.stale}
        kept = [duel for duel in kept if duel.key not in stale]
        if plan.is_finished or until(plan):
            return kept, plans
        for order in plan.play:
            kept.append(played(order, judge(order)))


def schedule(plan: Plan) -> list[tuple[int, tuple[int | None, int | None]]]:
    return [(meeting.round, meeting.players) for meeting in plan.meetings]
