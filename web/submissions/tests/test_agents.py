from __future__ import annotations

import re
from datetime import UTC

import pytest
import time_machine
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from core.jobs.lifecycle import job_give_back
from core.models import (
    Agent,
    Build,
    Duel,
    Environment,
    JobFault,
    JobState,
    Participant,
    Promotion,
    RatingPool,
    Submission,
    Tournament,
    TournamentState,
)
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


def text(client: Client, place: str) -> str:
    return client.get(place).content.decode()


def stamp(shown: str) -> str:
    """What the page sends to ask for news."""
    found = re.search(r'"X-Seen": "(\w+)"', shown)
    assert found is not None
    return found[1]


def asked(client: Client, agent: Agent, seen: str) -> HttpResponse:
    answer = client.get(address(agent), headers={"HX-Request": "true", "HX-Target": "agent", "X-Seen": seen})
    assert isinstance(answer, HttpResponse)
    return answer


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


def test_a_closed_environment_offers_no_new_version(cast: Cast, agent: Agent, visit: As) -> None:
    assert "New version" in page(visit(cast.alice), agent)
    Environment.objects.update(is_active=False)
    assert "New version" not in page(visit(cast.alice), agent)


@pytest.mark.parametrize("is_public", [False, True])
def test_a_failed_try_is_seen_by_its_owner_and_organisers_alone(
    cast: Cast, agent: Agent, visit: As, is_public: bool
) -> None:
    Agent.objects.filter(pk=agent.pk).update(is_public=is_public)
    submission = failed(agent)
    build, validation = submission.builds.get(), submission.validations.get()
    lists = {"/users/alice/": address(agent), "/search/?q=mine": address(agent), "/api/v1/agents/": '"name":"mine"'}
    rows = ("/api/v1/submissions/", "/api/v1/jobs/build/", "/api/v1/jobs/validation/")
    files = [f"/submissions/{submission.pk}/{place}/" for place in ("logs/build", "logs/validation")]
    for person, sees in (
        (None, False),
        (cast.bob, False),
        (cast.charlie, False),
        (cast.alice, True),
        (cast.olga, True),
    ):
        client = visit(person)
        assert client.get(address(agent)).status_code == (200 if sees else 404), person
        assert client.get(f"{address(agent)}badge.svg").status_code == 404, "a badge is for everyone"
        for listed, name in lists.items():
            assert (name in text(client, listed)) is sees, (person, listed)
        for listed, row in zip(rows, (submission.public_id, build.pk, validation.pk), strict=True):
            assert (f'"id":"{row}"' in text(client, listed) or f'"id":{row},' in text(client, listed)) is sees, listed
        for file in files:
            assert client.get(file).status_code == (200 if sees else 404), file


def test_strangers_see_a_version_once_it_works_and_not_the_tries_around_it(cast: Cast, agent: Agent, visit: As) -> None:
    failed(agent)
    worked = factories.ready(agent)
    failed(agent)
    factories.build(factories.submission(agent), JobState.RUNNING)
    for person, numbers in ((None, [2]), (cast.bob, [2]), (cast.alice, [4, 3, 2, 1]), (cast.olga, [4, 3, 2, 1])):
        response = visit(person).get(address(agent))
        assert [row.submission.number for row in response.context["versions"]] == numbers
        assert ("Failed" in response.content.decode()) is (len(numbers) > 1)
    worked.deleted_at = worked.created_at
    worked.save()
    assert "Deleted" in page(visit(None), agent), "its results stay"


def test_everybody_reads_the_logs_of_a_public_agent_that_works(cast: Cast, agent: Agent, visit: As) -> None:
    agent.is_public = True
    agent.save()
    submission = factories.ready(agent)
    for person in (None, cast.charlie):
        assert f"/submissions/{submission.pk}/source/" in page(visit(person), agent)
        assert visit(person).get(f"/submissions/{submission.pk}/logs/build/").status_code == 200


def test_a_log_opens_in_the_page_and_can_be_downloaded(cast: Cast, agent: Agent, visit: As) -> None:
    submission = failed(agent)
    log = f'{HOSTILE}\n  File "/srv/arena/players/7/player.py", line 3, in step\n'
    submission.validations.update(log=log)
    client = visit(cast.alice)
    opened = f"/submissions/{submission.pk}/logs/validation/"
    shown = client.get(opened)
    assert shown["Content-Type"].startswith("text/html")
    assert "&lt;/pre&gt;&lt;script&gt;" in shown.content.decode()
    assert "/srv/arena" not in shown.content.decode()
    assert 'href="?download=1"' in shown.content.decode()
    sent = client.get(f"{opened}?download=1")
    assert sent["Content-Disposition"] == 'attachment; filename="mine-v1-validation.log"'
    assert b"".join(sent).decode() == log


def test_a_phase_that_rests_says_when_it_is_tried_again_and_why(cast: Cast, agent: Agent, visit: As) -> None:
    client = visit(cast.alice)
    build = factories.build(factories.submission(agent), JobState.RUNNING)
    job_give_back(job=build, code="engine_down", error="The engine did not answer.")
    build.refresh_from_db()
    assert build.not_before is not None
    shown = page(client, agent)
    assert f"It is tried again at about {build.not_before.astimezone(UTC):%H:%M} UTC (attempt 2 of" in shown
    assert "The engine did not answer." in shown


