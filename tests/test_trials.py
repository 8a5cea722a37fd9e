"""Self-play on trial for real: built, validated, on no board and in no tournament, deleted."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django.fixtures import Settings

from core.errors import Refused
from core.models import Agent, Evaluation, JobState, Notice, Submission, Tournament, User, Validation, Worker
from core.people.quota_usage import usage_by_environment
from core.submissions.examples import example_upload
from core.submissions.trials import (
    FORGOTTEN,
    PATIENCE,
    TrialMatches,
    trial_end,
    trial_matches,
    trial_play,
    trial_start,
    trial_state,
    trials_sweep,
)
from core.tests import factories
from tests.samples import BALANCING, BROKEN, FIRST, SCRIPT, archive, deliver_messages

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


@pytest.fixture(autouse=True)
def local_processes(settings: Settings, tmp_path: Path) -> None:
    settings.SANDBOX, settings.DEBUG, settings.DATA_DIR = "process", True, tmp_path


def test_an_archive_on_trial_plays_itself_and_leaves_no_trace_on_boards() -> None:
    alice, game = factories.user("alice"), factories.task(practice=1)
    first, broken = (trial_start(caller=alice, environment=game, archive=archive(one)) for one in (BALANCING, BROKEN))
    assert not trial_state(first.pk).is_over
    deliver_messages()
    passed, failed = trial_state(first.pk), trial_state(broken.pk)
    assert (passed.has_passed, passed.matches) == (True, 1), passed
    assert (failed.is_over, failed.has_passed, failed.is_ours, failed.code != "") == (True, False, False, True)
    assert Validation.objects.get(submission=first).state == JobState.SUCCEEDED
    assert not Evaluation.every.exists()
    assert not Tournament.objects.exists()
    assert not Submission.objects.validated().exists()
    assert not Agent.objects.exists(), "lists do not name it"
    agent = Agent.every.get()
    assert (agent.name, agent.owner, agent.is_public) == (f"self-play-{alice.pk}", alice, False)
    trial_end(first.pk)
    trial_end(first.pk)
    assert trial_state(first.pk).is_ours, "the other call of the same archive has ended"
    assert trials_sweep(now=timezone.now()) == 0
    assert trials_sweep(now=timezone.now() + FORGOTTEN + timedelta(minutes=1)) == 1
    assert not Submission.objects.filter(deleted_at=None).exists()


def test_scripts_and_archives_without_a_player_are_not_tried() -> None:
    alice, game = factories.user("alice"), factories.task()
    game.takes_scripts = True
    game.save()
    for sent, words in ((archive(SCRIPT, "submission.py"), "no self-play"), (archive("x", "notes.py"), "no player.py")):
        with pytest.raises(Refused, match=words):
            trial_start(caller=alice, environment=game, archive=sent)
    assert not Submission.objects.filter(deleted_at=None).exists()


def workers() -> None:
    """One worker for builds and one for what is played, both alive."""
    for queue in ("build", "duel"):
        now = timezone.now()
        Worker.objects.create(name=queue, queue=queue, host="here", pid=1, started_at=now, seen_at=now)


def test_an_archive_plays_ten_matches_against_random_without_being_submitted() -> None:
    alice, game = factories.user("alice"), factories.environment()
    now = timezone.now()
    assert trial_play(caller=alice, environment=game, archive=archive(FIRST), now=now) is None, "there is no random yet"
    example_upload(owner=factories.user("bob"), environment=game)
    deliver_messages()
    with pytest.raises(Refused, match="No worker is free"):
        trial_play(caller=alice, environment=game, archive=archive(FIRST), now=now)
    workers()
    good, bad = _played(alice, archive(FIRST)), _played(alice, archive(BROKEN))
    assert (good.opponent, good.played, good.errors, good.error) == ("random-bob", 10, 0, "")
    assert 0 < good.won <= 10
    assert (bad.won, bad.errors > 0, bad.error != "") == (0, True, True)
    assert not Submission.objects.filter(agent__owner=alice, deleted_at=None).exists()
    assert usage_by_environment(alice, now=now, environments=[game])[game.pk].uploads == 0
    assert not Agent.objects.filter(owner=alice).exists()
    assert not Notice.objects.filter(user=alice).exists()


def test_the_form_of_an_upload_shows_how_the_files_play_against_random(client: Client) -> None:
    game = factories.environment()
    example_upload(owner=factories.user("bob"), environment=game)
    deliver_messages()
    client.force_login(factories.user("alice"))
    address = reverse("web:agent_check", args=[game.slug])
    assert "No worker is free" in client.post(address, {"code": FIRST}).content.decode()
    workers()
    checked = client.post(address, {"code": FIRST}).content.decode()
    assert "Playing ten matches against random-bob" in checked
    follow = re.search(r'hx-post="([^"]+)"', checked)
    assert follow is not None
    assert "Playing ten matches" in client.post(follow[1]).content.decode()
    deliver_messages()
    assert re.search(
        r"It won <strong>\d+ of 10</strong> matches against\s+random-bob", client.post(follow[1]).content.decode()
    )
    assert client.post(follow[1]).status_code == 404, "nothing of it is left"
    assert "never closed" in client.post(address, {"code": "moves = ["}).content.decode()


def _played(caller: User, sent: object) -> TrialMatches:
    now, game = timezone.now(), factories.environment()
    trial = trial_play(caller=caller, environment=game, archive=sent, now=now)  # type: ignore[arg-type]
    assert trial is not None
    assert trial_matches(trial, now=now) is None
    with pytest.raises(Refused, match="No worker is free"):
        trial_matches(trial, now=now + PATIENCE + timedelta(seconds=1))
    deliver_messages()
    found = trial_matches(trial, now=timezone.now())
    assert found is not None
    trial_end(trial.pk)
    return found
