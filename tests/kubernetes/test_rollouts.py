"""Applications on a site with SANDBOX=kubernetes: built on this host, tried and worked in by pods of a real cluster."""

from __future__ import annotations

import io
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client
from pytest_django.fixtures import Settings

from arena_kit.examples import make_archive
from arena_kit.tests.rollout.fake_model import calls, fake_model
from core.models import Build, JobState, Rollout, RolloutAgent, WorldLease
from core.rollouts.batches import AgentChoice, Options, batch_create
from core.rollouts.packages import package_upload
from core.settings.model_keys import ModelKey
from core.tests import applications, factories
from rollout_runner import building
from rollout_runner.host import pod_worlds, worlds_reap
from rollout_runner.queues import serve
from rollout_runner.tests.places import images_forget, shop, shop_built, worked
from tests.kubernetes.cluster import RealCluster
from tests.kubernetes.conftest import Arena

pytestmark = [
    pytest.mark.cluster, pytest.mark.docker, pytest.mark.registry, pytest.mark.app_images, pytest.mark.browser_image,
    pytest.mark.nightly, pytest.mark.slow, pytest.mark.django_db(transaction=True),
]  # fmt: skip
TASKS = ("refund-17", "total-42")


@pytest.fixture
def applied(
    arena: Arena, settings: Settings, monkeypatch: pytest.MonkeyPatch, cluster: RealCluster, browser: str
) -> Iterator[Arena]:
    """An arena whose rollouts are played in pods."""
    settings.ROLLOUTS, settings.PACKAGE_QUEUE, settings.BROWSER_IMAGE = "members", "package", browser
    settings.QUEUES = (*settings.QUEUES, "package", "rollout")
    settings.ROLLOUT_MEMORY_BYTES = 6 << 30
    monkeypatch.setenv("KUBECONFIG", str(cluster.worlds_kubeconfig))
    serve()
    building._built.clear()
    yield arena
    images_forget()


def test_a_package_is_tried_and_worked_in_by_a_script_and_played_again(applied: Arena) -> None:
    package, _ = package_upload(owner=applications.organiser(), archive=shop(*TASKS))
    assert worked("package") == 1, package.builds.get().error
    assert all("@sha256:" in service["reference"] for service in package.builds.get().built["services"])
    # An oracle and an agent that does nothing for each task.
    assert worked() == 2 * len(TASKS), [(one.state, one.error) for one in Rollout.objects.all()]
    states = {task.key: (task.acceptance, task.acceptance_sentence) for task in package.environment.tasks.all()}
    assert states == dict.fromkeys(TASKS, ("ACCEPTED", ""))

    task = package.environment.tasks.get(key="refund-17")
    batch = batch_create(
        owner=factories.user("ann"), environment=package.environment, tasks=[task],
        agent=AgentChoice(RolloutAgent.SCRIPTED),
    )  # fmt: skip
    assert worked() == 1
    rollout = batch.rollouts.get()
    assert (rollout.state, rollout.outcome, rollout.score) == (JobState.SUCCEEDED, "SOLVED", 1.0), rollout.log
    for name in ("record", "steps", "pages", "trace", "har", "export", "changes", "world_log", "video"):
        assert getattr(rollout, name).size > 0, name
    assert rollout.worlds.get().host == "kubernetes"
    assert rollout.worlds.get().closed_at is not None
    out = io.StringIO()
    call_command("recheck_rollout", str(rollout.public_id), "--replay", stdout=out)
    assert "leaves the same state" in out.getvalue()
    worlds_reap()
    assert not WorldLease.objects.filter(closed_at=None).exists()


def test_an_uploaded_agent_and_a_model_work_in_pods(applied: Arena, settings: Settings) -> None:
    """The model is a double of the protocol: it follows a script, and shows nothing about any model."""
    package = shop_built("send-11", "total-42", queue="package")
    client = Client()
    client.force_login(factories.user("ann"))
    archive = SimpleUploadedFile("player.zip", make_archive("shop_clerk"), content_type="application/zip")
    answer = client.post(f"/environments/{package.environment.slug}/agents/", {"name": "clerk", "archive": archive})
    assert answer.status_code == 302, answer.content.decode()[-3000:]
    assert worked("build") == 1, [build.error for build in Build.objects.all()]
    worked()
    ranked = Rollout.objects.filter(is_ranked=True, task__key="send-11")
    assert {(one.state, one.outcome) for one in ranked} == {(JobState.SUCCEEDED, "SOLVED")}, [
        (one.error, one.log[-3000:]) for one in ranked
    ]

    script = (calls("goto", url="/orders/42"), calls("answer", value={"total": 600.81}))
    with fake_model(*script) as double:
        settings.MODEL_KEYS = {"double": ModelKey(urlsplit(double.url).netloc, "very-secret")}
        model = applications.model(url=double.url, key_name="double")
        batch = batch_create(
            owner=factories.user("bea"), environment=package.environment,
            tasks=[package.environment.tasks.get(key="total-42")],
            agent=AgentChoice(RolloutAgent.MODEL, model=model), options=Options(attempts=1),
        )  # fmt: skip
        assert worked() == 1
        asked = [headers["Authorization"] for _, headers, _ in double.asked]
    rollout = batch.rollouts.get()
    assert (rollout.state, rollout.outcome) == (JobState.SUCCEEDED, "SOLVED"), (rollout.error, rollout.log)
    assert asked == ["Bearer very-secret"] * 2
    assert pod_worlds().alive() <= frozenset()
