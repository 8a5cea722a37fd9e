"""Lines that two agents play on from a position, and what they say it is worth."""

from __future__ import annotations

import pytest
from pytest_django.asserts import assertContains, assertNotContains

from arena_kit.environment.registry import get_spec
from core.models import Challenge
from core.tests import factories
from core.tests.factories import Cast
from web.conftest import As
from web.tests import played
from web.tests.arena import Stage

pytestmark = pytest.mark.django_db


def test_two_agents_value_a_position_by_playing_it_out(stage: Stage, cast: Cast, visit: As) -> None:
    played.ready(factories.agent(cast.alice, stage.environment, "alma"))
    here, alice = f"/duels/{stage.duel.pk}/matches/1/from/2/", visit(cast.alice)
    assertContains(alice.get(here), "<option>2</option><option>20</option><option>100</option>")
    asked = {"agent_1": "anna", "agent_2": "alma", "match_count": "20"}
    for wrong in ("3", "1000", "x", "-20"):
        assertContains(
            alice.post(f"{here}play/", asked | {"match_count": wrong}, follow=True), "Choose one of these numbers"
        )
    assert not Challenge.objects.exists()

    alice.post(f"{here}play/", asked)
    duel = Challenge.objects.get().duels.get()
    assert (duel.match_count, duel.origin_ply) == (20, 2)
    assertContains(alice.get(here), '<span class="muted">waiting</span>')
    duel = played.play(duel)

    shown = alice.get(here)
    (line,) = shown.context["lines"]
    matches = played.random_duel(get_spec(duel.environment_version), ("a", "b"), 20, seed=duel.seed).matches
    winners = [match.outcome == f"PLAYER_{match.seats[0] + 1}" for match in matches]
    wins = winners.count(True) + sum(match.outcome == "DRAW" for match in matches) / 2
    assert line.worth.value == pytest.approx(wins / 20)
    assert line.worth.low < line.worth.value < line.worth.high
    assertContains(shown, f"{100 * wins / 20:.0f}% of the matches for the first seat (")
    assertContains(shown, f"20 matches, {line.distinct} different")
    duel.records.storage.delete(str(duel.records.name))
    assertNotContains(alice.get(here), "of the matches for the first seat")
