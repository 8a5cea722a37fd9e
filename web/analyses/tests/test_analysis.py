from __future__ import annotations

import pytest
from django.test import Client
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from core.duels.analyses import analysis_request, positions_get
from core.errors import Refused
from core.jobs.worker import Performed, step
from core.models import Analysis, Duel, JobState
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
    for part in ("Every position", 'class="values"', 'id="share"', "with perfect play", "analysis.js"):
        assertContains(shown, part)
    assertNotContains(shown, "Analyse this match")


def test_an_analysis_that_failed_may_be_asked_for_again(stage: Stage, cast: Cast, visit: As) -> None:
    failed = factories.analysis(stage.duel, state=JobState.FAILED)

    assertContains(visit(cast.charlie).get(address(stage.duel)), "Try again")
    again = analysis_request(user=cast.charlie, duel=stage.duel, number=1)

    assert (again.pk, again.state) != (failed.pk, failed.state)


def test_nobody_has_more_than_three_analyses_in_progress(stage: Stage, cast: Cast) -> None:
    for number in (1, 2, 3):
        analysis_request(user=cast.charlie, duel=stage.duel, number=number)

    with pytest.raises(Refused, match="3 analyses in progress"):
        analysis_request(user=cast.charlie, duel=stage.duel, number=4)
    assert analysis_request(user=cast.charlie, duel=stage.duel, number=2).match_number == 2


def test_environments_without_a_solver_offer_no_analysis(client: Client, cast: Cast) -> None:
    stage = staged(cast, factories.environment("pong"), 2)

    assertNotContains(client.get(address(stage.duel)), 'id="analysis"')
    with pytest.raises(Refused, match="has no solver"):
        analysis_request(user=cast.alice, duel=stage.duel, number=1)
