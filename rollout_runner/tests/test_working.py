"""What a worker of rollouts decides before, during and after a world; no world is needed for it."""

from __future__ import annotations

import io
import json
import socket
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.utils import timezone
from pytest_django.fixtures import Settings

from arena_kit.errors import PlatformFault
from arena_kit.rollout.attempt import Attempt, Phase, Work
from arena_kit.rollout.checks.evidence import SUCCESS
from arena_kit.rollout.gateway.endpoint import AskedModel, ChatForm, Endpoint
from arena_kit.rollout.judge import EndedBy, TaskOutcome, TaskVerdict
from arena_kit.rollout.recording.record import EXPORT, RECORD, RecordRefused, RolloutFacts, record_write
from arena_kit.rollout.worlds.built import BuiltPackage
from arena_kit.rollout.worlds.stored import built_as_json
from core.jobs.control import job_cancel_if_open
from core.jobs.lease import Lease
from core.jobs.states import StaleJob
from core.jobs.worker import Performed, perform
from core.models import Alarm, Batch, CancelCode, Environment, JobFault, JobState, Rollout, RolloutAgent, User
from core.rollouts.batches import AgentChoice, Options, batch_create
from core.rollouts.judging import judging_ask
from core.rollouts.packages import package_build_fail
from core.rollouts.reading import task_of
from core.settings.model_keys import ModelKey
from core.tests import applications, factories
from core.tests.applications import MEMBERS, finished, running
from rollout_runner import rechecks, working
from rollout_runner.agents import model_of, public_socket_or_fault
from rollout_runner.following import MOST_LIVE, MOST_TEXT, Follower
from rollout_runner.rechecks import rollouts_judge
from rollout_runner.working import rollout_perform, task_with_limits

pytestmark = pytest.mark.django_db


@pytest.fixture
def ann() -> User:
    return factories.user("ann")


@pytest.fixture
def desk() -> Environment:
    return applications.package().environment


def of_model(ann: User, desk: Environment, **fields: Any) -> Rollout:
    choice = AgentChoice(RolloutAgent.MODEL, model=applications.model(**fields))
    return applications.batch(ann, desk, "count", choice=choice).rollouts.get()


def performed(rollout: Rollout) -> Rollout:
    """A rollout as its worker leaves it."""
    claimed = Rollout.objects.select_related(*Rollout.RELATED).get(pk=running(rollout).pk)
    with Lease(claimed) as lease:
        rollout_perform(claimed, lease)
    rollout.refresh_from_db()
    return rollout


def test_limits_of_a_batch_are_never_wider_than_those_of_the_task(desk: Environment, ann: User) -> None:
    with MEMBERS:
        batch = batch_create(
            owner=ann, environment=desk, tasks=applications.tasks(desk, "count"),
            agent=AgentChoice(RolloutAgent.NULL),
            options=Options(limits={"steps": 5, "seconds": 7_000, "cost_micros": 9}),
        )  # fmt: skip
    limits = task_with_limits(batch.rollouts.get()).limits
    assert (limits.steps, limits.seconds, limits.cost_micros, limits.tokens) == (5, 900, 9, 500_000)


def test_limits_of_a_package_hold_for_tasks_without_their_own_and_for_older_wider_ones(ann: User) -> None:
    desk = applications.package(limits={"steps": 7, "seconds": 60, "cost": 2}).environment
    rollout = applications.batch(ann, desk, "count").rollouts.get()
    limits = task_with_limits(rollout).limits
    assert (limits.steps, limits.seconds, limits.agent_seconds, limits.cost_micros) == (7, 60, 300, 2_000_000)
    # As of a package that allowed more.
    rollout.task.definition = {**rollout.task.definition, "limits": {"steps": 40, "seconds": 30, "cost": 0.5}}
    limits = task_with_limits(rollout).limits
    assert (limits.steps, limits.seconds, limits.agent_seconds, limits.cost_micros) == (7, 30, 300, 500_000)


