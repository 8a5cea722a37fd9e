from __future__ import annotations

from datetime import UTC

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoAssertNumQueries

from core.jobs.lifecycle import job_give_back
from core.models import Agent, Environment, JobFault, JobState, Participant, Submission, Tournament, TournamentState
from core.moderation.services import user_ban, user_unban
from core.tests import factories
from core.tests.factories import Cast
from tests.samples import FIRST, LAST, archive
from web.conftest import As

pytestmark = pytest.mark.django_db
HOSTILE = "</pre><script>alert('log')</script>"


@pytest.fixture
def agent(cast: Cast, environment: Environment) -> Agent:
    return factories.agent(cast.alice, environment, "mine")


def address(agent: Agent) -> str:
    return f"/environments/tic-tac-toe/agents/{agent.name}/"


def page(client: Client, agent: Agent) -> str:
    return client.get(address(agent)).content.decode()


def failed(agent: Agent) -> Submission:
    submission = factories.submission(agent)
    factories.build(submission)
    factories.validation(submission, JobState.FAILED, log=HOSTILE, error=f"raised {HOSTILE}")
    submission.warnings = ["torch 1.0 has no wheel; torch 2.3 is used."]
    submission.save()
    return submission


def test_the_owner_and_staff_read_why_a_version_failed(cast: Cast, agent: Agent, visit: As) -> None:
    submission = failed(agent)
    for person in (cast.alice, cast.olga):
        shown = page(visit(person), agent)
        assert "raised &lt;/pre&gt;" in shown
        assert "torch 1.0 has no wheel" in shown
        assert f"/submissions/{submission.pk}/source/" in shown
        assert "<script>alert" not in shown


def test_others_see_that_a_private_version_failed_but_not_why(cast: Cast, agent: Agent, visit: As) -> None:
    submission = failed(agent)
    for person in (None, cast.bob, cast.charlie):
        shown = page(visit(person), agent)
        assert "Failed" in shown
        assert "The owner can read why." in shown
        for secret in ("raised", "torch 1.0", f"/submissions/{submission.pk}/"):
            assert secret not in shown


def test_everybody_reads_the_logs_of_a_public_agent(cast: Cast, agent: Agent, visit: As) -> None:
    agent.is_public = True
    agent.save()
    submission = failed(agent)
    for person in (None, cast.charlie):
        shown = page(visit(person), agent)
        assert "raised &lt;/pre&gt;" in shown
        assert f"/submissions/{submission.pk}/source/" in shown


def test_a_fault_of_the_platform_is_no_secret(agent: Agent, client: Client) -> None:
    submission = factories.submission(agent)
    factories.build(submission, JobState.FAILED, error="The engine did not answer.", fault=JobFault.PLATFORM)
    assert "The engine did not answer." in page(client, agent)


def test_a_phase_that_rests_says_when_it_is_tried_again_and_why(agent: Agent, client: Client) -> None:
    build = factories.build(factories.submission(agent), JobState.RUNNING)
    job_give_back(job=build, code="engine_down", error="The engine did not answer.")
    build.refresh_from_db()
    assert build.not_before is not None
    shown = page(client, agent)
    assert f"It is tried again at about {build.not_before.astimezone(UTC):%H:%M} UTC (attempt 2 of" in shown
    assert "The engine did not answer." in shown


def test_a_waiting_phase_says_where_it_stands_in_the_queue(agent: Agent, client: Client) -> None:
    delayed, first, second = (factories.submission(agent) for _ in range(3))
    factories.build(delayed, JobState.QUEUED, not_before=factories.NOON)
    factories.build(first, JobState.QUEUED)
    factories.validation(factories.submission(agent), JobState.QUEUED)
    factories.build(second, JobState.QUEUED)
    shown = client.get(address(agent)).context["versions"]
    assert [phase.wait.place for version in shown for phase in version.phases if phase.wait and phase.wait.place] == [
        2,
        1,
    ]
    assert "it is number 2 in the queue" in page(client, agent)


def test_who_may_read_the_log_of_a_phase_reads_which_attempts_came_to_nothing(
    cast: Cast, agent: Agent, visit: As
) -> None:
    build = factories.build(factories.submission(agent), JobState.RUNNING, worker="secret-host:77")
    job_give_back(job=build, code="engine_down", error=f"The engine did not answer. {HOSTILE}")
    for person in (cast.alice, cast.olga):
        shown = page(visit(person), agent)
        assert "Build: 1 failed attempt" in shown
        assert "<code>engine_down</code>" in shown
        assert "secret-host" not in shown
        assert HOSTILE not in shown
    for other in (None, cast.bob, cast.charlie):
        assert "failed attempt" not in page(visit(other), agent)


