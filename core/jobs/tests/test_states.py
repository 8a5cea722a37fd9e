from __future__ import annotations

from datetime import timedelta
from itertools import product
from uuid import UUID

import pytest
from django.db import IntegrityError, transaction
from django.db.models import DateTimeField, ExpressionWrapper
from django.db.models.functions import Now
from django.utils import timezone

from core.jobs.states import TRANSITIONS, IllegalTransition, StaleJob, transition, wait_until
from core.models import Build, CancelCode, JobFault, JobState, Submission
from core.tests import factories

pytestmark = pytest.mark.django_db
Q, R, S, F, C = JobState.QUEUED, JobState.RUNNING, JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED
ALLOWED = {(Q, R), (Q, C), (R, S), (R, F), (R, C), (R, Q)}
TOKEN = UUID(int=7)


@pytest.fixture
def submission() -> Submission:
    return factories.submission(factories.agent(factories.user("ann"), factories.environment()))


def build_in(submission: Submission, state: JobState) -> Build:
    token = TOKEN if state == R else None
    return factories.build(submission, state, claim_token=token)


@pytest.mark.parametrize(("origin", "to"), sorted(ALLOWED))
def test_allowed_moves_reach_the_row(submission: Submission, origin: JobState, to: JobState) -> None:
    job = build_in(submission, origin)
    now = timezone.now()
    fields: dict[JobState, dict[str, object]] = {
        Q: {"claim_token": None, "lease_expires_at": None},
        R: {"claim_token": TOKEN, "lease_expires_at": now, "started_at": now, "worker": "worker-1"},
        S: {"lease_expires_at": None, "ended_at": now},
        F: {"lease_expires_at": None, "ended_at": now, "fault": JobFault.PLATFORM},
        C: {"lease_expires_at": None, "ended_at": now, "cancel_code": CancelCode.BY_ORGANISER},
    }
    transition(job, to, expected_token=job.claim_token, error="said so", **fields[to])

    assert (job.state, job.error) == (to, "said so")
    job.refresh_from_db()
    assert (job.state, job.error) == (to, "said so")


@pytest.mark.parametrize(("origin", "to"), sorted(set(product(JobState, JobState)) - ALLOWED))
def test_every_other_move_is_refused(submission: Submission, origin: JobState, to: JobState) -> None:
    job = build_in(submission, origin)
    said = f"A build in the state “{origin.label}” cannot enter the state “{to.label}”"
    with pytest.raises(IllegalTransition, match=said):
        transition(job, to, expected_token=job.claim_token)
    job.refresh_from_db()
    assert job.state == origin


def test_nothing_leaves_a_final_state() -> None:
    assert {state for state, moves in TRANSITIONS.items() if not moves} == {S, F, C}
    assert set(TRANSITIONS) == set(JobState)


@pytest.mark.parametrize("happened", [S, F, C, Q])
def test_who_knows_an_old_state_is_refused(submission: Submission, happened: JobState) -> None:
    job = build_in(submission, R)
    factories.moved(Build.objects.filter(pk=job.pk), happened)
    with pytest.raises(StaleJob):
        transition(job, S, expected_token=TOKEN, error="too late")
    assert (job.state, job.error) == (R, "")
    job.refresh_from_db()
    assert (job.state, job.error) == (happened, "" if happened != F else job.error)


def test_who_holds_an_old_claim_is_refused(submission: Submission) -> None:
    job = build_in(submission, R)
    Build.objects.filter(pk=job.pk).update(claim_token=UUID(int=8))
    with pytest.raises(StaleJob):
        transition(job, S, expected_token=TOKEN)
    job.refresh_from_db()
    assert (job.state, job.claim_token) == (R, UUID(int=8))


@pytest.mark.parametrize(
    "fields", [{"state": "DONE"}, {"state": "RUNNING", "claim_token": None}, {"state": "RUNNING"}], ids=str
)
def test_the_database_refuses_rows_that_make_no_sense(submission: Submission, fields: dict[str, object]) -> None:
    job = build_in(submission, Q)
    with pytest.raises(IntegrityError), transaction.atomic():
        Build.objects.filter(pk=job.pk).update(**fields)


def test_only_jobs_that_wait_are_made_to_wait_longer() -> None:
    made = factories.submission(factories.agent(factories.user("alice"), factories.environment()))
    rows = {state: factories.build(made, state) for state in JobState}
    later = Now() + timedelta(minutes=1)
    moment = ExpressionWrapper(later, output_field=DateTimeField())
    assert wait_until(Build.objects.all(), moment=moment, code="image_missing", error="It is built again.") == 1
    for state, row in rows.items():
        row.refresh_from_db()
        assert (row.state, row.error_code == "image_missing") == (state, state == Q)
    waiting = rows[Q]
    assert (waiting.public_error, waiting.attempt) == ("It is built again.", 0)
    # What is delayed for longer, e.g. on hold, is not brought forward.
    long = timezone.now() + timedelta(days=1)
    Build.objects.filter(pk=waiting.pk).update(not_before=long, error_code="environment_on_hold")
    assert wait_until(Build.objects.all(), moment=moment, code="image_missing", error="It is built again.") == 0