def test_a_task_that_asks_for_more_than_its_package_allows_is_not_taken() -> None:
    desk = applications.package(limits={"steps": 7}).environment
    wide = {"id": "wide", "task": "Look.", "answer": 1, "limits": {"steps": 8}}
    assert applications.uploaded(applications.organiser(), desk, wide) == []
    assert [task.key for task in applications.uploaded(applications.organiser(), desk, {**wide, "limits": {}})] == [
        "wide"
    ]


@pytest.mark.django_db(transaction=True)
def test_a_rollout_waits_for_its_package_and_fails_with_one_that_is_refused(ann: User) -> None:
    package = applications.package(slug="seeded", seeds=True)
    applications.uploaded(
        applications.organiser(), package.environment, {"id": "s", "task": "Look.", "answer": 1, "seed": 4}
    )
    rollout = applications.batch(ann, package.environment, "s").rollouts.get()
    performed(rollout)
    assert (rollout.state, rollout.attempt, rollout.error_code) == (JobState.QUEUED, 0, "package_not_built")
    build = package.builds.get(seed=4)
    assert build.state == JobState.QUEUED
    package_build_fail(build=running(build), code="hook_failed", error="No such seed.", log="")
    performed(rollout)
    assert (rollout.state, rollout.fault, rollout.error_code) == (JobState.FAILED, "PLATFORM", "package_refused")
    assert "No such seed." in rollout.error


@pytest.mark.django_db(transaction=True)
def test_a_rollout_waits_for_a_model_that_others_use_or_that_has_cost_enough(ann: User) -> None:
    desk = applications.package().environment
    first = of_model(ann, desk, parallel=1, cost_per_day_micros=100)
    model = first.batch.model
    second = applications.batch(ann, desk, "rank", choice=AgentChoice(RolloutAgent.MODEL, model=model)).rollouts.get()
    running(first)
    performed(second)
    assert (second.state, second.attempt, second.error_code) == (JobState.QUEUED, 0, "model_busy")
    finished(first, cost=100)
    Rollout.objects.filter(pk=first.pk).update(started_at=timezone.now())
    performed(second)
    assert (second.state, second.attempt, second.error_code) == (JobState.QUEUED, 0, "model_budget")


def test_a_model_without_its_key_is_misconfigured_and_the_key_is_shown_nowhere(settings: Settings) -> None:
    settings.MODEL_KEYS = {"mine": ModelKey("models.invalid", "very-secret")}
    row = applications.model(key_name="mine", sampling={"temperature": 0.5}, price_in_micros=7)
    found = model_of(row, 0.1)
    assert (found.key, found.fixed, found.prices.tokens_in) == ("very-secret", {"temperature": 0.5}, 7)
    assert "very-secret" not in repr(found)
    row.key_name = "another"
    with pytest.raises(PlatformFault) as fault:
        model_of(row, None)
    assert fault.value.code == "model_misconfigured"


@pytest.mark.parametrize(
    ("url", "key_name", "sentence"),
    [
        ("https://thief.example/v1", "mine", "The key mine is for the host models.invalid"),
        ("https://models.invalid:8443/v1", "mine", "The key mine is for the host models.invalid"),
        ("https://models.invalid@thief.example/v1", "mine", "The key mine is for the host models.invalid"),
        ("http://models.invalid/v1", "mine", "plain http can be read"),
        ("http://models.invalid/v1", "", "plain http can be read"),
        ("http://127.0.0.1:8426/steal", "", "plain http can be read"),
        ("file:///etc/passwd", "", "it has to begin with https://"),
        ("https://[models.invalid]/v1", "mine", "The key mine is for the host models.invalid"),
        ("https://[models.invalid]/v1", "", "this is not an address"),
        ("https://models.invalid/ v1", "", "it may contain only plain letters"),
    ],
)  # fmt: skip
def test_a_key_is_sent_to_its_host_alone_and_over_tls(
    settings: Settings, url: str, key_name: str, sentence: str
) -> None:
    settings.MODEL_KEYS = {"mine": ModelKey("models.invalid", "very-secret")}
    row = applications.model(key_name=key_name, url=url)
    with pytest.raises(PlatformFault, match=sentence) as fault:
        model_of(row, None)
    assert fault.value.code == "model_misconfigured"
    assert "very-secret" not in str(fault.value)


