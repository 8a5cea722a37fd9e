"""Checks docs/reference/api.md, and what rollouts.md and sittings.md say of the API: addresses exist, examples work."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from core.jobs.control import job_cancel
from core.models import Agent, CancelCode, Evaluation, JobState, Sitting, SittingMove, Submission
from core.people.tokens import token_create
from core.tests import factories
from core.tests.factories import PASSWORD, Cast
from tests.samples import FIRST, zip_of
from web.api.schema import schema_text
from web.api.tests.sending import SCRIPT
from web.tests import scored

TEXT = (Path(__file__).resolve().parents[3] / "docs/reference/api.md").read_text()
OF_ROLLOUTS = (Path(__file__).resolve().parents[3] / "docs/reference/rollouts.md").read_text()
SHELL = re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL)
(SUBMITS,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
OF_SITTINGS = (Path(__file__).resolve().parents[3] / "docs/participant/sittings.md").read_text()
(PLAYS,) = re.findall(r"```python\n(.*?)```", OF_SITTINGS, re.DOTALL)


def test_the_document_names_every_address_of_the_description() -> None:
    paths: dict[str, Any] = json.loads(schema_text())["paths"]
    words = {"id": "ID", "public_id": "ID", "number": "N", "slug": "SLUG", "kind": "KIND", "env_id": "ENV_ID",
             "agent_id": "AGENT", "choice": "CHOICE", "key": "ID", "name": "NAME",
             "course": "SLUG", "assignment_id": "ID"}  # fmt: skip
    named = {re.sub(r"\{(\w+)\}", lambda part: words[part[1]], path.removeprefix("/api/v1/") or path) for path in paths}
    shown = {code.rpartition(" ")[2] for code in re.findall(r"`([^`\n]+)`", TEXT + OF_ROLLOUTS)}
    assert named - shown == set()


def test_the_statuses_of_the_document_are_those_of_the_description() -> None:
    described = {
        status
        for operations in json.loads(schema_text())["paths"].values()
        for operation in operations.values()
        for status in operation["responses"]
        if status >= "400"
    }
    assert set(re.findall(r"^\| (4\d\d) \|", TEXT, re.MULTILINE)) == described - {"503"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "submission.py").write_bytes(SCRIPT)
    (tmp_path / "my_player.zip").write_bytes(zip_of(FIRST))
    return tmp_path


@pytest.mark.django_db(transaction=True)
@pytest.mark.slow
def test_the_examples_in_the_shell_work(live_server: LiveServer, folder: Path) -> None:
    cast = factories.cast()
    scored.environment()
    factories.environment("connect-four")
    _, token = token_create(owner=cast.alice, name="docs", now=timezone.now(), days=1)
    variables = {**os.environ, "ARENA": live_server.url, "TOKEN": token}
    for block in SHELL[1:]:
        commands = block.replace("you@example.org", cast.alice.email).replace('"..."', f'"{PASSWORD}"')
        for command in re.split(r"\n(?=curl)", commands.strip()):
            done = subprocess.run(
                ["sh", "-c", f"{command} --fail-with-body --noproxy '*'"],
                cwd=folder, env=variables, capture_output=True, text=True, check=False, timeout=60,
            )  # fmt: skip
            assert done.returncode == 0, command + done.stdout + done.stderr
            json.loads(done.stdout)
    assert {agent.environment.slug for agent in Agent.objects.filter(owner=cast.alice)} == {
        "cart-pole", "connect-four",
    }  # fmt: skip


@pytest.mark.django_db(transaction=True)
@pytest.mark.slow
def test_the_example_in_python_works(live_server: LiveServer, folder: Path) -> None:
    cast: Cast = factories.cast()
    scored.environment()
    _, token = token_create(owner=cast.alice, name="docs", now=timezone.now(), days=1)
    variables = {**os.environ, "ARENA": live_server.url, "TOKEN": token, "NO_PROXY": "*", "no_proxy": "*"}
    program = subprocess.Popen(
        [sys.executable, "-c", SUBMITS], cwd=folder, env=variables, stdout=subprocess.PIPE, text=True
    )
    try:
        client = Client(headers={"Authorization": f"Bearer {token}"})
        while not Submission.objects.exists():
            assert program.poll() is None
        submission = Submission.objects.get()
        assert client.get(f"/api/results/{submission.public_id}").json()["status"] == "pending"
        finish(submission)
        printed, _ = program.communicate(timeout=60)
    finally:
        program.kill()
    assert printed == "completed 12.5 None\n"


@pytest.mark.django_db(transaction=True)
@pytest.mark.slow
def test_the_example_that_plays_works(live_server: LiveServer) -> None:
    cast: Cast = factories.cast()
    opponent = factories.ready(factories.agent(cast.bob, factories.environment("tic-tac-toe")))
    _, token = token_create(owner=cast.alice, name="docs", now=timezone.now(), days=1)
    variables = {**os.environ, "ARENA": live_server.url, "TOKEN": token, "NO_PROXY": "*", "no_proxy": "*"}
    text = PLAYS.replace('"agent": 3', f'"agent": {opponent.agent.pk}')
    assert '"agent": 3' in PLAYS
    program = subprocess.Popen([sys.executable, "-c", text], env=variables, stdout=subprocess.PIPE, text=True)
    try:
        # It plays the first free cell; the agent answers in the last one.
        for count in (1, 3):
            while SittingMove.objects.count() < count:
                assert program.poll() is None
            if count == 1:
                SittingMove.objects.create(sitting=Sitting.objects.get(), step=1, seat=1, action=8)
        job_cancel(job=Sitting.objects.get(), code=CancelCode.BY_ORGANISER, reason="That is enough.")
        printed, _ = program.communicate(timeout=60)
    finally:
        program.kill()
    assert [move.action for move in SittingMove.objects.order_by("step")] == [0, 8, 1]
    assert printed == "None None\n"


def finish(submission: Submission) -> None:
    """Finish the submission as the workers do."""
    factories.moved(submission.builds.all(), JobState.SUCCEEDED)
    Evaluation.objects.create(
        submission=submission,
        agent=submission.agent,
        environment=submission.agent.environment,
        environment_version=submission.agent.environment.spec_id,
        is_verified=False,
        state=JobState.SUCCEEDED,
        ended_at=factories.NOON,
        score=12.5,
    )
