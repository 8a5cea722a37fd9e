"""A tournament that ends again does not repeat what people were told."""

from __future__ import annotations

import pytest

from core.models import Audience, Environment, Notice, NoticeKind, Participant, TournamentState
from core.tests import factories
from core.tests.factories import Cast
from core.tournaments.notices import tournament_ended

pytestmark = pytest.mark.django_db


def test_a_tournament_that_ends_again_after_a_void_is_news_only_where_a_rank_has_changed(
    people: Cast, environment: Environment
) -> None:
    players = [factories.ready(factories.agent(owner, environment)) for owner in (people.alice, people.charlie)]
    cup = factories.tournament(players, state=TournamentState.FINISHED)
    cup.is_automatic, cup.name, cup.results = False, "Autumn cup", Audience.HIDDEN
    cup.save()
    told = Notice.objects.filter(kind=NoticeKind.TOURNAMENT_ENDED)

    for _ in range(2):
        tournament_ended(cup)
    assert told.count() == 2

    cup.results = Audience.PUBLIC
    cup.save()
    for _ in range(2):
        tournament_ended(cup)
    assert told.count() == 4
    Participant.objects.filter(tournament=cup, submission=players[1]).update(rank=1)
    Participant.objects.filter(tournament=cup, submission=players[0]).update(rank=2)
    tournament_ended(cup)
    assert told.count() == 6
