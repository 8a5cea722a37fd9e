"""Lines of waiting jobs: an owner who uploads much does not starve the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from django.db import connection

from core.jobs.control import job_cancel
from core.jobs.lease import Lease
from core.jobs.lifecycle import job_claim, job_enqueue, job_give_back, job_succeed
from core.jobs.lines import line, places_of
from core.jobs.turns import sort_key_of
from core.jobs.worker import Performed, step
from core.models import Build, CancelCode, Environment, Evaluation, JobState, Submission, Validation
from core.tests import factories
from core.tests.concurrency import at_once

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
MANY = 2_000


@pytest.fixture
def environment() -> Environment:
    return factories.environment()


@pytest.fixture
def player(environment: Environment) -> Callable[[str], Submission]:
    """A submission of the user of this name, always the same."""
    made: dict[str, Submission] = {}

    def get(name: str) -> Submission:
        if name not in made:
            made[name] = factories.submission(factories.agent(factories.user(name), environment))
        return made[name]

    return get


def enqueue(submission: Submission, count: int = 1) -> list[Build]:
    builds = [Build.objects.create(submission=submission) for _ in range(count)]
    for build in builds:
        job_enqueue(job=build)
    return builds


def owner_of(build: Build) -> str:
    return build.submission.agent.owner.username


def serve() -> str:
    """Claim and finish the next build; say whose it was."""
    first = line(Build)[0].pk
    job = job_claim(kind=Build, job_id=first, worker="worker")
    assert job is not None
    job_succeed(job=job)
    return owner_of(job)


def test_who_uploads_much_waits_behind_who_uploads_little(player: Callable[[str], Submission]) -> None:
    enqueue(player("greedy"), 6)
    enqueue(player("ann"), 2)
    enqueue(player("bob"))
    assert [serve() for _ in range(9)] == ["greedy", "ann", "bob", "greedy", "ann", *["greedy"] * 4]


def test_who_comes_late_is_served_with_the_next_round(player: Callable[[str], Submission]) -> None:
    enqueue(player("greedy"), 8)
    assert [serve() for _ in range(4)] == ["greedy"] * 4
    enqueue(player("ann"))
    assert [serve() for _ in range(3)] == ["ann", "greedy", "greedy"]


def test_who_was_served_a_moment_ago_comes_after_who_was_not(player: Callable[[str], Submission]) -> None:
    enqueue(player("bob"), 3)
    # Ann and Cleo come again and again, one by one: Bob's second and third are not put off for ever.
    order = []
    for name in ("ann", "cleo", "ann", "cleo", "ann"):
        enqueue(player(name))
        order.append(serve())
    assert order == ["bob", "ann", "cleo", "bob", "ann"]


def test_a_line_that_moves_fast_does_not_put_off_who_comes_into_a_slow_one(player: Callable[[str], Submission]) -> None:
    task = factories.task()

    def script(name: str) -> Evaluation:
        agent = factories.agent(player(name).agent.owner, task)
        made = factories.script_evaluation(factories.script(agent), JobState.QUEUED)
        job_enqueue(job=made)
        return made

    greedy = [script("greedy") for _ in range(3)]
    ready = factories.ready(factories.agent(player("ann").agent.owner, task))
    # Of players' evaluations Ann has had many meanwhile.
    factories.evaluation(ready, turn=MANY, begun_turn=MANY)

    anns, bobs = script("ann"), script("bob")
    scripts = line(Evaluation).filter(is_verified=False)
    assert list(scripts) == [greedy[0], anns, bobs, *greedy[1:]]


def test_what_was_cancelled_before_it_was_begun_is_not_held_against_anybody(
    player: Callable[[str], Submission],
) -> None:
    for build in enqueue(player("ann"), 5):
        job_cancel(job=build, code=CancelCode.BY_ORGANISER, reason="The submission is built again.")
    enqueue(player("bob"), 3)
    enqueue(player("ann"))
    assert [serve() for _ in range(4)] == ["bob", "ann", "bob", "bob"]


def test_what_was_done_long_ago_is_not_held_against_anybody(player: Callable[[str], Submission]) -> None:
    enqueue(player("ann"), 5)
    assert [serve() for _ in range(5)] == ["ann"] * 5
    enqueue(player("bob"), 3)
    enqueue(player("ann"))
    # Both have had turns up to now: Bob's second and Ann's first of this round are of one turn.
    assert [serve() for _ in range(4)] == ["bob", "bob", "ann", "bob"]


def test_work_of_owners_begun_before_goes_first(player: Callable[[str], Submission]) -> None:
    enqueue(player("ann"), 3)
    job = job_claim(kind=Build, job_id=line(Build)[2].pk, worker="worker")
    assert job is not None
    job_give_back(job=job, code="worker_lost", error="The worker stopped answering.")
    Build.objects.update(not_before=None)
    assert line(Build)[0] == job


def test_places_are_those_in_which_jobs_are_taken(player: Callable[[str], Submission]) -> None:
    for name, count in (("greedy", 5), ("ann", 2), ("bob", 1)):
        enqueue(player(name), count)
    delayed = Build.objects.latest("pk")
    Build.objects.filter(pk=delayed.pk).update(not_before=factories.NOON)
    order = list(line(Build).values_list("pk", flat=True))
    every = list(Build.objects.values_list("pk", flat=True))

    assert places_of(Build, every) == {number: place for place, number in enumerate(order, start=1)}
    assert delayed.pk not in order


def test_kinds_have_lines_of_their_own(player: Callable[[str], Submission]) -> None:
    enqueue(player("ann"), 3)
    validation = factories.validation(player("ann"), JobState.QUEUED)
    job_enqueue(job=validation)
    assert places_of(Validation, [validation.pk]) == {validation.pk: 1}


@pytest.mark.slow
def test_the_next_of_thousands_is_found_by_an_index(player: Callable[[str], Submission]) -> None:
    Build.objects.bulk_create(
        Build(submission=player("greedy"), turn=turn, sort_key=sort_key_of(turn)) for turn in range(1, MANY)
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE core_build")
    enqueue(player("ann"))
    enqueue(player("greedy"))
    found = line(Build).values_list("pk", flat=True)[:8]
    assert "build_in_line" in found.explain()
    assert owner_of(Build.objects.get(pk=found[1])) == "ann"


@pytest.mark.django_db(transaction=True)
def test_of_workers_that_look_together_each_does_another_job_and_no_owner_is_served_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    environment = factories.environment()
    greedy, *others = (
        factories.submission(factories.agent(factories.user(name), environment))
        for name in ("greedy", "ann", "bob", "cleo")
    )
    enqueue(greedy, 8)
    for other in others:
        enqueue(other)
    done: list[Build] = []

    def action(job: Build, lease: Lease) -> None:
        done.append(job)
        job_succeed(job=job)

    monkeypatch.setattr("builder.tasks.build_image", action)
    outcomes = at_once(*[lambda: step("build")] * 4)

    assert outcomes == [Performed.DONE] * 4
    assert Counter(map(owner_of, done)) == {"greedy": 1, "ann": 1, "bob": 1, "cleo": 1}
    left = at_once(*[lambda: step("build")] * 8)
    assert left.count(Performed.DONE) == 7
    assert len({job.pk for job in done}) == len(done) == 11
