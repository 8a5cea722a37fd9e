from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from urllib.parse import quote

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection
from pytest_django.fixtures import Settings

from arena_kit.environment.availability import Trials
from arena_kit.environment.registry import all_specs, get_spec
from core.environments import availability
from core.environments.availability import availability_note, environment_retire
from core.environments.services import environment_sync
from core.jobs.messages import task_request, waiting_count
from core.jobs.worker_selectors import workers_alive
from core.management.commands import sync_environments
from core.management.commands.run_workers import Command as RunWorkers
from core.models import Alarm, Environment, JobState, Tournament, User, Worker
from core.tests import factories
from core.tests.organising import ready

DEADLINE_SECONDS = 300


def run(*arguments: str) -> str:
    output = StringIO()
    call_command(*arguments, stdout=output)
    return output.getvalue()


@pytest.mark.django_db
@pytest.mark.slow
def test_sync_environments_creates_and_updates_a_row_for_every_spec() -> None:
    ids = [spec.id for spec in all_specs()]
    assert run("sync_environments").splitlines() == [f"{name}: created" for name in ids]
    Environment.objects.filter(slug="quarto").update(name="Old name")
    assert run("sync_environments").splitlines() == [f"{name}: up to date" for name in ids]
    assert Environment.objects.get(slug="quarto").name == "Quarto"
    assert Environment.objects.count() == len(ids)


