"""Packages, tasks, batches and rollouts: what is written, who sees it, and what it counts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.files.uploadedfile import SimpleUploadedFile
from pytest_django.fixtures import Settings

from arena_kit.rollout.agents.meter import Usage
from arena_kit.rollout.attempt import Work
from arena_kit.rollout.judge import TaskOutcome, TaskVerdict
from core.errors import QuotaExceeded, Refused
from core.jobs.phase_selectors import SubmissionStatus, submissions_with_phases
from core.jobs.phase_selectors import status_of as status_of_version
from core.jobs.states import StaleJob
from core.models import (
    Acceptance,
    Batch,
    BatchPurpose,
    CancelCode,
    Environment,
    JobFault,
    JobState,
    PackageBuild,
    Rollout,
    RolloutAgent,
    Task,
    User,
    WorldLease,
)
from core.rollouts.batches import (
    AgentChoice,
    Options,
    batch_cancel,
    batch_create,
    batch_hide,
    ranking_begin,
    ranking_renew,
    rollout_cancel,
)
from core.rollouts.board import board
from core.rollouts.figures import analytics, batch_figures
from core.rollouts.leases import world_closed, world_opened, worlds_settle
from core.rollouts.packages import package_build_ensure, package_build_fail, package_built, package_upload
from core.rollouts.permissions import (
    Viewer,
    answers_visible,
    archive_visible,
    models_for,
    rollouts_visible,
    work_visible,
)
from core.rollouts.reading import task_of
from core.rollouts.selectors import (
    TaskFilter,
    batch_rows,
    checks_shown,
    rollout_rows,
    tasks_current,
    tasks_filtered,
    verdicts_of,
)
from core.rollouts.services import JudgedRollout, rollout_finish
from core.rollouts.sets import task_set_choose
from core.rollouts.statuses import STATUSES, status_filter, status_of
from core.rollouts.storable import storable
from core.rollouts.tasks import tasks_upload
from core.submissions.existing import submission_delete
from core.submissions.phases import build_succeed
from core.tests import applications, factories
from core.tests.applications import MEMBERS, finished, running
from core.tournaments.cards import environment_figures

pytestmark = pytest.mark.django_db
STRANGER = AnonymousUser()


@pytest.fixture
def ann() -> User:
    return factories.user("ann")


@pytest.fixture
def desk() -> Environment:
    return applications.package().environment


def asked(rows: Any) -> Any:
    return rows.exclude(batch__purpose=BatchPurpose.ACCEPTANCE)


def test_a_package_makes_an_application_with_its_tasks_and_a_build() -> None:
    package = applications.package(is_built=False)
    desk = package.environment
    assert (desk.slug, desk.name, desk.is_app, desk.is_scored, desk.is_available) == ("desk", "Desk", True, True, False)
    assert sorted(desk.tasks.values_list("key", flat=True)) == ["count", "open", "rank", "secret"]
    assert package.builds.get().state == JobState.QUEUED
    assert "not-for-everyone" not in json.dumps(package.manifest)
    # Nothing is tried before there is a world to try it in.
    assert not Rollout.objects.exists()
    applications.built(package)
    desk.refresh_from_db()
    assert desk.is_available
    trials = Rollout.objects.order_by("task__key", "batch__agent_kind")
    assert [(one.task.key, one.batch.agent_kind) for one in trials] == [
        ("count", "NULL"), ("count", "SCRIPTED"), ("rank", "NULL"), ("secret", "NULL"),
    ]  # fmt: skip


def test_the_same_zip_is_one_package_and_another_one_the_next_number() -> None:
    olga, zipped = applications.organiser(), applications.packed()
    with MEMBERS:
        first, is_new = package_upload(owner=olga, archive=zipped)
        assert package_upload(owner=olga, archive=zipped) == (first, False)
        assert is_new
        second, _ = package_upload(owner=olga, archive=applications.packed(name="Desk 2"))
    assert (first.number, second.number, second.environment.name) == (1, 2, "Desk 2")


@pytest.mark.parametrize(
    ("who", "archive", "code"),
    [
        ("ann", applications.packed(), "not_yours"),
        ("olga", SimpleUploadedFile("p.zip", b"no zip"), "not_a_zip"),
        ("olga", applications.packed(origins=["http://other:1"]), "bad_value"),
        ("olga", applications.packed(slug="tic-tac-toe"), "slug_taken"),
    ],
)
def test_a_package_that_may_not_be_there_is_refused(who: str, archive: SimpleUploadedFile, code: str) -> None:
    factories.environment("tic-tac-toe-v1")
    owner = applications.organiser() if who == "olga" else factories.user(who)
    archive.seek(0)
    with MEMBERS, pytest.raises(Refused) as refused:
        package_upload(owner=owner, archive=archive)
    assert refused.value.code == code
    assert not PackageBuild.objects.exists()


def test_a_build_is_made_once_and_again_after_a_failure(desk: Environment) -> None:
    package = desk.packages.get()
    done = package.builds.get()
    assert package_build_ensure(package=package, seed=0) == done
    # Without other data for other seeds there is one build for all.
    assert package_build_ensure(package=package, seed=7) == done
    seeded = applications.package(is_built=False, slug="seeded", seeds=True)
    build = running(package_build_ensure(package=seeded, seed=3))
    package_build_fail(build=build, code="not_reproducible", error="The export differs.", log="")
    again = package_build_ensure(package=seeded, seed=3)
    assert (again.pk != build.pk, again.seed, again.state) == (True, 3, JobState.QUEUED)


def test_a_build_that_no_cluster_can_start_is_made_again_there(desk: Environment, settings: Settings) -> None:
    package = desk.packages.get()
    done = package.builds.get()
    settings.SANDBOX = "kubernetes"
    for reference, is_known in (("", False), ("registry/shop@sha256:1", True)):
        services = [{"service": {"name": "web"}, "reference": reference}]
        package.builds.filter(pk=done.pk).update(built={"schema": 1, "services": services})
        assert package_built(package, 0) == (done if is_known else None)
        assert (package_build_ensure(package=package, seed=0) == done) is is_known


def test_an_upload_of_tasks_creates_revises_and_tells_what_it_left_out(desk: Environment, ann: User) -> None:
    data = [
        {"id": "mine", "task": "Do it.", "answer": 1},
        {"id": "mine-too", "task": "do  IT.", "answer": 1},
        {"id": "count", "task": "Taken over.", "answer": 2},
        {"id": "bad", "task": "x", "login": "nobody"},
        {"id": "said-otherwise", "task": "Work!", "answer": 1},
    ]
    with MEMBERS:
        report = tasks_upload(owner=ann, environment=desk, data=json.dumps(data).encode()).file.report
        assert (report["count"], report["created"]) == (2, ["mine", "said-otherwise"])
        assert report["foreign"] == ["count"]
        assert ["mine", "said-otherwise"] in report["similar"]
        # What is left out as equal is not named a second time.
        assert not any("mine-too" in pair for pair in report["similar"])
        assert report["duplicates"] == [{"id": "mine-too", "same_as": "mine"}]
        assert "nobody" in report["skipped"][0]["reason"]
        changed = json.dumps([{"id": "mine", "task": "Do it now.", "answer": 1}]).encode()
        again = tasks_upload(owner=ann, environment=desk, data=changed)
    assert again.file.report["revised"] == [{"id": "mine", "revision": 2}]
    assert list(desk.tasks.filter(key="mine").order_by("revision").values_list("revision", "is_current")) == [
        (1, False), (2, True),
    ]  # fmt: skip


@pytest.mark.parametrize(("who", "may"), [("false", False), ("staff", False), ("members", True)])
def test_the_setting_says_who_may_upload_tasks(
    settings: Any, desk: Environment, ann: User, who: str, may: bool
) -> None:
    settings.ROLLOUTS = who
    data = b'[{"id": "mine", "task": "Do it."}]'
    if may:
        assert tasks_upload(owner=ann, environment=desk, data=data).written
    else:
        with pytest.raises(Refused):
            tasks_upload(owner=ann, environment=desk, data=data)


def test_a_task_is_accepted_when_its_oracle_passes_and_doing_nothing_fails(desk: Environment) -> None:
    task = desk.tasks.get(key="count")
    null, oracle = (task.rollouts.get(batch__agent_kind=kind) for kind in ("NULL", "SCRIPTED"))
    finished(oracle)
    task.refresh_from_db()
    assert (task.acceptance, task.verified_at) == (Acceptance.UNTRIED, None)
    finished(null, "NOT_SOLVED")
    task.refresh_from_db()
    assert task.acceptance == Acceptance.ACCEPTED
    assert task.verified_at is not None


@pytest.mark.parametrize(
    ("key", "oracle", "null", "code"),
    [("count", "NOT_SOLVED", "NOT_SOLVED", "oracle_failed"), ("count", "SOLVED", "SOLVED", "null_passed"),
     ("count", "FAULT", "NOT_SOLVED", "oracle_failed"), ("rank", None, "SOLVED", "null_passed")],
)  # fmt: skip
def test_a_task_that_does_not_tell_agents_apart_is_refused(
    desk: Environment, key: str, oracle: str | None, null: str, code: str
) -> None:
    task = desk.tasks.get(key=key)
    finished(task.rollouts.get(batch__agent_kind="NULL"), null)
    if oracle:
        finished(task.rollouts.get(batch__agent_kind="SCRIPTED"), oracle)
    task.refresh_from_db()
    assert (task.acceptance, task.acceptance_code) == (Acceptance.REFUSED, code)
    assert key not in [one.key for one in board(desk).tasks]


def test_a_batch_has_every_attempt_in_line_first_attempts_first(desk: Environment, ann: User) -> None:
    batch = applications.batch(ann, desk, "count", "open", attempts=2)
    rows = batch.rollouts.order_by("sort_key")
    assert [(one.task.key, one.attempt_number) for one in rows] == [
        ("count", 1), ("open", 1), ("count", 2), ("open", 2),
    ]  # fmt: skip
    assert {one.flow for one in rows} == {f"owner {ann.pk}"}


def test_batches_that_cannot_be_are_refused(desk: Environment, ann: User) -> None:
    bob = factories.user("bob")
    foreign = applications.version(factories.agent(bob, desk))
    everything = applications.tasks(desk)
    cases: list[tuple[dict[str, Any], str]] = [
        ({"tasks": []}, "no_tasks"),
        ({"tasks": everything}, "task_not_found"),
        ({"options": Options(attempts=0)}, "attempts"),
        ({"options": Options(attempts=51)}, "attempts"),
        ({"options": Options(limits={"steps": 0})}, "limits"),
        ({"options": Options(priority=1)}, "refused"),
        ({"agent": AgentChoice(RolloutAgent.MODEL)}, "no_model"),
        ({"agent": AgentChoice(RolloutAgent.MODEL, model=applications.model(users="STAFF"))}, "model_not_yours"),
        ({"agent": AgentChoice(RolloutAgent.SUBMISSION, submission=foreign)}, "agent_not_yours"),
        ({"agent": AgentChoice(RolloutAgent.SCRIPTED), "tasks": applications.tasks(desk, "open")}, "no_oracle"),
    ]
    for changes, code in cases:
        asking: dict[str, Any] = {
            "owner": ann, "environment": desk, "tasks": applications.tasks(desk, "count"),
            "agent": AgentChoice(RolloutAgent.NULL), **changes,
        }  # fmt: skip
        with MEMBERS, pytest.raises(Refused) as refused:
            batch_create(**asking)
        assert refused.value.code == code
    assert not Batch.objects.filter(owner=ann).exists()


def test_quotas_of_rollouts_are_counted_without_what_the_arena_spoilt(
    settings: Any, midday: None, desk: Environment, ann: User
) -> None:
    settings.QUOTAS = {**settings.QUOTAS, "rollouts_per_day": 3, "rollout_cost_per_day": 50}
    batch = applications.batch(ann, desk, "count", attempts=2)
    with pytest.raises(QuotaExceeded, match="1 of your 3 a day"):
        applications.batch(ann, desk, "count", attempts=2)
    spoilt, paid = batch.rollouts.all()
    factories.moved(Rollout.objects.filter(pk=spoilt.pk), JobState.FAILED, fault=JobFault.PLATFORM)
    assert applications.batch(ann, desk, "count").rollouts.count() == 1
    finished(paid, cost=50)
    with pytest.raises(QuotaExceeded, match="used up their cost limit"):
        applications.batch(ann, desk, "count")


def test_a_verdict_is_written_with_its_rollout_and_a_late_one_is_refused(desk: Environment, ann: User) -> None:
    rollout = applications.batch(ann, desk, "count").rollouts.get()
    running(rollout)
    assert rollout_cancel(rollout=Rollout.objects.get(pk=rollout.pk), code=CancelCode.BY_OWNER)
    late = JudgedRollout(TaskVerdict(TaskOutcome.SOLVED, score=1.0), Work(1), Usage(), 1, 1.0, 1.0, None, "")
    with pytest.raises(StaleJob):
        rollout_finish(rollout=rollout, result=late, artifacts={}, log="")
    assert not rollout.verdicts.exists()


@pytest.mark.parametrize(
    ("outcome", "state", "fault", "status"),
    [
        ("SOLVED", JobState.SUCCEEDED, "NONE", "success"),
        ("PARTIAL", JobState.SUCCEEDED, "NONE", "failed"),
        ("FAULT", JobState.FAILED, "PLAYER", "failed"),
    ],
)
def test_state_outcome_and_fault_are_three_things(
    desk: Environment, ann: User, outcome: str, state: str, fault: str, status: str
) -> None:
    rollout = applications.batch(ann, desk, "count").rollouts.get()
    assert status_of(rollout) == "pending"
    assert status_of(running(rollout)) == "provisioning"
    finished(rollout, outcome)
    assert (rollout.state, rollout.fault, status_of(rollout)) == (state, fault, status)
    assert rollout in Rollout.objects.filter(status_filter(status))
    assert [rollout in Rollout.objects.filter(status_filter(each)) for each in STATUSES].count(True) <= 2


def test_cancelling_a_batch_leaves_what_is_over(desk: Environment, ann: User) -> None:
    batch = applications.batch(ann, desk, "count", attempts=3)
    done, busy, _ = batch.rollouts.order_by("pk")
    finished(done)
    running(busy)
    assert batch_cancel(batch=batch) == 2
    assert [one.state for one in batch.rollouts.order_by("pk")] == ["SUCCEEDED", "CANCELLED", "CANCELLED"]
    batch_hide(batch=batch)
    assert not rollout_rows(ann).filter(batch=batch).exists()
    assert not batch_rows(ann).filter(pk=batch.pk).exists()


def test_answers_hidden_tasks_and_solutions_are_for_those_who_may_see_them(desk: Environment, ann: User) -> None:
    olga, bob = applications.organiser(), factories.user("bob")

    def keys(viewer: Viewer) -> list[str]:
        return sorted(tasks_current(viewer, desk).values_list("key", flat=True))

    assert keys(STRANGER) == keys(ann) == ["count", "open", "rank"]
    assert keys(olga) == ["count", "open", "rank", "secret"]
    assert [answers_visible(desk.tasks.get(key="count"), viewer) for viewer in (STRANGER, ann, olga)] == [
        False, False, True,
    ]  # fmt: skip
    (own,) = applications.uploaded(bob, desk, {"id": "own", "task": "Mine.", "answer": 5, "split": "HIDDEN"})
    assert "own" in keys(bob)
    assert "own" not in keys(ann)
    assert answers_visible(own, bob)
    of_practice = applications.batch(ann, desk, "count").rollouts.get()
    of_ranking = applications.batch(ann, desk, "rank").rollouts.get()
    viewers = (STRANGER, bob, ann, olga)
    assert [work_visible(of_practice, viewer) for viewer in viewers] == [True, True, True, True]
    assert [work_visible(of_ranking, viewer) for viewer in viewers] == [False, False, True, True]
    # The arena's own trials show oracles.
    assert not rollouts_visible(Rollout.objects.filter(batch__purpose="ACCEPTANCE"), ann).exists()
    package = desk.packages.get()
    assert [archive_visible(package, viewer) for viewer in viewers] == [False, False, False, True]


def test_models_are_for_those_whom_organisers_name(ann: User) -> None:
    applications.model("open")
    applications.model("dear", users="STAFF")
    applications.model("gone", is_active=False)
    with MEMBERS:
        assert [one.name for one in models_for(ann)] == ["open"]
        assert [one.name for one in models_for(applications.organiser())] == ["dear", "open"]
        assert not models_for(STRANGER).exists()


def test_what_checks_expected_is_left_out_for_most_people(desk: Environment, ann: User) -> None:
    rollout = finished(applications.batch(ann, desk, "count").rollouts.get(), "NOT_SOLVED")
    (verdict,) = verdicts_of(rollout)
    (hidden,), _ = checks_shown(verdict, with_expected=False)
    (whole,), _ = checks_shown(verdict, with_expected=True)
    assert "expected" not in hidden
    assert (hidden["kind"], hidden["passed"], whole["expected"]) == ("answer", False, "42")


def test_tasks_are_found_by_words_tags_and_how_often_they_are_solved(desk: Environment, ann: User) -> None:
    batch = applications.batch(ann, desk, "count", "rank", attempts=2)
    for rollout in batch.rollouts.select_related("task"):
        solved = rollout.task.key == "count" or rollout.attempt_number == 1
        finished(rollout, "SOLVED" if solved else "NOT_SOLVED")

    def found(**wanted: Any) -> list[str]:
        return [task.key for task in tasks_filtered(tasks_current(ann, desk), TaskFilter(**wanted))]

    assert found(query="letters count") == ["count"]
    assert found(tag="read") == ["count"]
    assert (found(often="always"), found(often="sometimes"), found(often="never")) == (["count"], ["rank"], [])
    row = tasks_current(ann, desk).get(key="rank")
    assert (row.rollout_count, row.attempt_count, row.solved_count, row.batch_count) == (2, 2, 1, 1)  # type: ignore[attr-defined]


def test_figures_leave_out_what_the_arena_spoilt(desk: Environment, ann: User) -> None:
    batch = applications.batch(ann, desk, "count", "rank", attempts=2)
    first, second, third, spoilt = batch.rollouts.order_by("task__key", "attempt_number")
    finished(first)
    finished(second, "NOT_SOLVED")
    finished(third, "FAULT")
    factories.moved(Rollout.objects.filter(pk=spoilt.pk), JobState.FAILED, fault=JobFault.PLATFORM)
    figures = batch_figures(batch.rollouts.all())
    assert (figures.summary.attempts, figures.summary.solved, figures.summary.spoilt_share) == (3, 1, 0.25)
    assert figures.any_of[1].value == 0.25
    assert figures.often == {"count": "sometimes", "rank": "never"}
    assert analytics(desk, ann).often["count"] == "sometimes"


def test_the_board_ranks_agents_by_the_tasks_that_they_solve(desk: Environment, ann: User) -> None:
    versions = [applications.version(factories.agent(ann, desk, name)) for name in ("good", "poor", "late")]
    for submission in versions:
        assert ranking_begin(submission=submission) is not None
    good, _, late = versions
    for rollout in Rollout.objects.filter(is_ranked=True).exclude(submission=late).select_related("task"):
        finished(rollout, "SOLVED" if rollout.submission_id == good.pk or rollout.task.key == "rank" else "FAULT")
    found = board(desk)
    assert (found.task_count, found.hidden_count) == (2, 1)
    assert [(row.rank, row.submission.agent.name, row.success.value, row.all_of_3.value) for row in found.rows] == [
        (1, "good", 1.0, 1.0), (2, "poor", 0.5, 0.5), (None, "late", None, None),
    ]  # fmt: skip
    assert found.rows[0].interval is not None
    assert found.rows[0].interval.low < 1.0
    assert found.rows[2].open_count == 6
    # The head of its pages counts agents that have worked for the board.
    figures = environment_figures(desk)
    assert (figures.agent_count, figures.user_count, figures.task_count) == (2, 1, 3)


def test_nobody_gets_a_second_chance_for_the_board_but_new_tasks_are_worked_at(desk: Environment, ann: User) -> None:
    submission = applications.version(factories.agent(ann, desk, "again"))
    assert ranking_begin(submission=submission) is not None
    for rollout in Rollout.objects.filter(is_ranked=True):
        finished(rollout, "NOT_SOLVED")
    assert ranking_renew(environment=desk) == []
    olga = applications.organiser()
    applications.uploaded(olga, desk, {"id": "new", "task": "Count new things.", "answer": 1, "split": "RANKING"})
    assert ranking_renew(environment=desk) == []
    task_set_choose(environment=desk, tasks=applications.tasks(desk, "rank", "secret", "new"), by=olga)
    (batch,) = ranking_renew(environment=desk)
    assert set(batch.rollouts.values_list("task__key", flat=True)) == {"new"}
    (row,) = board(desk).rows
    assert (row.rank, row.success.value) == (None, 0.0)


def test_a_version_of_an_application_works_for_the_board_once_it_is_built(desk: Environment, ann: User) -> None:
    submission = factories.submission(factories.agent(ann, desk, "fresh"))
    build = running(factories.build(submission, JobState.QUEUED))
    build_succeed(build=build, image="image", digest="sha256:1", warnings=[], log="")
    assert not submission.validations.exists()
    assert submission.rollouts.filter(is_ranked=True).count() == 2 * 3
    loaded = submissions_with_phases().get(pk=submission.pk)
    assert status_of_version(loaded) is SubmissionStatus.READY
    submission_delete(submission=submission)
    assert set(submission.rollouts.values_list("state", flat=True)) == {JobState.CANCELLED}


def test_rows_of_worlds_end_with_their_workers(desk: Environment, ann: User) -> None:
    rollout = applications.batch(ann, desk, "count").rollouts.get()
    for token in ("alive", "dead", "done"):
        world_opened(token=token, rollout=rollout, host="h", worker="h:1", memory_bytes=1, deadline=2e9)
    world_closed(token="done")  # the name of a world
    listed_at = WorldLease.objects.get(token="alive").opened_at
    # Those opened after the worlds were listed cannot be on the list.
    assert worlds_settle(host="h", alive=(), before=listed_at) == 0
    assert worlds_settle(host="h", alive={"alive"}) == 1
    assert list(WorldLease.objects.filter(closed_at=None).values_list("token", flat=True)) == ["alive"]
    assert worlds_settle(host="another", alive=()) == 0


def test_no_agent_can_make_its_result_unwritable(desk: Environment, ann: User) -> None:
    deep: Any = "end"
    for _ in range(500):
        deep = [deep]
    value = storable({"a\x00": "\ud800b", "n": float("nan"), "big": 10**5000, "deep": deep, "t": (True, None, 1.5)})
    assert (value["a"], value["n"], value["big"], value["t"]) == ("?b", "nan", "…", [True, None, 1.5])
    rollout = applications.batch(ann, desk, "count").rollouts.get()
    Rollout.objects.filter(pk=rollout.pk).update(answer=value, live=value)
    rollout.refresh_from_db()
    assert rollout.answer == value


def test_a_task_of_a_row_is_that_of_the_library(desk: Environment) -> None:
    row = Task.objects.select_related("environment").get(key="count")
    found = task_of(row)
    assert (found.key, found.work_sha256, found.fingerprint) == ("count", row.work_sha256, row.fingerprint)
