"""An application from its zip to a judged rollout: with the real engine, real worlds and a real browser."""

from __future__ import annotations

import io
import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client
from pytest_django.fixtures import Settings

from arena_kit.examples import make_archive
from arena_kit.image.calls import engine
from arena_kit.tests.image.registries import registry_server, small_base_image
from arena_kit.tests.rollout.fake_model import calls, fake_model
from core.models import Build, JobState, Rollout, RolloutAgent, Submission, VerdictReason, WorldLease
from core.rollouts.batches import AgentChoice, Options, batch_cancel, batch_create
from core.rollouts.board import board
from core.rollouts.judging import judging_ask
from core.rollouts.packages import package_upload
from core.settings.model_keys import ModelKey
from core.tests import applications, factories
from rollout_runner.host import engine_worlds, worlds_reap
from rollout_runner.rechecks import rollouts_judge
from rollout_runner.tests.places import SHOP, containers, shop, shop_built, worked

pytestmark = [
    pytest.mark.docker, pytest.mark.app_images, pytest.mark.browser_image, pytest.mark.slow, pytest.mark.nightly,
    pytest.mark.django_db(transaction=True),
]  # fmt: skip
TASK = "refund-17"


def test_a_package_is_built_tried_worked_in_judged_again_and_leaves_nothing(clean: None) -> None:
    keys = [task["id"] for task in json.loads((SHOP / "tasks.json").read_text())["tasks"]]
    key = TASK if TASK in keys else keys[0]
    package, _ = package_upload(owner=applications.organiser(), archive=shop(key))
    assert worked() == 3, [(one.state, one.error) for one in package.builds.all()]
    task = package.environment.tasks.get()
    assert task.acceptance == "ACCEPTED", (task.acceptance_sentence, [one.error for one in Rollout.objects.all()])

    ann = factories.user("ann")
    choice = AgentChoice(RolloutAgent.SCRIPTED)
    batch = batch_create(owner=ann, environment=package.environment, tasks=[task], agent=choice)
    assert worked() == 1
    rollout = batch.rollouts.get()
    assert (rollout.state, rollout.outcome, rollout.score) == (JobState.SUCCEEDED, "SOLVED", 1.0), rollout.log
    assert rollout.provision_seconds is not None
    assert rollout.step_count > 1
    for name in ("record", "steps", "pages", "trace", "har", "export", "changes", "world_log", "video"):
        assert getattr(rollout, name).size > 0, name
    lease = rollout.worlds.get()
    assert lease.closed_at is not None
    assert lease.memory_bytes > package.memory_bytes

    out = io.StringIO()
    call_command("recheck_rollout", str(rollout.public_id), stdout=out)
    assert "agrees" in out.getvalue()
    call_command("recheck_rollout", str(rollout.public_id), "--replay", stdout=out)
    assert "leaves the same state" in out.getvalue()
    reasons = list(rollout.verdicts.values_list("reason", flat=True))
    # The command with --replay judges first, too.
    assert reasons == [VerdictReason.FIRST, VerdictReason.AGAIN, VerdictReason.AGAIN, VerdictReason.REPLAY]
    olga = applications.organiser()
    judging_ask(rollout=rollout, by=olga)
    rollouts_judge()
    rollout.refresh_from_db()
    assert (rollout.judging_asked, rollout.judging_error) == ("", "")
    assert rollout.verdicts.order_by("pk").last().made_by == olga  # type: ignore[union-attr]
    client = Client()
    client.force_login(olga)
    page = client.get(f"/rollouts/{rollout.public_id}/").content.decode()
    assert "What it has changed" in page
    assert "refund" in page
    worlds_reap()
    assert (containers(), engine_worlds(pause_image="x").alive()) == (set(), frozenset())
    assert not WorldLease.objects.filter(closed_at=None).exists()


def test_a_rollout_without_memory_waits_and_costs_no_attempt(clean: None, settings: Settings) -> None:
    package = shop_built("city")
    settings.ROLLOUT_MEMORY_BYTES = 1 << 20
    ann = factories.user("ann")
    task = package.environment.tasks.get()
    batch = batch_create(
        owner=ann, environment=package.environment, tasks=[task], agent=AgentChoice(RolloutAgent.NULL),
        options=Options(attempts=1),
    )  # fmt: skip
    worked()
    rollout = batch.rollouts.get()
    assert (rollout.state, rollout.attempt, rollout.error_code) == (JobState.QUEUED, 0, "no_room")
    assert batch_cancel(batch=batch) == 1
    assert containers() == set()


