"""The page of a sitting that is over: its analysis, and playing on from its positions."""

from __future__ import annotations

import pytest
from django.test import Client
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from arena_kit.environment.records import DuelRecord
from arena_kit.environment.registry import get_spec
from core.jobs.artifacts import artifacts_stored
from core.jobs.lifecycle import job_claim
from core.jobs.worker import Performed, step
from core.models import Analysis, JobState, Opponents, Sitting, Submission, User
from core.sittings.services import opponents_set, sitting_succeed
from core.tests import factories
from web.tests.played import DIGESTS, random_match

pytestmark = pytest.mark.django_db
SEED = 7
"""Its random match is one in which the person throws the win away."""


@pytest.fixture
def anna() -> Submission:
    row = factories.ready(factories.agent(factories.user("ann"), factories.environment("tic-tac-toe"), "anna"))
    opponents_set(agent=row.agent, opponents=Opponents.EVERYONE)
    factories.rating(row, 1234.0)
    return row


@pytest.fixture
def erik() -> User:
    return factories.user("erik")


def over(client: Client) -> Sitting:
    """A match that the reader sat down to, with the record that a worker wrote of it."""
    assert client.post("/environments/tic-tac-toe/agents/anna/sit/", {"seat": "first"}).status_code == 302
    row = job_claim(kind=Sitting, job_id=Sitting.objects.latest("pk").pk, worker="worker-1")
    assert row is not None
    match = random_match(get_spec(row.environment_version), 1, SEED)
    record = DuelRecord(row.environment_version, SEED, ("a person", "anna v1"), (match,))
    with artifacts_stored(job=row, record=record, player_logs=("", ""), digests=DIGESTS) as artifacts:
        sitting_succeed(sitting=row, record=record, artifacts=artifacts, log="")
    return Sitting.objects.get(pk=row.pk)


def address(row: Sitting) -> str:
    return f"/sittings/{row.public_id}/"


def test_its_person_asks_for_the_analysis_without_an_account_and_strangers_log_in(
    client: Client, anna: Submission
) -> None:
    row = over(client)
    page = address(row)
    assertContains(client.get(page), "Analyse this match")
    assertNotContains(Client().get(page), "Analyse this match")
    assertRedirects(Client().post(f"{page}analyse/"), f"/login/?next={page}", fetch_redirect_response=False)

    asked = client.post(f"{page}analyse/")

    assertRedirects(asked, f"{page}#analysis", fetch_redirect_response=False)
    job = Analysis.objects.get()
    assert (job.sitting, job.duel, job.asked_by) == (row, None, row.user)
    assert str(job) == f"analysis of match 1 of sitting {row.pk}"
    assertContains(client.get(page), f'hx-get="{page}analysis/"')
    assertContains(client.get(f"{page}analysis/"), 'id="analysis"')
    assert step("duel") is Performed.DONE
    job.refresh_from_db()
    assert job.state == JobState.SUCCEEDED
    assert client.get(f"{page}analysis/").headers["HX-Refresh"] == "true"
    shown = client.get(f"{page}?ply=3")
    for part in ("Every position", 'class="value"', "With perfect play"):
        assertContains(shown, part)
    # The page of the person speaks to them.
    for part in ("your last mistake", "Your worst moves", "you could have forced a win", "You win\n"):
        assertContains(shown, part)
    other = Client().get(page)
    for part in ("the last mistake of A visitor", "The worst moves of A visitor", "A visitor could have forced a win"):
        assertContains(other, part)
    assert len(client.get(f"{page}frames.json").json()["shares"]) == shown.context["last"] + 1


def test_visitors_share_three_analyses_in_progress(client: Client, anna: Submission) -> None:
    rows = []
    for _ in range(2):
        browser = Client()
        rows += [(browser, over(browser)), (browser, over(browser))]
    for browser, row in rows:
        answer = browser.post(f"{address(row)}analyse/", follow=True)
    assertContains(answer, "Visitors have 3 analyses in progress")


def test_the_agent_has_its_rating_and_a_link_and_other_readers_see_the_match_play(
    client: Client, anna: Submission
) -> None:
    page = address(over(client))
    assertContains(client.get(page), 'agents/anna/">anna</a>')
    assertContains(client.get(page), "1234")
    # A person has just seen their own match, so it stands at its end.
    own, other = client.get(page), Client().get(page)
    assert own.context["position"] == own.context["last"]
    assert (own.context["plays"], other.context["plays"], other.context["position"]) == (False, True, 0)


def test_a_person_goes_on_from_any_position_of_a_sitting(client: Client, anna: Submission, erik: User) -> None:
    row = over(client)
    page = address(row)
    client.force_login(erik)
    assertContains(client.get(page), f'href="{page}from/')
    here = client.get(f"{page}from/2/")
    assertContains(here, "The match of A visitor against")
    assertContains(here, "<option selected>anna</option>")
    assertNotContains(here, "Let two agents play on")
    assert client.get(f"{page}from/99/").headers["Location"].startswith(f"{page}from/")

    made = client.post(f"{page}from/2/sit/", {"agent": "anna", "seat": "first"})

    new = Sitting.objects.latest("pk")
    assert made["Location"] == address(new)
    assert (new.origin, new.origin_sitting, new.origin_ply) == (None, row, 2)
    assert new.opening is not None
    assert len(new.opening) == 2
    assertContains(client.get(address(new)), f"{page}?ply=2")
    refused = client.post(f"{page}from/2/sit/", {"agent": "nobody"}, follow=True)
    assertContains(refused, "Choose an agent of this environment.")


def test_help_is_told_with_the_result(client: Client, anna: Submission) -> None:
    row = over(client)
    page = address(row)
    assertNotContains(client.get(page), "record against people")
    Sitting.objects.filter(pk=row.pk).update(is_helped=True)
    assertContains(client.get(page), "A move was taken back or a hint was shown")
    assertContains(client.get(page), "count in anna’s record against people.")
    # Those who get the link read it, too.
    assertContains(Client().get(page), "after 8 moves. The person took moves back or was shown hints.")


def test_organisers_follow_an_analysis_to_the_page_of_its_sitting(client: Client, anna: Submission) -> None:
    row = over(client)
    client.post(f"{address(row)}analyse/")
    desk = Client()
    desk.force_login(factories.user("olga", is_staff=True, is_superuser=True))
    job = Analysis.objects.get()
    assertContains(desk.get(f"/organise/jobs/analysis/{job.pk}/"), f"{address(row)}#analysis")
    assertContains(desk.get("/organise/jobs/analysis/"), str(job))
