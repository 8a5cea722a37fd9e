"""Recordings that cannot be drawn. The drawing itself is tested with the environments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NoReturn

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from arena_kit.environment.adapters import video
from arena_kit.tests.episodes import with_episode
from core.models import Alarm, Evaluation, JobFault, JobState, Recording
from core.tests import factories
from core.tests.working import run
from duel_runner.tests.test_recheck_evaluations import damage, finished, lose, rewrite

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise the time-out, because recordings run at the lowest priority of the machine."""
    monkeypatch.setattr(video, "record_apart", partial(video.record_apart, seconds=900.0))


@pytest.fixture
def evaluation(settings: Settings) -> Evaluation:
    settings.JOB_MAX_ATTEMPTS = 1
    task = factories.task(episodes=3)
    # Only then are the evaluation's own episodes drawn.
    task.seed_lists.update(revealed_at=timezone.now())
    return finished(task, "anna")


def drawn(evaluation: Evaluation) -> Recording:
    """Return the first recording of an evaluation after a worker has failed on it by a platform fault."""
    number = evaluation.recordings.earliest("pk").pk
    run(Recording.objects.get(pk=number))
    recording = Recording.objects.get(pk=number)
    assert (recording.state, recording.fault) == (JobState.FAILED, JobFault.PLATFORM)
    return recording


def better(evaluation: Evaluation) -> None:
    number = evaluation.recordings.earliest("pk").episode_number
    rewrite(evaluation, lambda record: with_episode(record, number, lambda one: {"score": one.score + 1}))


@pytest.mark.slow
def test_an_episode_that_does_not_give_its_score_again_raises_an_alarm(evaluation: Evaluation) -> None:
    better(evaluation)

    recording = drawn(evaluation)

    assert recording.error_code == "replay_mismatch"
    assert "cannot be replayed: The episode gives the score " in recording.error
    alarm = Alarm.objects.get()
    assert (alarm.key, alarm.message) == (f"evaluation-{evaluation.pk}-does-not-replay", recording.error)


@pytest.mark.slow
def test_where_other_versions_are_installed_another_score_is_no_alarm(evaluation: Evaluation) -> None:
    better(evaluation)
    rewrite(evaluation, lambda record: replace(record, runtime="gymnasium 0.1"))

    recording = drawn(evaluation)

    assert recording.error_code == "other_runtime"
    assert "It was played with gymnasium 0.1, but this machine has gymnasium " in recording.error
    assert not Alarm.objects.exists()


@pytest.mark.parametrize("trouble", [lose, damage])
def test_records_that_cannot_be_read_are_told_at_once(
    evaluation: Evaluation, trouble: Callable[[Evaluation], None]
) -> None:
    trouble(evaluation)

    recording = drawn(evaluation)

    assert recording.error_code == "records_unreadable"
    assert recording.error.startswith("The records of this evaluation cannot be read: ")


def test_what_no_picture_can_be_made_of_here_is_tried_again(
    evaluation: Evaluation, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    def fail(*_: object, **__: object) -> NoReturn:
        raise video.CannotRecord("The memory is full.")

    monkeypatch.setattr(video, "record_apart", fail)
    settings.JOB_MAX_ATTEMPTS = 2
    number = evaluation.recordings.earliest("pk").pk

    run(Recording.objects.get(pk=number))

    recording = Recording.objects.get(pk=number)
    assert (recording.state, recording.attempt) == (JobState.QUEUED, 1)
    assert "The memory is full." in recording.error
