"""The order in which a worker of duels takes jobs."""

from __future__ import annotations

from typing import Any

import pytest

from arena_kit.errors import PlatformFault
from core.jobs import claims
from core.jobs.lease import Lease
from core.jobs.lifecycle import job_enqueue, job_fail, job_succeed
from core.jobs.registry import SERVICES
from core.jobs.worker import Performed, step
from core.jobs.workers import worker_appear
from core.models import Duel, Environment, Evaluation, Job, JobFault, JobState, Submission, Validation
from core.tests import factories
from core.tests.working import at_work, work
from duel_runner import tasks

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that collects the jobs' owners in order, without playing anything."""
    done: list[str] = []

    def play(job: Job, lease: Lease) -> None:
        done.append(job.submission.agent.owner.username if isinstance(job, Validation) else job.KIND)
        if isinstance(job, Evaluation):
            done[-1] += "" if job.is_verified else " of a script"
            job_fail(job=job, fault=JobFault.PLAYER, code="raised", error="It raised.")
            return
        # The minimum of a duel's row with a result.
        result: dict[str, Any] = {"outcome": "DRAW", "matches_done": 0} if isinstance(job, Duel) else {}
        job_succeed(job=job, **result)

    for line in SERVICES["duel"].lines:
        monkeypatch.setattr(line.perform, play)
    # The state of a process that has done nothing yet.
    monkeypatch.setattr(claims, "_rotas", {})
    return done


@pytest.fixture
def duel() -> Duel:
    """Return a waiting rated duel."""
    environment = factories.environment()
    players = [factories.ready(factories.agent(factories.user(name), environment)) for name in ("ann", "bob")]
    duel = factories.tournament(players).duels.get()
    factories.moved(Duel.objects.all(), JobState.QUEUED)
    return duel


def uploaded(owner: str, environment: Environment, count: int) -> None:
    """Return waiting validations of a new user's new agents."""
    user = factories.user(owner)
    for _ in range(count):
        submission: Submission = factories.submission(factories.agent(user, environment))
        job_enqueue(job=factories.validation(submission, JobState.QUEUED))


def test_fresh_validations_go_before_rated_duels_and_by_turns_of_their_owners(duel: Duel, played: list[str]) -> None:
    uploaded("greedy", duel.its_tournament.environment, 2)
    uploaded("cleo", duel.its_tournament.environment, 1)
    work("duel")
    assert played == ["greedy", "cleo", "greedy", "duel"]


def test_uploads_without_end_leave_rated_duels_every_fourth_job(duel: Duel, played: list[str]) -> None:
    environment = duel.its_tournament.environment
    again = factories.ready(factories.agent(factories.user("dan"), environment))
    factories.duel(duel.its_tournament, duel.player_1, again, number=2, state=JobState.QUEUED)
    for number in range(8):
        # One upload for each job that the worker does.
        uploaded(f"owner-{number}", environment, 1)
        step("duel")
    assert [number for number, what in enumerate(played, start=1) if what == "duel"] == [4, 8]


@pytest.fixture
def everything(duel: Duel) -> Duel:
    """Create three duels, two scripts, a recording, an evaluation and a validation, all waiting; return one duel."""
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


@pytest.mark.usefixtures("everything")
def test_one_bell_is_enough_for_all_that_waits(played: list[str]) -> None:
    work("duel")
    script = "evaluation of a script"
    assert played == ["cleo", "evaluation", "recording", script, "duel", script, "duel", "duel"]
    assert step("duel") is Performed.NOTHING


def test_evaluating_everybody_anew_does_not_stop_the_duels(duel: Duel, played: list[str]) -> None:
    task = factories.task()
    ready = factories.ready(factories.agent(factories.user("tom"), task))
    for _ in range(5):
        factories.evaluation(ready, JobState.QUEUED)
    for _ in range(2):
        step("duel")
    assert sorted(played) == ["duel", "evaluation"]


def test_a_job_that_was_given_back_leaves_the_others_to_the_next_worker(
    duel: Duel, played: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(job: Job, lease: Lease) -> None:
        raise PlatformFault("No archive.", code="archive_missing")

    monkeypatch.setattr(tasks, "validate", fail)
    uploaded("cleo", duel.its_tournament.environment, 1)
    work("duel")
    assert (played, at_work()) == ([], ["duel"])
    work("duel")
    assert played == ["duel"]


@pytest.mark.usefixtures("everything")
def test_a_reserved_worker_takes_what_is_short(played: list[str]) -> None:
    work("quick")
    assert played == ["cleo", "evaluation", "recording"]
    assert step("quick") is Performed.NOTHING


def alive(*names: str) -> None:
    for number, name in enumerate(names):
        worker_appear(name=name, host="host", pid=number, queue="duel", version="1", python="3")


def test_people_at_the_board_wait_for_no_other_work_and_keep_none_waiting(duel: Duel, played: list[str]) -> None:
    alive("worker-1")
    waiting = factories.sitting(duel.player_1, JobState.QUEUED)
    work("duel")
    assert (played, at_work()) == (["duel"], ["sitting"])
    claim = claims.claim_next("sitting", worker="host:1")
    assert claim is not None
    assert claim.job == waiting
