"""The newest duels of agents, whose versions follow each other."""

from __future__ import annotations

import pytest

from core.duels.latest import SIDES, latest_of, newest_of_version
from core.models import Duel, JobState, Submission
from core.tests import factories

pytestmark = pytest.mark.django_db


def test_the_newest_duels_of_each_agent_are_among_few() -> None:
    cast, game = factories.cast(), factories.environment()
    first, other = (factories.ready(factories.agent(cast.alice, game, name)) for name in ("first", "other"))
    newer = factories.ready(first.agent)
    idle = factories.ready(factories.agent(cast.alice, game, "idle"))
    tournament = factories.tournament([first, other])
    Duel.objects.all().delete()

    def play(one: Submission, two: Submission, number: int) -> int:
        return factories.duel(tournament, one, two, number=number, state=JobState.SUCCEEDED).pk

    old = [play(first, other, number) for number in range(1, 9)]
    new = [play(newer, other, 9), play(other, newer, 10), play(newer, other, 11)]
    agents = [first.agent_id, other.agent_id, idle.agent_id]

    latest = latest_of(agents, Duel.objects.all(), 3)
    found = {side: set(Duel.objects.filter(latest[side]).values_list("pk", flat=True)) for side in SIDES}
    assert {new[0], new[2]} <= found["player_1"]
    # The other agent has played three duels on this side since the seventh.
    assert {old[-1], new[0], new[2]} <= found["player_2"]
    assert not found["player_2"] & set(old[:5]), "older ones are not read"
    assert not Duel.objects.filter(latest_of([idle.agent_id], Duel.objects.all(), 3)["player_1"]).exists()
    newest = Submission.objects.values_list(*newest_of_version())
    assert newest.get(pk=newer.pk) == (new[2], new[1])
    assert newest.get(pk=idle.pk) == (None, None)
