"""Agents disabled and people banned: it holds at once, also for what waits or runs, and it can be taken back."""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.db.models import Q
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django.fixtures import Settings

from arena_kit.environment.records import DuelRecord, MatchRecord, Outcome
from core.duels.services import duel_succeed
from core.errors import Refused
from core.jobs.artifacts import DuelArtifacts
from core.jobs.control import job_cancel, job_cancel_if_open
from core.jobs.lifecycle import job_claim
from core.jobs.states import StaleJob
from core.models import (
    Agent,
    Build,
    CancelCode,
    Duel,
    Environment,
    Evaluation,
    Job,
    JobFault,
    JobState,
    LedgerEntry,
    Participant,
    Publication,
    Submission,
    Tournament,
    TournamentState,
    User,
    Validation,
)
from core.moderation import withdrawals
from core.moderation.services import SAID, agent_disable, agent_enable, user_ban, user_unban
from core.moderation.withdrawals import participants_withdraw_barred
from core.people.tokens import token_create, token_find
from core.submissions.existing import submission_delete
from core.submissions.phases import build_succeed
from core.submissions.services import submission_repeat
from core.tests import factories
from core.tournaments.strikes import duel_play_again

pytestmark = pytest.mark.django_db
OPEN = (JobState.QUEUED, JobState.RUNNING)


@pytest.fixture
def alice() -> User:
    return factories.user("alice")


@pytest.fixture
def environment() -> Environment:
    return factories.environment()


def state(job: Job) -> tuple[str, str]:
    job.refresh_from_db()
    return job.state, job.error


def running_edition(players: list[Submission]) -> Tournament:
    return factories.tournament(players, state=TournamentState.RUNNING)


def players(environment: Environment, *owners: User) -> list[Submission]:
    return [factories.ready(factories.agent(owner, environment)) for owner in owners]


# --- Agents ------------------------------------------------------------------------------------------------


def test_all_open_work_of_a_disabled_agent_is_cancelled_and_no_other(alice: User, environment: Environment) -> None:
    agent, other = (factories.agent(alice, environment) for _ in range(2))
    done = factories.ready(agent)
    waiting, running = factories.submission(agent), factories.submission(agent)
    jobs: list[Job] = [
        factories.build(waiting, JobState.QUEUED),
        factories.validation(running, JobState.RUNNING),
        factories.publication(done, JobState.QUEUED),
    ]
    others = factories.build(factories.submission(other), JobState.QUEUED)

    agent_disable(agent=agent, reason="Mines coins.")

    assert [state(job) for job in jobs] == [("CANCELLED", SAID[CancelCode.AGENT_DISABLED])] * 3
    assert state(others)[0] == JobState.QUEUED
    assert (agent.is_disabled, agent.disabled_reason) == (True, "Mines coins.")


def test_a_worker_that_builds_for_a_disabled_agent_is_refused(alice: User, environment: Environment) -> None:
    agent = factories.agent(alice, environment)
    row = factories.build(factories.submission(agent), JobState.QUEUED)
    build = job_claim(kind=Build, job_id=row.pk, worker="worker-1")
    assert build is not None

    agent_disable(agent=agent, reason="Mines coins.")

    with pytest.raises(StaleJob):
        build_succeed(build=build, image="image", digest="", warnings=[], log="")
    assert not Validation.objects.exists()


def test_what_was_stopped_goes_on_when_the_agent_is_enabled_again(
    alice: User, environment: Environment, settings: Settings
) -> None:
    settings.PUBLISHER_REMOTE = "git@example.org:agents.git"
    agent = factories.agent(alice, environment, is_public=True)
    stopped, cancelled, gone, done = (factories.submission(agent) for _ in range(4))
    factories.build(stopped, JobState.QUEUED)
    factories.build(cancelled, JobState.CANCELLED, error="Not wanted.")
    factories.build(gone, JobState.QUEUED)
    factories.build(done)
    factories.validation(done)
    factories.publication(done, JobState.RUNNING)
    agent_disable(agent=agent, reason="A mistake.")
    Submission.objects.filter(pk=gone.pk).update(deleted_at=factories.NOON)

    agent_enable(agent=agent)

    assert list(Build.objects.filter(state__in=OPEN).values_list("submission", flat=True)) == [stopped.pk]
    assert Publication.objects.get(state=JobState.QUEUED).submission == done
    assert (agent.is_disabled, agent.disabled_reason) == (False, "")


