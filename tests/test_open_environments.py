"""An environment that a submission adds, from the upload to its board, by workers that know only its row."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client
from pytest_django.fixtures import Settings

from arena_kit.environment.registry import all_specs
from core.evaluations.standing import standing
from core.models import Environment, JobState, Recording, Submission
from tests.samples import BALANCING, archive, deliver_messages

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow, pytest.mark.nightly]


def test_an_agent_adds_an_environment_and_is_evaluated_drawn_and_checked_in_it(
    settings: Settings, tmp_path: Path, client: Client
) -> None:
    settings.SANDBOX, settings.DEBUG, settings.DATA_DIR = "process", True, tmp_path
    settings.OPEN_ENVIRONMENTS, settings.ANONYMOUS_SUBMISSIONS = "all", True
    form = {"file": archive(BALANCING), "env_id": "CartPole-v0", "algorithm": "leaning"}
    assert client.post("/api/submit/", form).status_code == 200
    row = Environment.objects.get(env_id="CartPole-v0")
    assert row.slug not in {spec.slug for spec in all_specs()}
    # Of one practised episode one recording is drawn.
    row.matches_per_validation = 1
    row.save()

    deliver_messages()

    submission = Submission.objects.get()
    evaluation = submission.evaluations.get()
    assert (evaluation.state, evaluation.error) == (JobState.SUCCEEDED, "")
    assert evaluation.environment_version == "gym-cart-pole-0-v1"
    assert standing(row).get() == evaluation
    assert Recording.objects.get(evaluation=evaluation).state == JobState.SUCCEEDED
    output = StringIO()
    call_command("recheck", "evaluation", str(evaluation.pk), stdout=output)
    assert "Verified: " in output.getvalue()
    answer = client.get(f"/api/results/{submission.public_id}").json()
    assert (answer["status"], answer["score"]) == ("completed", evaluation.score)
    assert client.get(f"/evaluations/{evaluation.pk}/").status_code == 200
