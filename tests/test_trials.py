"""Self-play on trial for real: built, validated, on no board and in no tournament, deleted."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from core.errors import Refused
from core.models import Agent, Evaluation, JobState, Submission, Tournament, Validation
from core.submissions.trials import FORGOTTEN, trial_end, trial_start, trial_state, trials_sweep
from core.tests import factories
from tests.samples import BALANCING, BROKEN, SCRIPT, archive, deliver_messages

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
    agent = Agent.objects.get()
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
