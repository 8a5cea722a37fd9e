"""What a worker of duels does first."""

from __future__ import annotations

from typing import Any

import pytest

from core.models import Duel, Environment, Job, JobState, Submission, Validation
from core.services.jobs import job_enqueue, job_succeed
from core.tests import factories
from core.worker import Pulse
from duel_runner import tasks

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Whose jobs were done, in order; nothing is really played."""
    done: list[str] = []

    def play(job: Job, pulse: Pulse, coming: object = None) -> None:
        done.append(job.submission.agent.owner.username if isinstance(job, Validation) else job.KIND)
        # All that the row of a duel with a result has.
        result: dict[str, Any] = {"outcome": "DRAW", "matches_done": 0} if isinstance(job, Duel) else {}
        job_succeed(job=job, **result)

    for name in ("_validate", "_duel"):
        monkeypatch.setattr(tasks, name, play)
    return done


@pytest.fixture
def duel() -> Duel:
    """A rated duel that waits."""
    environment = factories.environment()
    players = [factories.ready(factories.agent(factories.user(name), environment)) for name in ("ann", "bob")]
    duel = factories.tournament(players).duels.get()
    factories.moved(Duel.objects.all(), JobState.QUEUED)
    return duel


def uploaded(owner: str, environment: Environment, count: int) -> None:
    """Validations of new agents of a new user, in line."""
    user = factories.user(owner)
    for _ in range(count):
        submission: Submission = factories.submission(factories.agent(user, environment))
        job_enqueue(job=factories.validation(submission, JobState.QUEUED))


def test_fresh_validations_go_before_rated_duels_and_by_turns_of_their_owners(duel: Duel, played: list[str]) -> None:
    uploaded("greedy", duel.tournament.environment, 3)
    uploaded("cleo", duel.tournament.environment, 1)
    tasks.duel_run(duel.pk)
    # The message is for the duel: one validation goes before it, and before every further one.
    assert played == ["greedy", "duel", "cleo", "greedy", "greedy"]


def test_a_message_for_a_validation_is_for_the_one_whose_turn_it_is(duel: Duel, played: list[str]) -> None:
    environment = duel.tournament.environment
    uploaded("greedy", environment, 3)
    uploaded("cleo", environment, 1)
    for number in Validation.objects.filter(state=JobState.QUEUED).values_list("pk", flat=True):
        tasks.validation_run(number)
    assert played == ["greedy", "cleo", "greedy", "greedy"]


def test_a_reserved_worker_takes_no_duel(duel: Duel, played: list[str]) -> None:
    uploaded("cleo", duel.tournament.environment, 1)
    tasks.quick_run(duel.pk)
    tasks.quick_run(duel.pk)
    assert played == ["cleo"]
    duel.refresh_from_db()
    assert duel.state == JobState.QUEUED