def test_an_evaluation_that_was_stopped_is_asked_for_again(alice: User) -> None:
    row = factories.ready(factories.agent(alice, factories.task()))
    factories.evaluation(row, JobState.RUNNING)

    agent_disable(agent=row.agent, reason="A mistake.")
    assert not Evaluation.objects.filter(state__in=OPEN).exists()
    agent_enable(agent=row.agent)

    assert Evaluation.objects.get(state=JobState.QUEUED).submission == row


# --- Running editions --------------------------------------------------------------------------------------


def test_a_disabled_agent_leaves_the_running_edition_and_its_open_duels_are_cancelled(environment: Environment) -> None:
    rows = players(environment, *(factories.user(name) for name in ("ann", "bob", "cyd", "dan")))
    edition = running_edition(rows)
    ended = factories.tournament(rows[:2], edition=2)

    agent_disable(agent=rows[3].agent, reason="Cheats.")

    assert Participant.objects.exclude(withdrawn_at=None).get().submission == rows[3]
    open_ones = Duel.objects.filter(tournament=edition, state__in=OPEN)
    assert open_ones.exists()
    assert not open_ones.filter(player_1=rows[3]).exists()
    assert not open_ones.filter(player_2=rows[3]).exists()
    assert not ended.participants.exclude(withdrawn_at=None).exists()


def test_duels_of_everybody_who_leaves_are_taken_in_one_order(environment: Environment) -> None:
    """On PostgreSQL two who cancel the same duels in different orders would wait for each other for ever."""
    ann = factories.user("ann")
    *_, first, second = rows = players(environment, factories.user("bob"), factories.user("cyd"), ann, ann)
    theirs = Q(player_1__in=[first, second]) | Q(player_2__in=[first, second])
    duels = running_edition(rows).duels.filter(theirs, state__in=OPEN).order_by("pk")
    expected = list(duels.values_list("pk", flat=True))

    with CaptureQueriesContext(connection) as queries:
        user_ban(user=ann, reason="Cheats.")

    written = [re.search(r'^UPDATE "core_duel" .*"core_duel"."id" = (\d+)', query["sql"]) for query in queries]
    given = [int(found[1]) for found in written if found]
    assert given == expected
    assert len(given) == 3


def test_who_deletes_takes_rows_in_the_order_of_the_workers(alice: User, environment: Environment) -> None:
    """A worker holds its job before it writes into the submission: the other way round each waited for the other."""
    submission = factories.submission(factories.agent(alice, environment))
    Build.objects.create(submission=submission)
    with CaptureQueriesContext(connection) as queries:
        submission_delete(submission=submission)
    tables = [found[1] for query in queries if (found := re.match(r'UPDATE "core_(\w+)"', query["sql"]))]
    assert tables.index("build") < tables.index("submission")
    assert Build.objects.get().state == JobState.CANCELLED


def test_a_duel_that_is_played_meanwhile_is_not_rated(environment: Environment) -> None:
    rows = players(environment, factories.user("ann"), factories.user("bob"))
    edition = running_edition(rows)
    duel = job_claim(kind=Duel, job_id=edition.duels.get().pk, worker="worker-1")
    assert duel is not None

    agent_disable(agent=rows[0].agent, reason="Cheats.")

    match = MatchRecord(number=1, seed=1, seats=(0, 1), actions=(), outcome=Outcome.PLAYER_1, scores=(1.0, -1.0))
    record = DuelRecord(environment="tic-tac-toe-v1", seed=1, players=("one", "two"), matches=(match,))
    with pytest.raises(StaleJob):
        duel_succeed(duel=duel, record=record, artifacts=DuelArtifacts(1, "", "", ""), log="")
    assert not LedgerEntry.objects.exists()
    Submission.objects.update(image="image")
    with pytest.raises(Refused, match="taken out of the edition"):
        duel_play_again(duel=Duel.objects.get(pk=duel.pk))


