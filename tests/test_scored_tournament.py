"""A tournament of agents that play alone, from the upload to the table, with real players and workers."""

from __future__ import annotations

import os
import signal
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from arena_kit.environment.availability import Unavailability
from arena_kit.environment.registry import get_spec
from arena_kit.ranking.scores import summarise_scores
from arena_kit.referee import play as referee
from core.editions.progress import tournament_begin
from core.environments.availability import availability_note
from core.evaluations.standing import standing
from core.models import Environment, Evaluation, JobState, RecheckVerdict, SeedList, Tournament, TournamentState
from core.tests import factories
from core.tests.working import run
from core.tournaments.planning import tournament_plan
from core.tournaments.services import tournament_go_on, tournament_pause
from core.tournaments.voiding import evaluation_void
from duel_runner.recheck.sample import results_recheck
from tests.programs import database_url, running
from tests.samples import deliver_messages, upload
from tests.test_evaluations import EPISODES, FAILS_LATER, LEANING, Leaning
from tests.waiting import wait_until

SLOW = "import time\n" + LEANING.replace(
    "valid_actions, prev_reward):\n", "valid_actions, prev_reward):\n        time.sleep(0.005)\n"
)
"""Takes more than ten seconds for an evaluation."""
NO_PACKAGE = Unavailability("It needs a package.", hint="Run `pip install it`.")

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture
def cup(sandbox: str) -> Tournament:
    """A tournament of two agents, one of which fails in the middle, that has begun."""
    task = factories.task(episodes=EPISODES)
    return begun(task, anna=LEANING, bert=FAILS_LATER)


def begun(task: Environment, **sources: str) -> Tournament:
    for name, source in sources.items():
        upload(task, name, source)
    deliver_messages(drawing=False)
    now = timezone.now()
    cup = Tournament(environment=task, name="Finals", format="score", starts_at=now + timedelta(seconds=1))
    tournament_plan(tournament=cup, now=now)
    return tournament_begin(cup, now=now + timedelta(seconds=1))


@pytest.mark.parametrize("sandbox", ["process"], indirect=True)
def test_it_is_played_to_its_end_and_everyone_can_play_its_seeds_again(cup: Tournament, settings: Settings) -> None:
    settings.RECHECK_SAMPLE = 1.0
    board = list(standing(cup.environment).values("pk", "score"))

    deliver_messages(drawing=False)

    cup.refresh_from_db()
    assert cup.state == TournamentState.FINISHED
    first, last = cup.participants.order_by("rank").select_related("submission__agent")
    seeds = SeedList.objects.get(tournament=cup)
    assert seeds.is_public
    again = [referee.run_episode(get_spec("cart-pole"), Leaning(), seed).score for seed in seeds.seeds]
    assert (first.submission.agent.name, first.score) == ("anna", summarise_scores(again).mean.value)
    assert (last.submission.agent.name, last.rank, last.score) == ("bert", 2, None)
    assert list(standing(cup.environment).values("pk", "score")) == board

    results_recheck()
    row = Evaluation.every.get(tournament=cup, state=JobState.SUCCEEDED)
    assert row.verdict == RecheckVerdict.VERIFIED

    evaluation_void(participant=first, reason="Once more.")
    deliver_messages(drawing=False)
    first.refresh_from_db()
    cup.refresh_from_db()
    assert (cup.state, first.score) == (TournamentState.FINISHED, row.score)
    assert Environment.objects.get().seed_lists.count() == 3


@pytest.mark.nightly
@pytest.mark.parametrize("sandbox", ["process"], indirect=True)
def test_an_agent_whose_worker_is_killed_is_evaluated_again_and_counted_once(
    sandbox: str, settings: Settings, tmp_path: Path
) -> None:
    cup = begun(factories.task(episodes=EPISODES), anna=LEANING, bert=SLOW)
    variables = {
        "DEBUG": "true", "DATABASE_URL": database_url(), "DATA_DIR": str(tmp_path), "DUEL_PARALLELISM": "1",
        "CHANNEL_DIR": str(settings.CHANNEL_DIR), "SANDBOX": sandbox, "TMPDIR": str(tmp_path),
        "PLAYER_IMAGE_PREFIX": settings.PLAYER_IMAGE_PREFIX,
    }  # fmt: skip
    rows = Evaluation.every.filter(tournament=cup, submission__agent__name="bert")
    with running(variables, "manage.py", "run_workers", "duel", "tournament"):
        wait_until(lambda: rows.filter(state=JobState.RUNNING).exists(), "it is played")
        os.kill(int(rows.get().worker.rpartition(":")[2]), signal.SIGKILL)
        wait_until(lambda: Tournament.objects.filter(pk=cup.pk, state=TournamentState.FINISHED).exists(), "it ends")
    row = rows.get()
    assert (row.state, row.attempt, row.error) == (JobState.SUCCEEDED, 2, "")
    assert cup.participants.get(submission=row.submission).score == row.score
    assert Evaluation.every.filter(tournament=cup).count() == 2


@pytest.mark.parametrize("sandbox", ["process"], indirect=True)
def test_evaluations_wait_until_their_environment_is_available_again(
    cup: Tournament, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting, *_ = Evaluation.every.filter(tournament=cup, state=JobState.QUEUED).order_by("pk")
    with monkeypatch.context() as patch:
        patch.setattr("duel_runner.makeable.trouble_here", lambda spec_id: NO_PACKAGE)
        availability_note(environment=cup.environment, trouble=NO_PACKAGE)
        waiting.refresh_from_db()
        run(waiting)
    waiting.refresh_from_db()
    assert (waiting.state, waiting.attempt, waiting.error_code) == (JobState.QUEUED, 0, "environment_unavailable")
    availability_note(environment=cup.environment, trouble=None)
    deliver_messages(drawing=False)
    cup.refresh_from_db()
    assert cup.state == TournamentState.FINISHED


@pytest.mark.parametrize("sandbox", ["process"], indirect=True)
def test_a_worker_gives_an_evaluation_of_a_paused_tournament_back(cup: Tournament) -> None:
    waiting = Evaluation.every.filter(tournament=cup, state=JobState.QUEUED).order_by("pk")[0]
    tournament_pause(tournament=cup)
    # It was drawn a moment later.
    Evaluation.every.filter(pk=waiting.pk).update(not_before=None, error_code="")
    run(waiting)
    waiting.refresh_from_db()
    assert (waiting.state, waiting.attempt, waiting.error_code) == (JobState.QUEUED, 0, "paused")
    assert waiting.started_at is None
    tournament_go_on(tournament=cup)
    deliver_messages(drawing=False)
    cup.refresh_from_db()
    assert cup.state == TournamentState.FINISHED