def test_a_waiting_phase_says_where_it_stands_in_the_queue(cast: Cast, agent: Agent, visit: As) -> None:
    client = visit(cast.alice)
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
    version = factories.ready(agent)
    build = factories.build(version, JobState.RUNNING, worker="secret-host:77")
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
    cast: Cast, agent: Agent, visit: As, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    client = visit(cast.alice)
    client.get("/inbox/")  # the first use of a session is noted
    for _ in range(2):
        factories.build(factories.submission(agent), JobState.QUEUED)
    with CaptureQueriesContext(connection) as few:
        page(client, agent)
    for _ in range(10):
        factories.build(factories.submission(agent), JobState.QUEUED)
    with django_assert_max_num_queries(len(few)):
        assert page(client, agent).count("in the queue") == 12


def test_the_owner_is_told_what_helps_after_a_fault_of_the_platform(cast: Cast, agent: Agent, visit: As) -> None:
    factories.ready(agent)
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


def test_versions_come_newest_first_with_their_phases_and_ranks(agent: Agent, visit: As, cast: Cast) -> None:
    client = visit(cast.alice)
    first = factories.ready(agent)
    rival = factories.ready(factories.agent(cast.bob, agent.environment))
    factories.tournament([rival, first])
    factories.submission(agent)
    response = client.get(address(agent))
    versions = response.context["versions"]
    assert [version.submission.number for version in versions] == [2, 1]
    assert [phase.title for phase in versions[0].phases] == ["Build", "Validation"]
    assert "2nd of 2, 0 points" in response.content.decode()
    # What was cancelled before any match was played has no places.
    Tournament.objects.update(state=TournamentState.CANCELLED)
    assert "cancelled, 2nd of 2, 0 points" in page(client, agent)
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
    assert "<dt>Rank</dt>" not in page


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
    assert "Version 1 plays" in page(client, agent)
    user_ban(user=agent.owner, reason="Shares accounts.")
    assert "Version 1 plays" not in page(client, agent)
    assert ">Disabled<" in page(client, agent)
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
    factories.ready(agent)
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


def test_the_page_asks_for_itself_while_a_phase_runs_and_gets_no_answer_without_news(
    agent: Agent, cast: Cast, visit: As
) -> None:
    factories.ready(agent)
    build = factories.build(factories.submission(agent), JobState.RUNNING)
    client = visit(cast.alice)
    seen = stamp(page(client, agent))
    assert 'hx-trigger="every 1s"' in page(client, agent)
    assert asked(client, agent, seen).status_code == 204
    Build.objects.filter(pk=build.pk).update(log="step 1")
    part = asked(client, agent, seen).content.decode()
    assert "step 1" in part
    assert "<html" not in part
    assert "Version 1 plays" in part
    assert "Version 2 is being built." in part
    factories.moved(Build.objects.filter(pk=build.pk), JobState.FAILED)
    part = asked(client, agent, stamp(part)).content.decode()
    assert 'hx-trigger="every' not in part
    assert "Version 2 failed." in part
    assert asked(client, agent, stamp(part)).status_code == 204


def test_the_answer_to_a_page_without_news_costs_a_part_of_it(
    agent: Agent, cast: Cast, visit: As, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    rivals = [factories.ready(factories.agent(cast.bob, agent.environment)) for _ in range(3)]
    for edition in range(1, 4):
        factories.tournament([factories.ready(agent), *rivals], edition=edition)
    factories.build(factories.submission(agent), JobState.RUNNING)
    client = visit(cast.alice)
    seen = stamp(page(client, agent))
    with django_assert_max_num_queries(21):
        assert asked(client, agent, seen).status_code == 204


def test_strangers_who_watch_an_agent_share_one_look(
    agent: Agent, cast: Cast, visit: As, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    players = [factories.ready(agent), factories.ready(factories.agent(cast.bob, agent.environment))]
    duel = factories.duel(factories.tournament(players), *players, number=2, state=JobState.RUNNING)
    with time_machine.travel(timezone.now(), tick=False):
        seen = stamp(page(visit(None), agent))
        assert asked(visit(None), agent, seen).status_code == 204
        with django_assert_max_num_queries(9):
            assert asked(visit(None), agent, seen).status_code == 204
        factories.moved(Duel.objects.filter(pk=duel.pk), JobState.FAILED)
        assert asked(visit(None), agent, seen).status_code == 200


@pytest.mark.parametrize("change", ["place", "duel", "fit", "test", "challenge", "bench", "owner"])
def test_each_change_of_what_the_page_shows_is_news(agent: Agent, cast: Cast, visit: As, change: str) -> None:
    old, new = factories.ready(agent), factories.ready(agent)
    rival = factories.ready(factories.agent(cast.bob, agent.environment))
    edition = factories.tournament([new, rival], state=TournamentState.RUNNING)
    promotion, challenge = factories.promotion(new, old), factories.challenged(new, rival)
    client = visit(cast.alice)
    seen = stamp(page(client, agent))
    match change:
        case "place":
            Participant.objects.filter(submission=new).update(rank=2)
        case "duel":
            factories.moved(edition.duels.all(), JobState.RUNNING)
        case "fit":
            factories.rating_pool(agent.environment)
            RatingPool.objects.update(fitted_at=timezone.now())
        case "test":
            Promotion.objects.filter(pk=promotion.pk).update(state="ACTIVATED", decided_at=timezone.now())
        case "challenge":
            Duel.objects.filter(challenge=challenge).update(matches_done=9, draws=0)
        case "bench":
            Submission.objects.filter(pk=new.pk).update(is_benched=True)
        case "owner":
            user_ban(user=agent.owner, reason="Shares accounts.")
            client = visit(cast.olga)
            seen = stamp(page(client, agent))
            user_unban(user=agent.owner)
    assert asked(client, agent, seen).status_code == 200


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
    with django_assert_max_num_queries(51):
        assert client.get(address(agent)).status_code == 200