def test_an_uploaded_agent_works_for_the_board_and_a_page_shows_what_it_did(clean: None, settings: Settings) -> None:
    settings.SANDBOX = "docker"
    package = shop_built("send-11", "city", "broken-products")
    environment = package.environment
    ann = factories.user("ann")
    client = Client()
    client.force_login(ann)
    archive = SimpleUploadedFile("player.zip", make_archive("shop_clerk"), content_type="application/zip")
    answer = client.post(f"/environments/{environment.slug}/agents/", {"name": "clerk", "archive": archive})
    assert answer.status_code == 302, answer.content.decode()[-3000:]
    assert worked("build") == 1, [build.error for build in Build.objects.all()]
    assert worked() == 9
    rollouts = Rollout.objects.filter(is_ranked=True)
    assert {rollout.state for rollout in rollouts} == {JobState.SUCCEEDED}, [rollout.error for rollout in rollouts]
    outcomes = {(rollout.task.key, rollout.outcome) for rollout in rollouts}
    # The clerk has no rule for the last one, and says so.
    assert outcomes == {("send-11", "SOLVED"), ("city", "SOLVED"), ("broken-products", "NOT_SOLVED")}
    (row,) = board(environment).rows
    assert row.rank == 1
    assert [row.success.value, row.all_of_3.value] == pytest.approx([2 / 3, 2 / 3])
    page = client.get(f"/environments/{environment.slug}/").content.decode()
    assert "66.7%" in page or "67%" in page
    shown = client.get(f"/rollouts/{rollouts.filter(task__key='send-11')[0].public_id}/?step=2").content.decode()
    assert 'class="mark"' in shown
    assert "<video" in shown
    worlds_reap()
    assert containers() == set()


@pytest.mark.registry
def test_another_host_pulls_an_uploaded_agent_before_its_world_starts(
    clean: None, settings: Settings, tmp_path: Path
) -> None:
    settings.SANDBOX = "docker"
    with registry_server(tmp_path) as server, engine() as client:
        base = f"{settings.PLAYER_IMAGE_PREFIX}-base:small"
        small_base_image(client, settings.PLAYER_BASE_IMAGE, base)
        settings.PLAYER_BASE_IMAGES, settings.PLAYER_BASE_IMAGE = {(3, 11): base}, base
        settings.PLAYER_REGISTRY = server.registry.repository
        settings.PLAYER_REGISTRY_USER = server.registry.user
        settings.PLAYER_REGISTRY_PASSWORD = server.registry.password
        environment = shop_built("send-11").environment
        visitor = Client()
        visitor.force_login(factories.user("ann"))
        archive = SimpleUploadedFile("player.zip", make_archive("shop_clerk"), content_type="application/zip")
        visitor.post(f"/environments/{environment.slug}/agents/", {"name": "clerk", "archive": archive})
        assert worked("build") == 1, [build.error for build in Build.objects.all()]
        client.images.remove(Submission.objects.get().image, force=True)
        assert worked() == 3
        rollouts = Rollout.objects.filter(is_ranked=True)
        assert {(one.outcome, one.attempt) for one in rollouts} == {("SOLVED", 1)}, [one.error for one in rollouts]
        pulls = ["is pulled from the registry" in one.log for one in rollouts.order_by("ended_at")]
        assert pulls == [True, False, False]


def test_a_model_works_through_the_gateway_and_its_costs_are_counted(clean: None, settings: Settings) -> None:
    """The model is a double of the protocol: it follows a script, and shows nothing about any model."""
    package = shop_built("total-42")
    script = (calls("goto", url="/orders/42"), calls("answer", value={"total": 600.81}))
    with fake_model(*script) as double:
        settings.MODEL_KEYS = {"double": ModelKey(urlsplit(double.url).netloc, "very-secret")}
        model = applications.model(
            url=double.url, key_name="double", price_in_micros=1_000_000, price_out_micros=2_000_000
        )
        choice = AgentChoice(RolloutAgent.MODEL, model=model, vision=True)
        tasks = applications.tasks(package.environment)
        batch = batch_create(owner=factories.user("ann"), environment=package.environment, tasks=tasks, agent=choice)
        assert worked() == 1
        asked = [(headers["Authorization"], body["model"]) for _, headers, body in double.asked]
    rollout = batch.rollouts.get()
    assert (rollout.state, rollout.outcome) == (JobState.SUCCEEDED, "SOLVED"), (rollout.error, rollout.log)
    assert asked == [("Bearer very-secret", "mimic")] * 2
    assert (rollout.tokens_in, rollout.tokens_out, rollout.cost_micros) == (200, 40, 280)
    assert rollout.model_log.size > 0
    with rollout.model_log.open("rb") as file:
        assert b"very-secret" not in file.read()
    worlds_reap()
    assert containers() == set()