def test_who_was_barred_while_an_edition_was_being_made_is_taken_out_later(environment: Environment) -> None:
    rows = players(environment, factories.user("ann"), factories.user("bob"), factories.user("cyd"))
    edition = running_edition(rows)
    Agent.objects.filter(pk=rows[2].agent.pk).update(is_disabled=True)

    for _ in range(2):
        participants_withdraw_barred(tournament=edition)

    assert edition.participants.exclude(withdrawn_at=None).get().submission == rows[2]
    assert not edition.duels.filter(player_2=rows[2], state__in=OPEN).exists()


def test_a_barred_participant_whose_row_is_damaged_keeps_no_other_in(
    environment: Environment, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rows = players(environment, factories.user("ann"), factories.user("bob"), factories.user("cyd"))
    edition = running_edition(rows)
    Agent.objects.filter(pk__in=[rows[0].agent.pk, rows[2].agent.pk]).update(is_disabled=True)

    def breaks(*, job: Duel, code: CancelCode, reason: str) -> None:
        if (job.player_1, job.player_2) == (rows[1], rows[2]):
            raise ValueError("Its state is not a state.")
        job_cancel_if_open(job=job, code=code, reason=reason)

    monkeypatch.setattr(withdrawals, "job_cancel_if_open", breaks)
    participants_withdraw_barred(tournament=edition)

    assert edition.participants.exclude(withdrawn_at=None).get().submission == rows[0]
    assert "Its state is not a state." in caplog.text


# --- People ------------------------------------------------------------------------------------------------


def test_a_ban_ends_sessions_and_tokens_for_good(alice: User) -> None:
    browser, now = Client(), datetime.now(UTC)
    browser.force_login(alice)
    _, token = token_create(owner=alice, name="t", now=now, days=365)
    assert browser.get("/profile/").status_code == 200

    user_ban(user=alice, reason="Uploads viruses.")

    assert browser.get("/profile/").status_code == 302
    assert browser.get("/api/v1/me/", headers={"Authorization": f"Bearer {token}"}).status_code == 401
    assert token_find(token, now=now) is None

    user_unban(user=alice)

    assert browser.get("/profile/").status_code == 302, "a session of before the ban"
    assert token_find(token, now=now) is None, "a token of before the ban"
    browser.force_login(alice)
    assert browser.get("/profile/").status_code == 200


def test_a_ban_stops_all_agents_and_its_end_lets_them_go_on(alice: User, environment: Environment) -> None:
    bob = factories.user("bob")
    rows = players(environment, alice, bob, bob)
    edition = running_edition(rows)
    waiting = factories.build(factories.submission(factories.agent(alice, environment)), JobState.QUEUED)
    of_bob = factories.build(factories.submission(rows[1].agent), JobState.QUEUED)

    user_ban(user=alice, reason="Uploads viruses.")

    assert state(waiting) == ("CANCELLED", SAID[CancelCode.OWNER_BANNED])
    assert state(of_bob)[0] == JobState.QUEUED
    assert edition.participants.exclude(withdrawn_at=None).get().submission == rows[0]

    user_unban(user=alice)

    assert Build.objects.filter(submission=waiting.submission, state=JobState.QUEUED).exists()
    assert Submission.objects.valid().filter(agent__owner=alice).get() == rows[0]


@pytest.mark.parametrize(
    ("stop", "go_on"),
    [
        (lambda agent: agent_disable(agent=agent, reason="Mines coins."), lambda agent: agent_enable(agent=agent)),
        (
            lambda agent: user_ban(user=agent.owner, reason="Uploads viruses."),
            lambda agent: user_unban(user=agent.owner),
        ),
    ],
    ids=["disabled", "banned"],
)
def test_what_was_stopped_goes_on_also_where_its_sentence_was_reworded_meanwhile(
    alice: User, environment: Environment, stop: Callable[[Agent], None], go_on: Callable[[Agent], None]
) -> None:
    agent = factories.agent(alice, environment)
    waiting = factories.build(factories.submission(agent), JobState.QUEUED)
    stop(agent)
    waiting.refresh_from_db()
    assert waiting.state == JobState.CANCELLED
    # As if the release that stopped it had said it in other words.
    Build.objects.update(error="Stopped.", public_error="Stopped.")

    go_on(agent)

    assert Build.objects.filter(submission=waiting.submission, state=JobState.QUEUED).exists()


def test_what_an_organiser_cancelled_in_the_words_of_a_ban_stays_cancelled(
    alice: User, environment: Environment
) -> None:
    agent = factories.agent(alice, environment)
    stopped = factories.build(factories.submission(agent), JobState.QUEUED)
    job_cancel(job=stopped, code=CancelCode.BY_ORGANISER, reason=SAID[CancelCode.OWNER_BANNED])

    user_ban(user=alice, reason="Uploads viruses.")
    user_unban(user=alice)

    assert not Build.objects.filter(state=JobState.QUEUED).exists()


def test_of_two_people_who_are_let_in_again_neither_holds_an_environment_that_the_other_wants_first(
    alice: User,
) -> None:
    earlier, later = factories.task("cart-pole"), factories.task("frozen-lake")
    for task in (later, earlier):
        factories.evaluation(factories.ready(factories.agent(alice, task)), JobState.QUEUED)
    user_ban(user=alice, reason="Uploads viruses.")

    user_unban(user=alice)

    again = Evaluation.objects.filter(state=JobState.QUEUED).order_by("pk")
    assert [row.environment for row in again] == [earlier, later]


def test_what_a_program_sends_again_at_the_moment_of_a_ban_is_not_built(alice: User, environment: Environment) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr("player.py", "class Player: ...")
    content = file.getvalue()
    submission = factories.submission(factories.agent(alice, environment))
    submission.archive_sha256 = hashlib.sha256(content).hexdigest()
    submission.save()
    factories.build(submission, JobState.FAILED, fault=JobFault.PLATFORM)
    # The program's request was let in before.
    user_ban(user=User.objects.get(pk=alice.pk), reason="Cheats.")
    with pytest.raises(Refused, match="account is closed"):
        submission_repeat(submission=submission, archive=SimpleUploadedFile("archive.zip", content))
    assert not Build.objects.filter(state__in=OPEN).exists()


def test_people_are_neither_banned_twice_nor_let_in_twice(alice: User) -> None:
    with pytest.raises(Refused):
        user_unban(user=alice)
    user_ban(user=alice, reason="One.")
    with pytest.raises(Refused):
        user_ban(user=alice, reason="Two.")
    assert alice.ban_reason == "One."


def test_only_who_knows_the_password_is_told_why_an_account_is_closed(alice: User, client: Client) -> None:
    user_ban(user=alice, reason="Uploads viruses.")
    page = client.post("/login/", {"username": alice.email, "password": "wrong"})
    assert "viruses" not in page.content.decode()
    page = client.post("/login/", {"username": alice.email, "password": factories.PASSWORD})
    assert "The organisers closed this account: Uploads viruses." in page.content.decode()


def test_a_banned_person_is_marked_where_others_still_see_their_results(
    alice: User, environment: Environment, client: Client
) -> None:
    rows = players(environment, alice, factories.user("bob"), factories.user("cyd"))
    factories.tournament(rows, edition=1)
    user_ban(user=alice, reason="Uploads viruses.")
    board = client.get(f"/environments/{environment.slug}/").content.decode()
    assert "account closed" in board
    assert 'href="/users/alice/"' not in board
    agent = rows[0].agent.name
    page = client.get(f"/environments/{environment.slug}/agents/{agent}/").content.decode()
    assert "owner's account is closed" in page
    assert client.get("/users/alice/").status_code == 404
