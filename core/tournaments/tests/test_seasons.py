"""Seasons sum up tournaments by a rule that can be checked by hand."""

from __future__ import annotations

import pytest
from django.utils import timezone

from core.models import Environment, Participant, Season, Submission, Tournament, TournamentState
from core.tests import factories
from core.tournaments.seasons import season_table

pytestmark = pytest.mark.django_db


def finished(season: Season, ranked: dict[Submission, int], *, edition: int, **fields: object) -> Tournament:
    row = Tournament.objects.create(
        environment=season.environment, edition=edition, season=season, ended_at=timezone.now(),
        **{"state": TournamentState.FINISHED} | fields,
    )  # fmt: skip
    for submission, rank in ranked.items():
        gone = timezone.now() if rank == 0 else None
        Participant.objects.create(tournament=row, submission=submission, rank=rank or 9, withdrawn_at=gone)
    return row


def test_points_are_those_below_and_half_of_those_beside(environment: Environment, players: list[Submission]) -> None:
    anna, berta, clara = players
    dora = factories.ready(factories.agent(anna.agent.owner, environment, "dora"))
    newer = factories.ready(anna.agent)
    season = factories.season(environment)
    first = finished(season, {anna: 1, berta: 2, clara: 2, dora: 0}, edition=1)
    second = finished(season, {newer: 2, berta: 1}, edition=2)
    finished(season, {anna: 1, berta: 2}, edition=3, results="HIDDEN")
    finished(season, {anna: 1, berta: 2}, edition=4, state=TournamentState.CANCELLED)

    table = season_table(season)

    assert table.tournaments == (first, second)
    assert [(row.rank, row.agent.name, row.total, row.points) for row in table.rows] == [
        (1, "anna", 3.0, (3.0, 0.0)),
        (2, "berta", 2.5, (1.5, 1.0)),
        (3, "clara", 1.5, (1.5, None)),
        (4, "dora", 0.0, (0.0, None)),
    ]
