"""What a new edition waits for, and how long."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from core.editions.selectors import PENDING_WAIT
from core.editions.services import advance
from core.editions.tests.samples import (
    LATER,
    edition,
    finished_edition,
    participants_of,
    play_all,
    players,
    uploaded,
)
from core.models import Build, Environment, JobState, Tournament, Validation
from core.submissions.existing import submission_rebuild
from core.tests import factories

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
NOW = datetime.now(UTC)


@pytest.fixture
def environment() -> Environment:
    return factories.environment()


def test_a_new_edition_waits_for_fresh_uploads(environment: Environment) -> None:
    rows = players(environment, 2)
    uploaded(rows, ago=timedelta(seconds=20), now=NOW)
    late = factories.submission(factories.agent(rows[0].agent.owner, environment))
    factories.build(late, JobState.RUNNING)
    advance(environment, now=NOW)
    assert not Tournament.objects.exists()

    factories.moved(late.builds.all(), JobState.SUCCEEDED)
    validation = factories.validation(late, JobState.QUEUED)
    advance(environment, now=NOW)
    assert not Tournament.objects.exists()

    factories.moved(Validation.objects.filter(pk=validation.pk), JobState.SUCCEEDED, ended_at=NOW)
    advance(environment, now=NOW)
    assert late.pk in participants_of(edition(environment))


def test_a_new_edition_does_not_wait_long_for_an_upload_that_hangs(environment: Environment) -> None:
    rows = players(environment, 2)
    uploaded(rows, ago=timedelta(seconds=20), now=NOW)
    hangs = factories.build(factories.submission(rows[0].agent), JobState.QUEUED)
    type(hangs).objects.filter(pk=hangs.pk).update(created_at=NOW - PENDING_WAIT - timedelta(seconds=1))
    advance(environment, now=NOW)
    assert Tournament.objects.exists()


def test_uploads_one_after_the_other_cannot_put_off_an_edition_for_ever(environment: Environment) -> None:
    rows = players(environment, 2)
    factories.build(factories.submission(factories.agent(rows[0].agent.owner, environment)), JobState.QUEUED)
    uploaded(rows, ago=PENDING_WAIT - timedelta(seconds=5), now=NOW)
    advance(environment, now=NOW)
    assert not Tournament.objects.exists()

    advance(environment, now=NOW + timedelta(seconds=10))
    assert participants_of(edition(environment)) == {row.pk for row in rows}


@pytest.mark.parametrize(
    ("phase", "has_older_version"),
    [
        ("build", False),
        ("validation", True),
        pytest.param("build", True, marks=pytest.mark.nightly),
        pytest.param("validation", False, marks=pytest.mark.nightly),
    ],
)
def test_agents_that_are_built_again_are_waited_for_however_long_it_takes(
    environment: Environment, phase: str, has_older_version: bool
) -> None:
    _, rows = finished_edition(environment)
    again = rows[0]
    if has_older_version:
        again = factories.ready(again.agent)
        advance(environment, now=LATER)
        play_all(edition(environment))
        advance(environment, now=LATER)
    count = Tournament.objects.count()
    job = submission_rebuild(submission=again)
    if phase == "validation":
        factories.moved(Build.objects.filter(pk=job.pk), JobState.SUCCEEDED)
        factories.validation(again, JobState.RUNNING)
    advance(environment, now=LATER)
    assert Tournament.objects.count() == count

    # Another owner's new version is news, and does not wait for ever.
    newer = factories.ready(rows[1].agent)
    advance(environment, now=LATER)
    assert newer.pk in participants_of(edition(environment))
    assert edition(environment).edition == count + 1


def test_an_agent_whose_new_build_fails_is_missing_in_the_next_edition(environment: Environment) -> None:
    _, rows = finished_edition(environment)
    job = submission_rebuild(submission=rows[0])
    advance(environment, now=LATER)
    assert Tournament.objects.count() == 1
    factories.moved(Build.objects.filter(pk=job.pk), JobState.FAILED)
    advance(environment, now=LATER)
    assert participants_of(edition(environment)) == {rows[1].pk, rows[2].pk}


def test_uploads_elsewhere_are_not_waited_for(environment: Environment) -> None:
    rows = players(environment, 2)
    uploaded(rows, ago=timedelta(seconds=20), now=NOW)
    elsewhere = factories.agent(rows[0].agent.owner, factories.environment("quarto"))
    factories.build(factories.submission(elsewhere), JobState.QUEUED)
    advance(environment, now=NOW)
    assert Tournament.objects.exists()
