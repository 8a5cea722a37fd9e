"""Organisers' tournaments played in memory by the real formats, and stored as the arena stores them."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

from arena_kit.ranking.formats import CountedDuel, DuelState, Format, History, Plan, format_settings
from core.models import Duel, Environment, JobState, Participant, Submission, Tournament, TournamentState, User
from core.tests import factories
from core.tests.factories import NOON
from core.tournaments.plans import plan_save

Judge = Callable[[int, int], int]
"""Match points of player_1, out of 20, by the places of both in the order of seeds."""


def upsets(first: int, second: int) -> int:
    """Mostly the better seed, never level."""
    points = 10 + random.Random(f"{first} {second}").choice((-4, -1, 2, 5, 7))
    points = 20 - points if first > second else points
    return points if points != 10 else 11


def entered(environment: Environment, owner: User, names: list[str]) -> list[Submission]:
    return [factories.ready(factories.agent(owner, environment, name)) for name in names]


def organised(
    form: Format,
    players: list[Submission],
    *,
    judge: Judge = upsets,
    until: Callable[[Plan], bool] = lambda plan: False,
    most: int = 10_000,
    left: Mapping[int, int] | None = None,
    edition: int = 1,
    **fields: Any,
) -> Tournament:
    """A tournament among players in the order of their seeds, played to its end or `until` a plan says so.

    most: duels that are played at most.
    """
    environment = players[0].agent.environment
    tournament = Tournament.objects.create(
        environment=environment,
        edition=edition,
        format=form.slug,
        settings=format_settings(form),
        is_automatic=False,
        **{"name": f"{form.name} cup", **fields},
    )
    place = {player.pk: number for number, player in enumerate(players, start=1)}
    records: list[CountedDuel] = []
    while True:
        plan = form.plan(History(tuple(place), tuple(records), left or {}, seed=7))
        if plan.is_finished or until(plan) or len(records) >= most:
            break
        for order in plan.play[: most - len(records)]:
            points = judge(*(place[player] for player in order.players))
            scores = (points / 2 - 5, 5 - points / 2)
            records.append(
                CountedDuel(
                    len(records) + 1, order.round, order.players, DuelState.PLAYED, (points, 20 - points), scores
                )
            )
    records += [CountedDuel(key, order.round, order.players) for key, order in enumerate(plan.play, len(records) + 1)]
    plan = form.plan(History(tuple(place), tuple(records), left or {}, seed=7))
    by_pk = {player.pk: player for player in players}
    for record in records:
        _duel(tournament, record, record.key, by_pk)
    ranks = {row.participant: row.rank for row in plan.table.rows}
    for pk, number in place.items():
        gone = NOON if pk in (left or {}) else None
        Participant.objects.create(
            tournament=tournament, submission=by_pk[pk], seeding=number, rank=ranks[pk], withdrawn_at=gone
        )
    plan_save(tournament=tournament, planned=plan)
    if plan.is_finished:
        tournament.state, tournament.ended_at = TournamentState.FINISHED, NOON
    tournament.save()
    return tournament


def _duel(tournament: Tournament, record: CountedDuel, number: int, players: Mapping[int, Submission]) -> Duel:
    one, other = (players[player] for player in record.players)
    state = JobState.SUCCEEDED if record.state == DuelState.PLAYED else JobState.QUEUED
    row = factories.duel(tournament, one, other, number=number, state=state)
    row.round = record.round
    row.save(update_fields=["round"])
    return row