def test_a_model_whose_parameters_are_no_object_is_misconfigured() -> None:
    """An organiser may have saved it before the form refused such parameters."""
    with pytest.raises(PlatformFault, match="not an object") as fault:
        model_of(applications.model(sampling=[1, 2]), None)
    assert fault.value.code == "model_misconfigured"


def test_a_host_that_the_operator_names_may_be_private_and_plain_without_a_key(settings: Settings) -> None:
    settings.MODEL_KEYS = {"local": ModelKey("10.0.0.5:11434")}
    assert model_of(applications.model(key_name="local", url="http://10.0.0.5:11434/v1"), None).key == ""


def test_a_model_that_the_operator_has_not_named_is_not_asked_on_a_private_network() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        asked = AskedModel("m", f"https://localhost:{server.getsockname()[1]}/v1")
        endpoint = Endpoint(asked, ChatForm(), connect=public_socket_or_fault)
        with pytest.raises(PlatformFault, match="localhost is not on the public internet") as fault:
            endpoint.ask({})
    assert fault.value.code == "model_misconfigured"


@pytest.mark.django_db(transaction=True)
def test_a_model_that_is_set_wrongly_fails_its_rollout_at_once_and_alerts(
    ann: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    rollout = of_model(ann, applications.package().environment, key_name="lost")

    def run(*_: Any, **__: Any) -> None:
        model_of(rollout.batch.model, None)  # type: ignore[arg-type]

    monkeypatch.setattr(working, "package_here", lambda *_: None)
    monkeypatch.setattr(working, "worlds", lambda: None)
    monkeypatch.setattr(working, "rollout_run", run)
    performed(rollout)
    assert (rollout.state, rollout.error_code) == (JobState.FAILED, "model_misconfigured")
    assert Alarm.objects.filter(key="model-mimic-misconfigured", settled_at=None).exists()


def test_a_verdict_that_was_asked_for_is_made_or_says_why_not(
    ann: User, desk: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    olga = applications.organiser()
    rollouts = [finished(rollout, record="r.json") for rollout in batch_of(ann, desk).rollouts.order_by("pk")]
    for rollout in rollouts:
        judging_ask(rollout=rollout, by=olga)
    made: list[tuple[int, bool, User | None]] = []

    def judge(*, rollout: Rollout, folder: Path, by_newest_task: bool, made_by: User | None) -> None:
        made.append((rollout.pk, by_newest_task, made_by))
        if rollout.pk == rollouts[0].pk:
            raise RecordRefused("The export is no longer kept.", code="not_kept")
        if rollout.pk == rollouts[1].pk:
            raise RuntimeError("broken")

    monkeypatch.setattr(rechecks, "rollout_judge_again", judge)
    rollouts_judge()
    assert made == [(rollout.pk, False, olga) for rollout in rollouts]
    errors = list(Rollout.objects.order_by("pk").filter(batch__owner=ann).values_list("judging_asked", "judging_error"))
    assert errors[0] == ("", "The export is no longer kept.")
    assert errors[1][1].startswith("The arena could not judge it again")
    assert errors[2] == ("", "")
    rollouts_judge()
    assert len(made) == 3


def batch_of(ann: User, desk: Environment) -> Batch:
    return applications.batch(ann, desk, "count", attempts=3)


@pytest.mark.django_db(transaction=True)
def test_what_the_platform_spoils_is_tried_again(ann: User, monkeypatch: pytest.MonkeyPatch) -> None:
    rollout = applications.batch(ann, applications.package().environment, "count").rollouts.get()

    def run(*_: Any, **__: Any) -> None:
        raise PlatformFault("The browser is gone.", code="browser_failed")

    monkeypatch.setattr(working, "package_here", lambda *_: None)
    monkeypatch.setattr(working, "worlds", lambda: None)
    monkeypatch.setattr(working, "rollout_run", run)
    claimed = Rollout.objects.select_related(*Rollout.RELATED).get(pk=running(rollout).pk)
    assert perform(claimed, rollout_perform) is Performed.GIVEN_BACK
    rollout.refresh_from_db()
    assert (rollout.state, rollout.fault, rollout.error_code) == (
        JobState.QUEUED, JobFault.PLATFORM, "browser_failed",
    )  # fmt: skip
    assert (rollout.outcome, len(rollout.history)) == ("", 1)


def test_a_running_rollout_shows_its_latest_steps_and_ends_when_it_is_cancelled(
    desk: Environment, ann: User, tmp_path: Path
) -> None:
    rollout = running(applications.batch(ann, desk, "count").rollouts.get())
    lease = Lease(rollout)
    follower = Follower(rollout, lease, tmp_path, 5)
    follower.on_phase(Phase.PROVISIONING, None)
    assert not follower.is_cancelled()
    step = {"at_ms": 1, "action": {"action": "note", "text": "x" * 9_000}, "note": "n" * 9_000, "error": "",
            "url": "", "title": "", "tokens": 0, "cost_micros": 0}  # fmt: skip
    lines = [json.dumps({"number": number, **step}) + "\n" for number in range(1, MOST_LIVE + 11)]
    # The last line is still being written.
    (tmp_path / "steps.jsonl").write_text("".join(lines) + '{"number"')
    follower.on_phase(Phase.WORKING, None)
    lease.beat()
    rollout.refresh_from_db()
    assert (rollout.phase, rollout.step_count) == ("WORKING", MOST_LIVE + 10)
    shown = rollout.live["steps"]
    assert [shown[0]["number"], shown[-1]["number"]] == [11, MOST_LIVE + 10]
    assert (len(shown[0]["note"]), len(shown[0]["action"]["text"])) == (MOST_TEXT, MOST_TEXT)
    again = Follower(rollout, lease, tmp_path, 5)
    assert job_cancel_if_open(job=Rollout.objects.get(pk=rollout.pk), code=CancelCode.BY_OWNER, reason="Enough.")
    assert again.is_cancelled()
    with pytest.raises(StaleJob):
        again.raise_if_over()


@pytest.mark.parametrize("other", ["before", "after"])
def test_a_rollout_is_judged_by_the_newest_task_of_its_author(
    ann: User, desk: Environment, tmp_path: Path, other: str
) -> None:
    def guessed() -> None:
        applications.uploaded(ann, desk, {"id": "secret", "task": "A guess.", "answer": 9, "split": "HIDDEN"})

    olga, secret = applications.organiser(), applications.TASKS[3]
    if other == "before":
        guessed()
    task = desk.tasks.get(key="secret", member=None)
    with MEMBERS:
        choice = AgentChoice(RolloutAgent.NULL)
        rollout = batch_create(owner=olga, environment=desk, tasks=[task], agent=choice).rollouts.get()
    built = BuiltPackage(rollout.package.archive_sha256, "desk", (), (), 0, seed=rollout.seed)
    desk.packages.get().builds.update(built=built_as_json(built), fresh=stored(tmp_path, "fresh.zip", zipped()))
    attempt = Attempt(TaskVerdict(TaskOutcome.NOT_SOLVED), Work(4, SUCCESS, EndedBy.DONE), {})
    record_write(tmp_path, built, task_of(task), attempt, RolloutFacts(agent="null"))
    finished(rollout, "NOT_SOLVED", record=stored(tmp_path, RECORD), export=stored(tmp_path, EXPORT))
    applications.uploaded(olga, desk, {**secret, "answer": 4})
    if other == "after":
        guessed()
    judging_ask(rollout=rollout, by=olga, by_newest_task=True)
    rollouts_judge()
    rollout.refresh_from_db()
    assert (rollout.judging_error, rollout.outcome) == ("", "SOLVED")


def zipped() -> bytes:
    data = io.BytesIO()
    zipfile.ZipFile(data, "w").close()
    return data.getvalue()


def stored(folder: Path, name: str, content: bytes = b"") -> str:
    """The name of a file of a folder in the store."""
    return default_storage.save(name, ContentFile(content or (folder / name).read_bytes()))