@pytest.fixture
def nothing_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Return whether environments can be made here takes long to find out."""
    monkeypatch.setattr(sync_environments, "Trials", lambda slugs, folders: Trials([], folders))


@pytest.mark.django_db
@pytest.mark.usefixtures("nothing_is_tried")
@pytest.mark.slow
def test_sync_environments_takes_environments_without_code_out_of_use() -> None:
    run("sync_environments")
    gone = Environment.objects.get(slug="quarto")
    gone.pk, gone.slug, gone.env_id = None, "chess", "chess-v1"
    gone.save(force_insert=True)
    assert run("sync_environments").splitlines()[-1] == "chess: no longer in the code, made inactive"
    assert not Environment.objects.get(slug="chess").is_active
    assert Environment.objects.filter(is_active=False).count() == 1
    assert "chess" not in run("sync_environments")


@pytest.mark.django_db
@pytest.mark.usefixtures("nothing_is_tried")
@pytest.mark.slow
def test_sync_environments_finishes_closing_an_environment_when_it_was_interrupted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    people, gone = factories.cast(), factories.environment()
    gone.pk, gone.slug, gone.env_id = None, "chess", "chess-v1"
    gone.save(force_insert=True)
    one, other = (ready(people, gone, name) for name in ("anna", "berta"))
    edition = Tournament.objects.create(environment=gone, edition=1)
    duel = factories.duel(edition, one, other, number=1, state=JobState.QUEUED)

    def interrupted(**_: object) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(availability, "job_cancel_if_open", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run("sync_environments", "--retire", "chess")
    duel.refresh_from_db()
    assert (duel.state, Environment.objects.get(slug="chess").is_active) == (JobState.QUEUED, False)

    assert run("sync_environments").splitlines()[-1].endswith("made inactive; open duels cancelled: 1")
    duel.refresh_from_db()
    assert duel.state == JobState.CANCELLED


@pytest.mark.django_db
@pytest.mark.usefixtures("nothing_is_tried")
@pytest.mark.slow
def test_a_missing_folder_of_an_environment_with_agents_rings_and_its_duels_wait() -> None:
    people, gone = factories.cast(), factories.environment()
    gone.pk, gone.slug, gone.env_id, gone.name = None, "chess", "chess-v1", "Chess"
    gone.save(force_insert=True)
    one, other = (ready(people, gone, name) for name in ("anna", "berta"))
    edition = Tournament.objects.create(environment=gone, edition=1)
    duel = factories.duel(edition, one, other, number=1, state=JobState.QUEUED)

    with pytest.raises(CommandError, match="Some environments are missing: chess") as refused:
        run("sync_environments")
    assert refused.value.returncode == 1
    # As the service `migrate` of compose does at each start: one missing game does not keep all others away.
    said = run("sync_environments", "--allow-left-out")
    assert "chess: not available here. Its folder or file is missing. Put it back" in said
    duel.refresh_from_db()
    gone.refresh_from_db()
    assert (duel.state, duel.error_code, duel.attempt) == (JobState.QUEUED, "environment_unavailable", 0)
    assert (gone.is_active, gone.is_available) == (True, False)
    alarm = Alarm.objects.get()
    assert (alarm.key, alarm.settled_at) == ("environment-chess-unavailable", None)
    assert "--retire chess" in alarm.message

    availability_note(environment=gone, trouble=None)
    duel.refresh_from_db()
    assert (duel.state, duel.not_before, duel.error_code) == (JobState.QUEUED, None, "")
    alarm.refresh_from_db()
    assert alarm.settled_at is not None


@pytest.mark.django_db
@pytest.mark.usefixtures("nothing_is_tried")
@pytest.mark.slow
def test_sync_environments_shows_settings_that_differ_from_the_file_and_keeps_them() -> None:
    spec = get_spec("quarto")
    quarto, _ = environment_sync(spec=spec)
    environment_retire(environment=quarto)
    assert f"{spec.id}: active again" in run("sync_environments").splitlines()
    Environment.objects.filter(slug="quarto").update(matches_per_duel=20)

    differs = f"{spec.id}: matches per duel: 20 here, {spec.matches_per_duel} in info.yml; `--reset-limits` applies it"
    assert differs in run("sync_environments").splitlines()
    assert Environment.objects.get(slug="quarto").matches_per_duel == 20
    assert f"{spec.id}: up to date" in run("sync_environments", "--reset-limits").splitlines()
    assert Environment.objects.get(slug="quarto").matches_per_duel == spec.matches_per_duel


@pytest.mark.django_db
@pytest.mark.usefixtures("nothing_is_tried")
@pytest.mark.slow
def test_sync_environments_says_what_new_rules_of_a_game_and_of_a_task_did() -> None:
    game, task = (environment_sync(spec=get_spec(slug))[0] for slug in ("quarto", "cart-pole"))
    people = factories.cast()
    for environment in (game, task):
        ready(people, environment, "anna")
    # Before, the game was played by rules that its file has as earlier, and the task by rules that are gone.
    Environment.objects.filter(pk=game.pk).update(version=1)
    Environment.objects.filter(pk=task.pk).update(version=7)

    said = run("sync_environments").splitlines()

    changed = "the rules have changed: 1 version is"
    assert f"{game.spec_id}: {changed} validated again, quarto-v1 is kept for its 0 matches" in said
    gone = "cart-pole-v7 is not kept, and its 0 evaluations can be neither drawn nor checked"
    assert f"{task.spec_id}: {changed} evaluated again, {gone}" in said


@pytest.mark.django_db
@pytest.mark.usefixtures("nothing_is_tried")
@pytest.mark.slow
def test_only_environments_whose_code_is_gone_are_retired() -> None:
    with pytest.raises(CommandError, match="quarto is no environment whose code is gone"):
        run("sync_environments", "--retire", "quarto")


@pytest.mark.django_db
def test_an_environment_whose_code_comes_back_is_active_again() -> None:
    spec = get_spec("quarto")
    quarto, _ = environment_sync(spec=spec)
    environment_retire(environment=quarto)
    assert environment_sync(spec=spec)[0].is_active
    availability_note(environment=quarto, trouble=None)
    # One that an organiser has made inactive stays so.
    Environment.objects.update(is_active=False)
    assert not environment_sync(spec=spec)[0].is_active


@pytest.mark.django_db
@pytest.mark.usefixtures("nothing_is_tried")
@pytest.mark.slow
def test_sync_environments_gives_the_public_name_of_what_was_renamed_to_its_new_row() -> None:
    run("sync_environments")
    Environment.objects.filter(slug="cart-pole").update(slug="pole-on-a-cart")

    assert "cart-pole-v1: created" in run("sync_environments").splitlines()

    assert Environment.objects.get(env_id="CartPole-v1").slug == "cart-pole"
    assert Environment.objects.get(slug="pole-on-a-cart").env_id == "retired:pole-on-a-cart"


def test_workers_of_duels_say_at_their_start_when_their_sandbox_cannot_be_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path / 'silent.sock'}")
    output = StringIO()

    RunWorkers(stdout=output)._check_sandbox()

    assert output.getvalue().startswith("WARNING: The sandbox docker cannot be checked: No Docker engine answers")


def test_run_workers_refuses_a_queue_that_does_not_exist() -> None:
    queues = "build, duel, sitting, tournament, publish, quick, heavy"
    with pytest.raises(CommandError, match=rf"no queue 'fish'\. The queues are: {queues}\."):
        run("run_workers", "duel", "fish")


def wait_until(true: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not true():
        assert time.monotonic() < deadline, f"not within {DEADLINE_SECONDS} s: {what}"
        time.sleep(0.1)


def processes() -> Iterator[tuple[int, int, int]]:
    """(pid, parent, session) of everything that lives on this machine."""
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent, _, session = file.read_text().rpartition(")")[2].split()[:4]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if state != "Z":
            yield int(file.parent.name), int(parent), int(session)


def of_session(session: int) -> list[int]:
    return [pid for pid, _, found in processes() if found == session]


def children_of(parent: int) -> list[int]:
    return [pid for pid, found, _ in processes() if found == parent]


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.nightly
def test_workers_take_the_messages_of_their_own_queue_and_leave_nothing_behind() -> None:
    """The whole way over the database's queues: requests, processes, restart, SIGTERM."""
    queues = ("tournament", "publish")
    requests = {"build": "images_remove_unused", "tournament": "artifacts_remove_unused", "publish": "mails_send"}
    for queue, task in requests.items():
        task_request(queue, task)
    workers = subprocess.Popen(
        [sys.executable, "manage.py", "run_workers", *queues],
        cwd=settings.BASE_DIR,
        env={
            **os.environ,
            "DATABASE_URL": database_url(),
            "DEBUG": "true",
            "REDIS_URL": "",
            "STOP_GRACE_SECONDS": "120",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        wait_until(lambda: workers_alive().count() == len(queues), "both workers say that they live")
        # Messages of other queues wait for their own workers.
        wait_until(lambda: [waiting_count(queue) for queue in requests] == [1, 0, 0], "others are left")
        before = dict(workers_alive().values_list("queue", "pid"))
        assert set(before) == set(queues)
        # The lookout and the schedules have a process each.
        assert len(children_of(workers.pid)) == len(queues) + 2

        os.kill(before["tournament"], signal.SIGKILL)
        wait_until(lambda: not of_session(before["tournament"]), "what a killed worker had started is gone")
        replaced = workers_alive("tournament").exclude(pid=before["tournament"])
        wait_until(replaced.exists, "it is replaced")
        assert workers_alive("publish").get().pid == before["publish"]
        for queue in queues:
            task_request(queue, requests[queue])
        wait_until(lambda: [waiting_count(queue) for queue in queues] == [0, 0], "its queue is served again")
        sessions = children_of(workers.pid)
    finally:
        workers.terminate()
        output, _ = workers.communicate(timeout=300)

    assert workers.returncode == 0, output
    stopped = Worker.objects.exclude(stopped_at=None)
    assert set(stopped.values_list("queue", flat=True)) == set(queues)
    assert [pid for session in sessions for pid in of_session(session)] == []
    assert output.splitlines()[0] == "Starting the workers of tournament, publish."
    assert output.splitlines()[-1] == "All workers have ended."
    assert re.search(r"^\w+ ended with -9; it starts again in 1 s\.$", output, re.MULTILINE)
    names = {line.split()[0] for line in output.splitlines() if line.startswith("[")}
    assert names <= {"[tournament]", "[publish]", "[lookout]", "[schedules]"}


def database_url() -> str:
    """Address of the database under test."""
    database = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{database['NAME']}"
    address = f"{quote(database['USER'])}:{quote(database['PASSWORD'])}@{quote(database['HOST'], safe='')}"
    return f"postgresql://{address}:{database['PORT'] or ''}/{database['NAME']}"


@pytest.mark.parametrize("command", ["recheck", "tournament"])
def test_a_command_of_parts_names_them_where_it_is_given_none(command: str) -> None:
    with pytest.raises(CommandError, match="the following arguments are required: PART"):
        call_command(command)
    with pytest.raises(CommandError, match="invalid choice: 'nothing'"):
        call_command(command, "nothing")


@pytest.mark.django_db
def test_the_first_organiser_is_made_once_and_never_changed(settings: Settings) -> None:
    settings.SUPERUSER_EMAIL = "olga@example.org"
    settings.SUPERUSER_PASSWORD = ""
    call_command("first_organiser")
    assert not User.objects.exists()
    settings.SUPERUSER_PASSWORD = "password1"
    with pytest.raises(CommandError, match="too similar|too short|too common"):
        call_command("first_organiser")
    assert not User.objects.exists()
    settings.SUPERUSER_PASSWORD = "correct-horse-battery"
    call_command("first_organiser")
    made = User.objects.get()
    assert (made.username, made.is_staff, made.is_superuser, made.must_confirm_email) == ("olga", True, True, False)
    settings.SUPERUSER_EMAIL, settings.SUPERUSER_PASSWORD = "OLGA@example.org", "another-horse-battery"
    call_command("first_organiser")
    made = User.objects.get()
    assert made.check_password("correct-horse-battery")
    settings.SUPERUSER_EMAIL = ""
    with pytest.raises(CommandError, match="SUPERUSER_EMAIL is needed as well"):
        call_command("first_organiser")
