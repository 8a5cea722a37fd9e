"""A tournament begins when every version from before its freeze has been built and validated, or half an hour later."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
import time_machine
from django.utils import timezone

from core.editions.planned import planned_begin
from core.editions.tests.samples import players
from core.jobs.artifacts import DuelArtifacts
from core.jobs.lifecycle import job_claim
from core.models import Environment, JobState, Notice, Submission, Tournament, TournamentState, Validation
from core.submissions.phases import validation_fail
from core.tests import factories
from core.tournaments.registration_selectors import awaited_count, registration_card
from core.tournaments.registrations import registration_create

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)


@pytest.fixture
def cup() -> Iterator[Tournament]:
    """A tournament of three registered agents that begins in an hour, frozen ten minutes before."""
    with time_machine.travel(factories.NOON, tick=False):
        environment = factories.environment()
        now = timezone.now()
        cup = factories.planned(
            environment,
            registration_closes_at=now + 60 * MINUTE,
            freezes_at=now + 50 * MINUTE,
            starts_at=now + 60 * MINUTE,
        )
        Environment.objects.update(active_per_owner=0)
        for player in players(environment, 3):
            registration_create(tournament=cup, agent=player.agent, by=player.agent.owner, now=now)
        yield cup


def uploaded(cup: Tournament, minutes: int) -> Submission:
    """A new version of the first agent that is being validated."""
    entry = cup.registrations.order_by("pk")[0]
    version = factories.submission(entry.agent)
    Submission.objects.filter(pk=version.pk).update(created_at=factories.NOON + minutes * MINUTE)
    factories.build(version)
    factories.validation(version, JobState.RUNNING)
    return version


def begun(cup: Tournament, minutes: int) -> bool:
    planned_begin(Environment.objects.get(pk=cup.environment_id), now=factories.NOON + minutes * MINUTE)
    cup.refresh_from_db()
    return cup.state == TournamentState.RUNNING


def plays(cup: Tournament, version: Submission) -> bool:
    return cup.participants.filter(submission=version).exists()


def test_it_waits_for_a_version_from_before_the_freeze_and_lets_it_play(cup: Tournament) -> None:
    version = uploaded(cup, 49)
    assert not begun(cup, 60)
    assert not begun(cup, 89)
    card = registration_card(cup, None, now=factories.NOON + 61 * MINUTE)
    assert (card.awaited, card.begins_by) == (1, factories.NOON + 90 * MINUTE)
    version.validations.all().delete()
    factories.validation(version)
    assert begun(cup, 61)
    assert plays(cup, version)


def test_it_waits_half_an_hour_at_most(cup: Tournament) -> None:
    version = uploaded(cup, 49)
    assert begun(cup, 90)
    assert not plays(cup, version)


def test_it_does_not_wait_for_versions_from_after_the_freeze_or_of_agents_that_do_not_take_part(
    cup: Tournament,
) -> None:
    uploaded(cup, 51)
    other = factories.submission(factories.agent(factories.user("other"), cup.environment))
    factories.build(other, JobState.QUEUED)
    assert awaited_count(cup, now=cup.starts_at or factories.NOON) == 0
    assert begun(cup, 60)


def test_an_agent_is_registered_before_its_first_version_is_validated_and_its_owner_learns_that_it_failed(
    cup: Tournament,
) -> None:
    agent = factories.agent(factories.user("newcomer"), cup.environment, "first-try")
    version = factories.submission(agent)
    factories.build(version, JobState.QUEUED)
    registration_create(tournament=cup, agent=agent, by=agent.owner, now=timezone.now())
    own = registration_card(cup, agent.owner, now=timezone.now()).own
    assert [(entry.agent, entry.is_registered, entry.is_pending, entry.obstacle) for entry in own] == [
        (agent, True, True, "")
    ]
    version.builds.all().delete()
    factories.build(version)
    waiting = factories.validation(version, JobState.QUEUED)
    running = job_claim(kind=Validation, job_id=waiting.pk, worker="worker-1")
    assert running is not None
    validation_fail(
        validation=running, artifacts=DuelArtifacts(1, "", "", ""), code="player_crashed", error="It broke.", log=""
    )
    told = Notice.objects.get(user=agent.owner, title__contains="did not pass its validation")
    assert f"first-try is registered for {cup}, and has no version that can take part." in told.text
    assert begun(cup, 60)
    without = Notice.objects.get(user=agent.owner, title__contains="without first-try")
    assert without.title == f"{cup} has begun without first-try"
