"""What a worker of duels does first, whatever its message names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from core.jobs.lifecycle import job_enqueue, job_fail, job_succeed
from core.jobs.worker import PlatformFault, Pulse
from core.models import Duel, Environment, Evaluation, Job, JobFault, JobState, Submission, Validation
from core.tests import factories
from duel_runner import tasks

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Whose jobs were done, in order; nothing is really played."""
    done: list[str] = []

    def play(job: Job, pulse: Pulse, coming: object = None) -> None:
        done.append(job.submission.agent.owner.username if isinstance(job, Validation) else job.KIND)
        if isinstance(job, Evaluation):
            done[-1] += "" if job.is_verified else " of a script"
            job_fail(job=job, fault=JobFault.PLAYER, code="raised", error="It raised.")
            return
        # All that the row of a duel with a result has.
        result: dict[str, Any] = {"outcome": "DRAW", "matches_done": 0} if isinstance(job, Duel) else {}
        job_succeed(job=job, **result)

    for name in ("_validate", "_duel", "evaluate", "draw"):
        monkeypatch.setattr(tasks, name, play)
    # As in a process that has done nothing yet.
    monkeypatch.setattr(tasks, "_turns", [tasks._next_recording, tasks._next_script, tasks._next_duel])
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
    uploaded("greedy", duel.its_tournament.environment, 3)
    uploaded("cleo", duel.its_tournament.environment, 1)
    tasks.duel_run(duel.pk)
    assert played == ["greedy", "cleo", "greedy", "greedy", "duel"]


def test_a_message_for_a_validation_is_for_the_one_whose_turn_it_is(
    duel: Duel, played: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = duel.its_tournament.environment
    uploaded("greedy", environment, 3)
    uploaded("cleo", environment, 1)
    # A worker that looks at its messages after every job.
    monkeypatch.setattr(tasks, "AWAKE_SECONDS", 0.0)
    for number in Validation.objects.filter(state=JobState.QUEUED).values_list("pk", flat=True):
        tasks.validation_run(number)
    assert played == ["greedy", "cleo", "greedy", "greedy"]


@pytest.fixture
def everything(duel: Duel) -> Duel:
    """One of three waiting duels; beside them wait two scripts, a recording, an evaluation and a validation."""
    players = [factories.ready(factories.agent(factories.user(f"p{n}"), duel.player_1.agent.environment)) for n in "cd"]
    for player in players:
        factories.duel(duel.its_tournament, duel.player_1, player, number=player.pk, state=JobState.QUEUED)
    task = factories.task()
    sam, tom = (factories.user(name) for name in ("sam", "tom"))
    for owner in (sam, tom):
        factories.script_evaluation(factories.script(factories.agent(owner, task)), JobState.QUEUED)
    recorded = factories.evaluation(factories.ready(factories.agent(sam, task)))
    factories.recording(recorded, state=JobState.QUEUED)
    factories.evaluation(factories.ready(factories.agent(tom, task)), JobState.QUEUED)
    uploaded("cleo", task, 1)
    return duel


@pytest.mark.parametrize("run", [tasks.validation_run, tasks.evaluation_run, tasks.recording_run, tasks.duel_run])
def test_nobody_waits_for_a_message_of_their_own(
    everything: Duel, played: list[str], run: Callable[[int], None]
) -> None:
    run(everything.pk)
    script = "evaluation of a script"
    assert played == ["cleo", "evaluation", "recording", script, "duel", script, "duel", "duel"]


def test_a_job_that_was_given_back_does_not_cost_another_one_its_message(
    duel: Duel, played: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(job: Job, pulse: Pulse) -> None:
        raise PlatformFault("No archive.", code="archive_missing")

    monkeypatch.setattr(tasks, "_validate", fail)
    uploaded("cleo", duel.its_tournament.environment, 1)
    tasks.duel_run(duel.pk)
    assert played == []
    tasks.validation_run(Validation.objects.get(state=JobState.QUEUED).pk)
    assert played == ["duel"]


def test_a_reserved_worker_takes_what_is_short(everything: Duel, played: list[str]) -> None:
    tasks.quick_run(everything.pk)
    assert played == ["cleo", "evaluation", "recording"]
    tasks.quick_run(everything.pk)
    assert len(played) == 3