def test_versions_that_wait_cost_no_more_queries_the_more_they_are(
    agent: Agent, client: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(2):
        factories.build(factories.submission(agent), JobState.QUEUED)
    with CaptureQueriesContext(connection) as few:
        page(client, agent)
    for _ in range(10):
        factories.build(factories.submission(agent), JobState.QUEUED)
    with django_assert_max_num_queries(len(few)):
        assert page(client, agent).count("in the queue") == 12


def test_the_owner_is_told_what_helps_after_a_fault_of_the_platform(cast: Cast, agent: Agent, visit: As) -> None:
    submission = factories.submission(agent)
    factories.build(submission, JobState.FAILED, error="The engine did not answer.", fault=JobFault.PLATFORM)
    advice = "Upload the same file to try again."
    assert advice in page(visit(cast.alice), agent)
    assert advice not in page(visit(cast.bob), agent)
    factories.build(submission, JobState.FAILED, error="It does not build.")
    assert advice not in page(visit(cast.alice), agent)


def test_only_the_owner_gets_forms(cast: Cast, agent: Agent, visit: As) -> None:
    factories.ready(agent)
    assert 'type="file"' in page(visit(cast.alice), agent)
    assert "Delete this version" in page(visit(cast.alice), agent)
    for person in (None, cast.bob, cast.olga):
        shown = page(visit(person), agent)
        assert 'type="file"' not in shown
        assert "Delete this version" not in shown


def test_versions_come_newest_first_with_their_phases_and_ranks(agent: Agent, client: Client, cast: Cast) -> None:
    first = factories.ready(agent)
    rival = factories.ready(factories.agent(cast.bob, agent.environment))
    factories.tournament([rival, first])
    factories.submission(agent)
    response = client.get(address(agent))
    versions = response.context["versions"]
    assert [version.submission.number for version in versions] == [2, 1]
    assert [phase.title for phase in versions[0].phases] == ["Build", "Validation"]
    assert "2 of 2, 0 points" in response.content.decode()
    # What was cancelled before any match was played has no places.
    Tournament.objects.update(state=TournamentState.CANCELLED)
    assert "cancelled, 2 of 2, 0 points" in page(client, agent)
    Participant.objects.update(wins=0, losses=0, points=0, rank=1)
    assert "<span>cancelled</span>" in page(client, agent)


def test_a_rated_version_shows_how_sure_its_rating_is(agent: Agent, client: Client) -> None:
    row = factories.ready(agent)
    factories.rating(row, 1534, low=1506, high=1562, rank=3, best_rank=2, worst_rank=5, best_chance=0.12, live=1541)
    page = " ".join(client.get(address(agent)).content.decode().split())
    for words in ("1534", "± 28", "3rd", "2nd to 5th", "12%", "Live rating</dt><dd>1541<"):
        assert words in page

    factories.rating(row, 1534, rank=None, best_rank=None, worst_rank=None, best_chance=None)
    page = client.get(address(agent)).content.decode()
    assert "1534" in page
    assert "Rank here" not in page


def test_a_ready_version_says_when_it_will_play(agent: Agent, client: Client, cast: Cast) -> None:
    factories.ready(agent)
    second = factories.ready(agent)
    assert page(client, agent).count("once a second agent is ready.") == 1
    rival = factories.ready(factories.agent(cast.bob, agent.environment))
    assert "the next edition, which starts within minutes." in page(client, agent)
    edition = factories.tournament([rival, factories.ready(factories.agent(cast.bob, agent.environment))])
    Tournament.objects.update(state=TournamentState.RUNNING, ended_at=None)
    assert f"starts after edition {edition.edition}." in page(client, agent)
    Participant.objects.create(tournament=edition, submission=second)
    assert "It takes part in the" not in page(client, agent)


def test_a_version_that_may_not_play_promises_nothing(agent: Agent, client: Client) -> None:
    factories.ready(agent)
    assert ">Plays<" in page(client, agent)
    user_ban(user=agent.owner, reason="Shares accounts.")
    assert ">Plays<" not in page(client, agent)
    user_unban(user=agent.owner)
    agent.is_disabled = True
    agent.save()
    assert "It takes part in the" not in page(client, agent)
    agent.is_disabled = False
    agent.save()
    agent.environment.is_active = False
    agent.environment.save()
    assert f"{agent.environment} is closed at the moment" in page(client, agent)


def test_an_agent_is_found_in_any_case_and_only_in_its_environment(agent: Agent, client: Client) -> None:
    factories.environment("quarto")
    assert client.get("/environments/tic-tac-toe/agents/MINE/").status_code == 200
    assert client.get("/environments/quarto/agents/mine/").status_code == 404
    assert "There is no such agent" in client.get("/environments/tic-tac-toe/agents/other/").content.decode()


def test_a_disabled_agent_says_so_with_the_reason_and_takes_no_versions(cast: Cast, agent: Agent, visit: As) -> None:
    agent.is_disabled, agent.disabled_reason = True, "Mines coins <b>while</b> thinking."
    agent.save()
    shown = page(visit(cast.alice), agent)
    assert "have disabled this agent: Mines coins &lt;b&gt;" in shown
    assert 'type="file"' not in shown
    response = visit(cast.alice).post(address(agent) + "versions/", {"archive": archive(FIRST)})
    assert response.status_code == 422
    assert "The organisers have disabled this agent" in str(response.context["form"].errors["archive"])


def test_a_new_version_is_the_owners_alone(cast: Cast, agent: Agent, visit: As) -> None:
    for person, status in ((cast.bob, 403), (cast.olga, 403), (None, 302)):
        response = visit(person).post(address(agent) + "versions/", {"archive": archive(FIRST)})
        assert response.status_code == status
    assert not agent.submissions.exists()
    response = visit(cast.alice).post(address(agent) + "versions/", {"archive": archive(FIRST)})
    assert (response.status_code, response["Location"]) == (302, address(agent))
    assert agent.submissions.count() == 1


def test_the_same_version_sent_twice_is_one(cast: Cast, agent: Agent, visit: As) -> None:
    client = visit(cast.alice)
    for source in (FIRST, FIRST, LAST, LAST):
        assert client.post(address(agent) + "versions/", {"archive": archive(source)}).status_code == 302
    assert agent.submissions.count() == 2


def test_deleting_a_version_is_the_owners_alone_and_happens_once(cast: Cast, agent: Agent, visit: As) -> None:
    submission = factories.ready(agent)
    delete = address(agent) + "versions/1/delete/"
    assert visit(cast.bob).post(delete).status_code == 403
    assert visit(cast.alice).get(delete).status_code == 405
    response = visit(cast.alice).post(delete, follow=True)
    assert "Version 1 is deleted; its results stay." in response.content.decode()
    submission.refresh_from_db()
    assert submission.deleted_at is not None
    assert visit(cast.alice).post(delete).status_code == 404
    assert "Deleted" in page(visit(None), agent)


def test_a_version_under_way_refreshes_itself_alone_and_stops_when_it_is_over(agent: Agent, client: Client) -> None:
    factories.ready(agent)
    submission = factories.submission(agent)
    build = factories.build(submission, JobState.RUNNING)
    shown = page(client, agent)
    assert shown.count('hx-trigger="every 2s"') == 1
    part = client.get(address(agent), headers={"HX-Request": "true", "HX-Target": "v2"}).content.decode()
    assert "Version 2" in part
    assert "Version 1" not in part
    assert "<html" not in part
    assert 'hx-trigger="every 2s"' in part
    build.delete()
    factories.build(submission, JobState.FAILED)
    part = client.get(address(agent), headers={"HX-Request": "true", "HX-Target": "v2"}).content.decode()
    assert "hx-trigger" not in part


@pytest.mark.parametrize("target", ["v99", "v0", "v-1", "vx", "v" + "9" * 40, "v²"])
def test_a_part_that_does_not_exist_gives_the_whole_page(agent: Agent, client: Client, target: str) -> None:
    factories.ready(agent)
    response = client.get(address(agent), headers={"HX-Target": target.encode("latin-1").decode("latin-1")})
    assert response.status_code == 200
    assert "<html" in response.content.decode()


def test_a_running_build_shows_its_log_as_it_grows(cast: Cast, agent: Agent, visit: As) -> None:
    submission = factories.submission(agent)
    factories.build(submission, JobState.RUNNING, log=f"step 3/9 {HOSTILE}")
    shown = page(visit(cast.alice), agent)
    assert "step 3/9 &lt;/pre&gt;" in shown
    assert "step 3/9" not in page(visit(cast.bob), agent)


def test_more_versions_and_editions_take_no_more_queries(
    cast: Cast, agent: Agent, visit: As, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    client = visit(cast.alice)
    rival = factories.ready(factories.agent(cast.bob, agent.environment))
    for edition in range(1, 5):
        failed(agent)
        factories.tournament([factories.ready(agent), rival], edition=edition)
    client.get("/inbox/")  # the first use of a session is noted
    with django_assert_max_num_queries(23):
        assert client.get(address(agent)).status_code == 200
