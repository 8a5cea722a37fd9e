from __future__ import annotations

import logging
from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks

from core.editions import services as editions
from core.editions.tests.samples import play_all, players
from core.jobs.lifecycle import job_claim
from core.models import Alarm, Build, Duel, Environment, JobState, Play, Submission, Tournament, TournamentState
from core.tests import factories
from core.tests.factories import moved
from core.tests.working import at_work
from tournament_manager.tasks import tournaments_advance, watchdog

pytestmark = pytest.mark.django_db


def test_a_message_starts_plays_on_and_ends_editions() -> None:
    environment = factories.environment()
    players(environment, 2)
    tournaments_advance(environment.pk)
    tournament = Tournament.objects.get()
    play_all(tournament)
    tournaments_advance(environment.pk)
    tournament.refresh_from_db()
    assert tournament.state == TournamentState.FINISHED


def test_a_message_about_an_environment_that_is_gone_does_nothing() -> None:
    tournaments_advance(10**9)
    assert not Tournament.objects.exists()


def asked(environment: Environment) -> None:
    Environment.objects.filter(pk=environment.pk).update(start_asked_at=timezone.now())


def test_the_next_step_starts_the_edition_that_an_organiser_has_asked_for_once() -> None:
    environment = factories.environment()
    players(environment, 2)
    tournaments_advance(environment.pk)
    play_all(Tournament.objects.get())
    tournaments_advance(environment.pk)
    asked(environment)
    # Its message may be lost: every step reads the row.
    watchdog()
    second = Tournament.objects.get(edition=2)
    assert second.state == TournamentState.RUNNING
    play_all(second)
    for _ in range(2):
        watchdog()
    assert (Tournament.objects.count(), Environment.objects.get().start_asked_at) == (2, None)


def test_an_alarm_says_why_an_edition_that_was_asked_for_did_not_begin_and_the_next_one_settles_it() -> None:
    environment = factories.environment()
    asked(environment)
    for _ in range(2):
        tournaments_advance(environment.pk)
    alarm = Alarm.objects.get()
    assert "has not begun. A tournament needs two agents" in alarm.message
    assert Environment.objects.get().start_asked_at is None
    # One that begins by itself is the one that was asked for, too.
    players(environment, 2)
    tournaments_advance(environment.pk)
    alarm.refresh_from_db()
    assert alarm.settled_at is not None


@pytest.mark.parametrize("play", [Play.EDITIONS, Play.LADDER])
def test_whatever_begins_by_itself_answers_the_organiser_who_has_asked(play: Play) -> None:
    environment = factories.environment()
    Environment.objects.filter(pk=environment.pk).update(play=play, start_asked_at=timezone.now())
    environment.refresh_from_db()
    for name in ("ann", "ben"):
        factories.ready(factories.agent(factories.user(name), environment, name))
    assert editions.start_if_due(environment, now=timezone.now()) is not None
    environment.refresh_from_db()
    assert environment.start_asked_at is None


def test_a_row_that_breaks_while_an_edition_is_looked_after_does_not_keep_it_from_ending(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    environment = factories.environment()
    players(environment, 2)
    watchdog()

    def breaks(**_: object) -> None:
        raise RuntimeError("A row is poisoned.")

    for name in ("participants_withdraw_barred", "quarantine_where_due"):
        monkeypatch.setattr(editions, name, breaks)
    monkeypatch.setattr(editions, "outdated_ladders", lambda _: [Tournament.objects.get()])
    monkeypatch.setattr(editions, "ladder_rank", lambda _: breaks())
    play_all(Tournament.objects.get())
    watchdog()
    assert Tournament.objects.get(edition=1).state == TournamentState.FINISHED
    assert "A row is poisoned." in caplog.text


def test_the_watchdog_looks_after_every_environment() -> None:
    environments = [factories.environment(slug) for slug in ("tic-tac-toe", "quarto")]
    for environment in environments:
        players(environment, 2)
    watchdog()
    assert set(Tournament.objects.values_list("environment", flat=True)) == {row.pk for row in environments}


def test_work_of_the_watchdog_that_breaks_does_not_keep_it_from_environments(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def breaks() -> None:
        raise RuntimeError("The engine of builds is confused.")

    players(factories.environment(), 2)
    monkeypatch.setattr("tournament_manager.tasks.duels_delay_rebuilt", breaks)
    watchdog()
    assert Tournament.objects.count() == 1
    assert "The engine of builds is confused." in caplog.text


def test_one_environment_in_trouble_does_not_stop_the_others(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    bad, good = factories.environment("quarto"), factories.environment("tic-tac-toe")
    players(good, 2)
    advance = editions.advance

    def break_on_bad(environment: Environment, **arguments: object) -> None:
        if environment == bad:
            raise RuntimeError("The ledger is on fire.")
        advance(environment, **arguments)  # type: ignore[arg-type]  # handed on as they came

    monkeypatch.setattr(editions, "advance", break_on_bad)
    with caplog.at_level(logging.ERROR):
        watchdog()
    assert Tournament.objects.get().environment == good
    assert "The ledger is on fire." in caplog.text


def test_the_watchdog_gives_back_what_dead_workers_hold(
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    environment = factories.environment()
    players(environment, 2)
    watchdog()
    duel = job_claim(kind=Duel, job_id=Duel.objects.get().pk, worker="dead")
    assert duel is not None
    Duel.objects.update(lease_expires_at=timezone.now() - timedelta(seconds=1))

    watchdog()
    duel.refresh_from_db()
    assert (duel.state, duel.error_code) == (JobState.QUEUED, "worker_lost")
    Duel.objects.update(not_before=timezone.now())
    with django_capture_on_commit_callbacks(execute=True):
        watchdog()
    assert at_work() == ["duel"]


def test_duels_rest_for_as_long_as_a_player_without_an_image_is_built_again() -> None:
    environment = factories.environment()
    players(environment, 3)
    watchdog()
    lost, *others = Submission.objects.order_by("pk")
    Submission.objects.filter(pk=lost.pk).update(image="")
    Submission.objects.exclude(pk=lost.pk).update(image="image")
    # One that is built again with its image in place plays on.
    builds = [factories.build(row, JobState.QUEUED) for row in (lost, others[0])]
    # Its delay is over, and all but one of its attempts are used up.
    Duel.objects.update(attempt=4, not_before=timezone.now() - timedelta(seconds=1))

    watchdog()
    delayed, ready = Duel.objects.exclude(not_before=None), Duel.objects.filter(not_before=None)
    assert {duel.attempt for duel in delayed} == {0}
    assert {lost.pk} < {key for duel in delayed for key in (duel.player_1_id, duel.player_2_id)}
    assert {ready.get().player_1, ready.get().player_2} == set(others)
    assert delayed.filter(not_before__gt=timezone.now()).count() == 2

    moved(Build.objects.filter(pk=builds[0].pk), JobState.SUCCEEDED)
    Submission.objects.filter(pk=lost.pk).update(image="again")
    Duel.objects.exclude(not_before=None).update(not_before=timezone.now() - timedelta(seconds=1))
    watchdog()
    assert ready.count() == 3
