"""Owners stop what they have asked for, on pages and in the API; never what is rated or what others asked for."""

from __future__ import annotations

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains
from pytest_django.fixtures import Settings

from core.duels.challenges import challenge_cancel, challenge_create
from core.duels.services import duel_new, duels_enqueue
from core.errors import Refused
from core.jobs import control
from core.jobs.control import job_cancel
from core.jobs.lifecycle import job_claim
from core.models import AuditEntry, CancelCode, Challenge, Duel, Environment, Job, JobState, QuotaName, Submission, User
from core.people.audit_log import Operator
from core.people.quota_selectors import quota_list
from core.people.tokens import token_create
from core.submissions.existing import submission_rebuild
from core.tests import factories
from core.tests.factories import Cast

pytestmark = pytest.mark.django_db
HERE = "/environments/tic-tac-toe/agents/anna"


@pytest.fixture
def environment() -> Environment:
    return factories.environment()


@pytest.fixture
def anna(cast: Cast, environment: Environment) -> Submission:
    return factories.submission(factories.agent(cast.alice, environment, "anna"))


def logged_in(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


def program(person: User) -> Client:
    _, token = token_create(owner=person, name="test", now=timezone.now(), days=1)
    return Client(headers={"Authorization": f"Bearer {token}"})


def used(person: User, environment: Environment, name: QuotaName) -> int | None:
    found = quota_list(person, environment, now=timezone.now())
    return next(quota.used for quota in found if quota.name == name)


def test_an_owner_cancels_a_build_that_waits_and_has_the_upload_back(
    cast: Cast, anna: Submission, settings: Settings
) -> None:
    settings.QUOTAS = {**settings.QUOTAS, "uploads_per_day": 5}
    build = factories.build(anna, JobState.QUEUED)
    alice = logged_in(cast.alice)
    assertContains(alice.get(f"{HERE}/"), "Cancel the build</button>")
    assert logged_in(cast.bob).get(f"{HERE}/").status_code == 404
    assert logged_in(cast.bob).post(f"{HERE}/versions/1/cancel/").status_code == 403

    assertContains(alice.post(f"{HERE}/versions/1/cancel/", follow=True), "The build of version 1 is cancelled.")

    build.refresh_from_db()
    assert (build.state, build.cancel_code) == (JobState.CANCELLED, CancelCode.BY_OWNER)
    assert used(cast.alice, anna.agent.environment, QuotaName.UPLOADS_PER_DAY) == 0
    entry = AuditEntry.objects.get(action="cancel build")
    assert (entry.operator, entry.object_id, entry.channel) == ("alice", str(build.pk), AuditEntry.Channel.SITE)
    assertContains(
        alice.post(f"{HERE}/versions/1/cancel/", follow=True), "has no build, validation or evaluation to cancel"
    )


@pytest.mark.parametrize("kind", ["build", "validation"])
def test_what_has_begun_is_cancelled_under_its_worker_and_stays_charged(
    cast: Cast, anna: Submission, settings: Settings, kind: str
) -> None:
    settings.QUOTAS = {**settings.QUOTAS, "uploads_per_day": 5}
    if kind == "validation":
        # It waits, but its version was built already.
        factories.build(anna)
        job: Job = factories.validation(anna, JobState.QUEUED)
    else:
        claimed = job_claim(kind=type(row := factories.build(anna, JobState.QUEUED)), job_id=row.pk, worker="worker")
        assert claimed is not None
        job = claimed
    answer = program(cast.alice).post(f"/api/v1/jobs/{kind}/{job.pk}/cancel/")
    assert (answer.status_code, answer.json()["state"]) == (200, "CANCELLED")
    assert used(cast.alice, anna.agent.environment, QuotaName.UPLOADS_PER_DAY) == 1
    assert AuditEntry.objects.get(action=f"cancel {kind}").channel == AuditEntry.Channel.API


def test_an_evaluation_is_cancelled_and_what_stood_on_the_board_stays(cast: Cast) -> None:
    version = factories.ready(factories.agent(cast.alice, factories.task()))
    stands = factories.evaluation(version)
    again = factories.evaluation(version, JobState.QUEUED)
    assert program(cast.alice).post(f"/api/v1/jobs/evaluation/{again.pk}/cancel/").status_code == 200
    stands.refresh_from_db()
    assert stands.is_current
    over = program(cast.alice).post(f"/api/v1/jobs/evaluation/{again.pk}/cancel/")
    assert (over.status_code, "over already" in over.content.decode()) == (400, True)


def test_other_peoples_jobs_and_other_kinds_are_refused(cast: Cast, anna: Submission) -> None:
    build = factories.build(anna, JobState.QUEUED)
    assert program(cast.bob).post(f"/api/v1/jobs/build/{build.pk}/cancel/").status_code == 403
    assert Client().post(f"/api/v1/jobs/build/{build.pk}/cancel/").status_code == 401
    assert program(cast.alice).post("/api/v1/jobs/duel/1/cancel/").status_code == 404
    assert program(cast.alice).post("/api/v1/jobs/build/999/cancel/").status_code == 404
    build.refresh_from_db()
    assert build.state == JobState.QUEUED


def test_cancelling_a_build_gets_no_agent_out_of_rated_duels(cast: Cast, anna: Submission) -> None:
    factories.build(anna)
    factories.validation(anna)
    rival = factories.ready(factories.agent(cast.bob, anna.agent.environment))
    duel = factories.tournament([anna, rival]).duels.get()
    factories.moved(Duel.objects.filter(pk=duel.pk), JobState.QUEUED)
    build = submission_rebuild(submission=anna)
    refused = program(cast.alice).post(f"/api/v1/jobs/build/{build.pk}/cancel/")
    assert (refused.status_code, "takes part in a tournament" in refused.content.decode()) == (400, True)
    build.refresh_from_db()
    assert build.state == JobState.QUEUED


class TestAChallenge:
    @pytest.fixture
    def made(self, cast: Cast, environment: Environment) -> Challenge:
        asking = factories.ready(factories.agent(cast.alice, environment, "anna"))
        rival = factories.ready(factories.agent(cast.bob, environment, "berta"))
        factories.rating(rival)
        return challenge_create(user=cast.alice, agent=asking.agent, opponent=rival.agent)

    def test_its_owner_cancels_it_on_its_page(self, cast: Cast, made: Challenge, settings: Settings) -> None:
        settings.QUOTAS = {**settings.QUOTAS, "challenges_per_day": 5}
        address = f"/challenges/{made.pk}/"
        assertNotContains(logged_in(cast.bob).get(address), "Cancel this challenge")
        assert logged_in(cast.bob).post(f"{address}cancel/").status_code == 403
        alice = logged_in(cast.alice)
        assertContains(alice.get(address), "Cancel this challenge</button>")
        assertContains(alice.post(f"{address}cancel/", follow=True), "Cancelled 1 duel.")
        made.refresh_from_db()
        assert (made.duels.get().cancel_code, made.ended_at is None) == (CancelCode.BY_OWNER, False)
        assert used(cast.alice, made.submission.agent.environment, QuotaName.CHALLENGES_PER_DAY) == 0
        assertContains(alice.post(f"{address}cancel/", follow=True), "It is over already.")
        assert AuditEntry.objects.filter(action="cancel challenge", operator="alice").count() == 1

    def test_a_duel_that_has_begun_stays_charged(self, cast: Cast, made: Challenge, settings: Settings) -> None:
        settings.QUOTAS = {**settings.QUOTAS, "challenges_per_day": 5}
        assert job_claim(kind=Duel, job_id=made.duels.get().pk, worker="worker") is not None
        answer = program(cast.alice).post(f"/api/v1/challenges/{made.pk}/cancel/")
        assert (answer.status_code, answer.json()["duels"][0]["state"]) == (200, "CANCELLED")
        assert used(cast.alice, made.submission.agent.environment, QuotaName.CHALLENGES_PER_DAY) == 1

    def test_a_duel_that_ends_meanwhile_does_not_keep_the_others_from_being_cancelled(
        self, cast: Cast, made: Challenge, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = made.duels.get()
        second = duel_new(
            challenge=made, number=2, player_1=first.player_1, player_2=first.player_2, seed=1, match_count=2
        )
        duels_enqueue(duels=[second])

        def ends_first(*, job: Job, code: CancelCode, reason: str) -> None:
            if job.pk == first.pk and Duel.objects.get(pk=first.pk).state == JobState.QUEUED:
                factories.moved(Duel.objects.filter(pk=first.pk), JobState.SUCCEEDED)
            job_cancel(job=job, code=code, reason=reason)

        monkeypatch.setattr(control, "job_cancel", ends_first)
        operator = Operator(AuditEntry.Channel.SITE, "alice", cast.alice.pk)
        assert challenge_cancel(challenge=made, operator=operator) == 1
        second.refresh_from_db()
        assert second.cancel_code == CancelCode.BY_OWNER
        with pytest.raises(Refused, match="over already"):
            challenge_cancel(challenge=made, operator=operator)

    def test_only_who_asked_for_it_cancels_it(self, cast: Cast, made: Challenge) -> None:
        assert program(cast.bob).post(f"/api/v1/challenges/{made.pk}/cancel/").status_code == 403
        assert made.duels.get().state == JobState.QUEUED
