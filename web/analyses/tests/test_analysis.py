from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from arena_kit.environment.records import Fault, Outcome
from core.duels.analyses import analysis_request, positions_get
from core.duels.losses import losses_analyse
from core.duels.selectors import records_open
from core.errors import Refused
from core.jobs.worker import Performed, step
from core.models import Analysis, Duel, JobState, User
from core.tests import factories
from core.tests.factories import Cast
from web.conftest import As
from web.tests.arena import Stage, staged

pytestmark = pytest.mark.django_db


def address(duel: Duel, number: int = 1) -> str:
    return f"/duels/{duel.pk}/matches/{number}/"


def test_a_match_is_analysed_on_request_once_and_for_everybody(
    client: Client, stage: Stage, cast: Cast, visit: As
) -> None:
    page = address(stage.duel, 2)
    assertContains(client.get(page), "to ask for it")
    assertRedirects(client.post(f"{page}analyse/"), f"/login/?next={page}analyse/", fetch_redirect_response=False)

    asked = visit(cast.charlie).post(f"{page}analyse/")

    assertRedirects(asked, f"{page}#analysis", fetch_redirect_response=False)
    assert visit(cast.charlie).post(f"{page}analyse/").status_code == 302
    job = Analysis.objects.get()
    assert (job.duel, job.match_number, job.asked_by) == (stage.duel, 2, cast.charlie)
    assertContains(client.get(page), 'hx-trigger="every 2s"')
    assertContains(client.get(f"{page}analysis/"), 'id="analysis"')

    assert step("duel") is Performed.DONE

    job.refresh_from_db()
    assert job.state == JobState.SUCCEEDED
    assert all(position.value is not None for position in positions_get(job))
    assert client.get(f"{page}analysis/").headers["HX-Refresh"] == "true"
    shown = client.get(f"{page}?ply=3")
    for part in ("Every position", 'class="values"', 'class="value"', "with perfect play", "analysis.js"):
        assertContains(shown, part)
    assertNotContains(shown, "Analyse this match")


def test_an_analysis_that_failed_may_be_asked_for_again(stage: Stage, cast: Cast, visit: As) -> None:
    failed = factories.analysis(stage.duel, state=JobState.FAILED)

    assertContains(visit(cast.charlie).get(address(stage.duel)), "Try again")
    again = analysis_request(user=cast.charlie, played=stage.duel, number=1)

    assert (again.pk, again.state) != (failed.pk, failed.state)


def test_nobody_has_more_than_three_analyses_in_progress(stage: Stage, cast: Cast) -> None:
    for number in (1, 2, 3):
        analysis_request(user=cast.charlie, played=stage.duel, number=number)

    with pytest.raises(Refused, match="3 analyses in progress"):
        analysis_request(user=cast.charlie, played=stage.duel, number=4)
    assert analysis_request(user=cast.charlie, played=stage.duel, number=2).match_number == 2


def test_environments_without_a_solver_offer_no_analysis(client: Client, cast: Cast) -> None:
    stage = staged(cast, factories.environment("pong"), 2)

    assertNotContains(client.get(address(stage.duel)), 'id="analysis"')
    with pytest.raises(Refused, match="has no solver"):
        analysis_request(user=cast.alice, played=stage.duel, number=1)


def lost_by(duel: Duel, player: int) -> list[tuple[int, int]]:
    """Moves and number of the matches that a player (0 or 1) has lost by play, or if there are none, by a fault."""
    with records_open(duel) as archive:
        lost = Outcome.PLAYER_2 if player == 0 else Outcome.PLAYER_1
        rows = [row for row in archive.index if row.outcome is lost]
    played = [row for row in rows if row.fault is Fault.NONE] or rows
    return sorted((row.moves, row.number) for row in played)


def test_one_click_leads_from_a_lost_duel_to_the_analysis_of_a_typical_loss(
    stage: Stage, cast: Cast, visit: As
) -> None:
    lost = {player: lost_by(stage.duel, player) for player in (0, 1)}
    assert any(lost.values())
    for player, matches in lost.items():
        asked = visit(cast.charlie).post(f"/duels/{stage.duel.pk}/why/{player + 1}/")
        if matches:
            number = matches[len(matches) // 2][1]
            assertRedirects(asked, f"{address(stage.duel, number)}#analysis", fetch_redirect_response=False)
            assert Analysis.objects.get(match_number=number).asked_by == cast.charlie
        else:
            assertRedirects(asked, f"/duels/{stage.duel.pk}/", fetch_redirect_response=False)
    assert visit(cast.charlie).post(f"/duels/{stage.duel.pk}/why/3/").status_code == 404


def test_an_edition_has_losses_analysed_of_those_who_come_back(stage: Stage, cast: Cast) -> None:
    duels = stage.tournament.duels.filter(state=JobState.SUCCEEDED).exclude(records="")
    assert losses_analyse(stage.tournament) == 0
    User.objects.filter(pk__in=[cast.alice.pk, cast.bob.pk]).update(last_login=timezone.now())
    lost = [duel for duel in duels if duel.outcome in ("PLAYER_1", "PLAYER_2")]
    made = losses_analyse(stage.tournament)
    asked = {row.duel_id: row.asked_by for row in Analysis.objects.all()}
    assert made == len(asked)
    for duel in lost:
        loser = duel.player_2 if duel.outcome == "PLAYER_1" else duel.player_1
        owner = loser.agent.owner
        assert asked.get(duel.pk) == (owner if owner in (cast.alice, cast.bob) else None)
    assert losses_analyse(stage.tournament) == 0
    User.objects.update(last_login=timezone.now() - timedelta(days=15))
    Analysis.objects.all().delete()
    assert losses_analyse(stage.tournament) == 0
