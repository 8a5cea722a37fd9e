"""New rules of a game: versions are validated again, an edition begins, and ratings count today's rules alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from arena_kit.environment.registry import get_spec
from arena_kit.environment.spec import EnvironmentSpec
from core.editions.fits import compute
from core.editions.services import advance
from core.editions.tests.samples import LATER, edition, finished_edition, participants_of, play_all, players
from core.environments.services import environment_sync
from core.models import (
    CHOSEN,
    Environment,
    JobFault,
    JobState,
    LiveRating,
    PairTotal,
    Play,
    Rating,
    RatingPoint,
    Submission,
    Tournament,
    TournamentState,
    Validation,
)
from core.ratings.board import unrated_list
from core.ratings.pairs import rated_duels
from core.tests import factories
from core.tournaments.newcomers import unplayed

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def environment() -> Environment:
    return factories.environment()


def spec_of(environment: Environment, version: int) -> EnvironmentSpec:
    return replace(get_spec(environment.slug), version=version)


def new_rules(environment: Environment) -> None:
    environment_sync(spec=spec_of(environment, environment.version + 1))
    environment.refresh_from_db()


def waiting(environment: Environment) -> list[int]:
    """Return the versions whose validation by today's rules is in line, in its order."""
    rows = Validation.objects.filter(state=JobState.QUEUED, environment_version=environment.spec_id)
    return list(rows.order_by("pk").values_list("submission", flat=True))


def validate(*submissions: Submission, state: JobState = JobState.SUCCEEDED) -> None:
    rows = Validation.objects.filter(submission__in=submissions, state=JobState.QUEUED)
    fault = JobFault.NONE if state == JobState.SUCCEEDED else JobFault.PLAYER
    assert rows.update(state=state, fault=fault, ended_at=LATER - timedelta(hours=1)) == len(submissions)


def test_versions_play_again_once_they_pass_by_the_new_rules(environment: Environment) -> None:
    _, rows = finished_edition(environment)
    older, newer = rows[0], factories.ready(rows[0].agent)
    trial = factories.ready(rows[1].agent)
    Submission.objects.filter(pk=trial.pk).update(is_trial=True)
    failed = factories.submission(rows[1].agent)
    factories.build(failed)
    factories.validation(failed, JobState.FAILED)

    new_rules(environment)

    assert set(waiting(environment)) == {older.pk, newer.pk, *(row.pk for row in rows)}
    assert waiting(environment)[-1] == older.pk, "the newest of each agent first"
    assert trial.pk not in waiting(environment)
    assert not Submission.objects.validated().filter(is_trial=False).exists()
    validate(newer)
    assert list(Submission.objects.active()) == [newer]


def test_a_validation_in_line_is_by_the_new_rules_and_one_that_runs_is_done_again(environment: Environment) -> None:
    one, two = players(environment, 2)
    in_line, running = factories.submission(one.agent), factories.submission(two.agent)
    for row, state in ((in_line, JobState.QUEUED), (running, JobState.RUNNING)):
        factories.build(row)
        factories.validation(row, state)

    new_rules(environment)

    assert sorted(waiting(environment)) == sorted([one.pk, two.pk, in_line.pk, running.pk])
    assert in_line.validations.count() == 1


def test_the_same_agents_play_an_edition_by_the_new_rules_and_later_ones_another(environment: Environment) -> None:
    _, rows = finished_edition(environment)
    third = factories.ready(factories.agent(rows[0].agent.owner, environment))
    new_rules(environment)
    advance(environment, now=LATER)
    assert Tournament.objects.count() == 1, "no agent is ready"

    validate(rows[0], rows[1])
    advance(environment, now=LATER)

    second = edition(environment)
    assert second.edition == 2
    assert participants_of(second) == {rows[0].pk, rows[1].pk}
    assert set(second.duels.values_list("environment_version", flat=True)) == {environment.spec_id}
    play_all(second)
    validate(third)
    advance(environment, now=LATER)
    assert edition(environment).edition == 3
    assert third.pk in participants_of(edition(environment))


def test_chosen_editions_take_everybody_for_new(environment: Environment) -> None:
    Environment.objects.update(all_pairs_up_to=1)
    environment.refresh_from_db()
    rows = players(environment, 3)
    advance(environment, now=LATER)
    first = edition(environment)
    while Tournament.objects.get(pk=first.pk).state == TournamentState.RUNNING:
        play_all(first)
        advance(environment, now=LATER)
    assert (first.format, unplayed(environment, rows)) == (CHOSEN, [])

    new_rules(environment)
    validate(*rows)

    assert unplayed(environment, rows) == rows
    advance(environment, now=LATER)
    assert (edition(environment).edition, edition(environment).state) == (2, TournamentState.RUNNING)


def test_ratings_count_today_s_rules_alone_and_the_past_stays(environment: Environment) -> None:
    first, rows = finished_edition(environment)
    before, points = Rating.objects.count(), list(RatingPoint.objects.order_by("pk").values_list("pk", "value"))
    kept = dict(first.participants.values_list("submission", "rating"))
    assert (before, len(points)) == (len(rows), len(rows))

    new_rules(environment)
    advance(environment, now=LATER)

    for derived in (Rating.objects, LiveRating.objects, PairTotal.objects, rated_duels(environment)):
        assert not derived.exists()
    assert list(RatingPoint.objects.order_by("pk").values_list("pk", "value")) == points
    assert dict(first.participants.values_list("submission", "rating")) == kept
    at = RatingPoint.objects.latest("at").at
    assert {row.submission_id: row.value for row in compute(environment, at=at).ratings} == kept
    validate(*rows)
    assert set(unrated_list(environment)) == set(rows)
    advance(environment, now=LATER)
    play_all(edition(environment))
    advance(environment, now=LATER + timedelta(minutes=10))
    assert Rating.objects.filter(rank__isnull=False).count() == len(rows)
    assert {row.duel_count for row in Rating.objects.all()} == {len(rows) - 1}


@pytest.mark.parametrize("play", [Play.EDITIONS, Play.LADDER])
def test_what_runs_ends_by_its_own_rules_with_the_ratings_of_that_time(environment: Environment, play: Play) -> None:
    finished_edition(environment)
    other = factories.ready(factories.agent(factories.user("other"), environment))
    Environment.objects.update(play=play)
    environment.refresh_from_db()
    advance(environment, now=LATER)
    running = edition(environment)
    assert (running.edition, running.state) == (2, TournamentState.RUNNING)
    known = dict(Rating.objects.values_list("submission", "value"))

    new_rules(environment)
    play_all(running)
    advance(environment, now=LATER)

    running.refresh_from_db()
    assert running.state == TournamentState.FINISHED
    rated = dict(running.participants.values_list("submission", "rating"))
    assert {key: rated[key] for key in known if key in rated} == {key: known[key] for key in known if key in rated}
    assert rated[other.pk] is None
    # Its results come in after the change, and count in its own table alone.
    assert running.participants.filter(rank__isnull=False).count() == len(rated)
    assert not LiveRating.objects.exists()


def test_a_change_without_new_rules_renews_nothing(environment: Environment) -> None:
    finished_edition(environment)
    environment_sync(spec=spec_of(environment, environment.version))
    assert not waiting(environment)
    advance(environment, now=LATER)
    assert Rating.objects.exists()
