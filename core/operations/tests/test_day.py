"""The last 24 hours of the queues, hour by hour."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from core.editions.tests.planned import begun
from core.editions.tests.samples import players
from core.models import Build, JobFault, JobState
from core.operations.day import HOURS, queue_days
from core.tests import factories
from core.tests.factories import NOON

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
NOW = NOON + timedelta(minutes=30)


def at(hours: float) -> datetime:
    return NOON - timedelta(hours=hours)


def made(build: Build, created: datetime, started: datetime | None = None, ended: datetime | None = None) -> None:
    Build.objects.filter(pk=build.pk).update(created_at=created, started_at=started, ended_at=ended)


def test_every_hour_tells_what_ended_how_long_it_waited_and_what_was_open_at_its_end() -> None:
    agent = factories.agent(factories.user("ada"), factories.environment())
    versions = [factories.submission(agent) for _ in range(7)]
    # In the hour of 11: two good ones that waited for 10 and 20 minutes, one of each fault, a cancelled one.
    for version, minutes in zip(versions, (10, 20), strict=False):
        made(factories.build(version), at(1), at(1) + timedelta(minutes=minutes), at(0.5))
    made(factories.build(versions[2], JobState.FAILED), at(2), at(2), at(0.25))
    made(factories.build(versions[3], JobState.FAILED, fault=JobFault.PLATFORM), at(2), at(2), at(0.25))
    made(factories.build(versions[4], JobState.CANCELLED), at(30), at(1), at(0.1))
    # Waits since yesterday; ended before the day began.
    made(factories.build(versions[5], JobState.QUEUED), at(40))
    made(factories.build(versions[6]), at(50), at(49), at(48))

    days = {day.name: day for day in queue_days(now=NOW)}

    assert "tournament" not in days
    hours = days["build"].hours
    assert [hours[0].begins_at, hours[-1].begins_at, len(hours)] == [at(23), NOON, HOURS]
    eleven = hours[-2]
    assert (eleven.created, eleven.succeeded, eleven.by_player, eleven.by_platform, eleven.ended) == (2, 2, 1, 1, 4)
    assert eleven.waited_seconds == (10 + 20 + 0 + 0) * 60 / 4
    assert hours[-1].waited_seconds is None
    assert [hour.open for hour in hours[-5:]] == [2, 2, 4, 1, 1]
    assert {hour.open for hour in days["duel"].hours} == {0}


def test_evaluations_of_tournaments_are_jobs_of_the_day() -> None:
    begun(players(factories.task(), 2), "score", episodes=6)
    [day] = [day for day in queue_days(now=timezone.now()) if day.name == "duel"]
    assert day.hours[-1].open == 2
