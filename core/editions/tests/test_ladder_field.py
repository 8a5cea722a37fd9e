"""Who plays in a ladder: agents that join, are replaced, rest, leave or crash."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from core.courses.teams import team_create
from core.editions import ladder
from core.editions.ladder import ladder_step
from core.editions.ladder_choice import candidates_of
from core.editions.services import advance
from core.editions.tests.samples import LATER, edition, play, play_all, players
from core.jobs.lifecycle import job_claim, job_give_back
from core.models import Course, Duel, Environment, JobState, Member, Play, Rating, Submission, Tournament, User
from core.moderation.services import agent_disable, agent_enable
from core.submissions.existing import submission_delete
from core.submissions.images import has_to_play
from core.tests import factories
from core.tournaments.fields import active_field, place_awaited
from core.tournaments.ladder_selectors import ladder_duels
from core.tournaments.ladders import agent_rest
from core.tournaments.strikes import duel_void

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture(autouse=True)
def the_same_lots(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ladder draws its seed; of some seeds a promise of evenness would be broken now and then by mere chance."""
    monkeypatch.setattr(ladder, "secrets", SimpleNamespace(randbelow=lambda _: 20261122))


@pytest.fixture
def environment() -> Environment:
    environment = factories.environment()
    environment.play = Play.LADDER
    environment.save()
    return environment


def rivals(environment: Environment, count: int) -> list[Submission]:
    """An agent each of so many owners."""
    return [factories.ready(factories.agent(factories.user(f"rival-{number}"), environment)) for number in range(count)]


def here(tournament: Tournament) -> set[int]:
    return set(tournament.participants.filter(withdrawn_at=None).values_list("submission", flat=True))


def waiting(tournament: Tournament) -> list[Duel]:
    return list(tournament.duels.filter(state=JobState.QUEUED).order_by("number"))


def test_of_one_owner_the_newest_agents_play_and_another_when_one_rests(environment: Environment) -> None:
    (rival,) = rivals(environment, 1)
    one, two, three = players(environment, 3)
    User.objects.update(is_quota_exempt=False)
    advance(environment, now=LATER)
    tournament = edition(environment)
    assert here(tournament) == {rival.pk, two.pk, three.pk}

    agent_rest(agent=three.agent, is_resting=True)
    advance(environment, now=LATER)
    assert here(tournament) == {rival.pk, one.pk, two.pk}
    agent_rest(agent=three.agent, is_resting=False)
    advance(environment, now=LATER)
    assert here(tournament) == {rival.pk, two.pk, three.pk}
    environment.active_per_owner = 0
    environment.save()
    advance(environment, now=LATER)
    assert here(tournament) == {rival.pk, one.pk, two.pk, three.pk}


def test_resting_cancels_what_waits_and_takes_nothing_back(environment: Environment) -> None:
    one, two = rivals(environment, 2)
    advance(environment, now=LATER)
    tournament = edition(environment)
    duel = tournament.duels.get()
    running = job_claim(kind=Duel, job_id=duel.pk, worker="worker-1")
    agent_rest(agent=one.agent, is_resting=True)
    duel.refresh_from_db()
    assert running is not None
    assert duel.state == JobState.RUNNING
    agent_rest(agent=one.agent, is_resting=False)
    advance(environment, now=LATER)
    job_give_back(job=running, code="engine_down", error="The engine does not answer.")
    Duel.objects.update(not_before=None)
    play(duel)
    advance(environment, now=LATER)
    duel = waiting(tournament)[0]
    agent_rest(agent=one.agent, is_resting=True)
    duel.refresh_from_db()
    assert (duel.state, duel.error) == (JobState.CANCELLED, "One of the two agents has left the ladder.")
    advance(environment, now=LATER)
    assert here(tournament) == {two.pk}
    tournament.refresh_from_db()
    assert tournament.shortfall == "A duel needs two agents; 1 can play."


def test_who_leaves_stands_below_and_its_results_stay(environment: Environment) -> None:
    one, two, three = rivals(environment, 3)
    advance(environment, now=LATER)
    tournament = edition(environment)
    for _ in range(8):
        play_all(tournament)
        ladder_step(tournament, now=timezone.now())
    agent_disable(agent=one.agent, reason="Mines coins.")
    advance(environment, now=LATER)
    table = {row.submission_id: row for row in tournament.participants.all()}
    assert [table[row.pk].rank for row in (two, three, one)] == [1, 2, 3]
    assert table[one.pk].wins > 0
    assert table[two.pk].losses > 0
    assert Rating.objects.get(submission=one).value > Rating.objects.get(submission=two).value
    # Who has gone need not be able to play.
    assert set(Submission.objects.filter(has_to_play())) == {two, three}
    agent_enable(agent=one.agent)
    advance(environment, now=LATER)
    assert here(tournament) == {one.pk, two.pk, three.pk}


def test_the_page_of_a_ladder_counts_all_duels_without_reading_them(environment: Environment) -> None:
    rivals(environment, 4)
    advance(environment, now=LATER)
    tournament = edition(environment)
    for _ in range(3):
        play(waiting(tournament)[0])
        advance(environment, now=timezone.now())
    duel_void(duel=tournament.duels.filter(state=JobState.SUCCEEDED)[0], reason="The clock was wrong.", user=None)
    advance(environment, now=timezone.now())
    found = ladder_duels(tournament)
    assert found.played == len(found.recent) == 3
    assert found.played == tournament.duels.filter(state=JobState.SUCCEEDED).count()


def test_a_version_that_is_only_built_again_keeps_its_place(environment: Environment) -> None:
    one, _ = rivals(environment, 2)
    newer = factories.ready(one.agent)
    advance(environment, now=LATER)
    tournament = edition(environment)
    factories.build(newer, JobState.QUEUED)
    advance(environment, now=LATER)
    assert newer.pk in here(tournament)
    assert one.pk not in here(tournament)
    submission_delete(submission=newer)
    advance(environment, now=LATER)
    assert here(tournament) >= {one.pk}


def test_who_crashes_in_a_ladder_is_quarantined(environment: Environment, settings: Settings) -> None:
    settings.QUARANTINE_AFTER = 3
    one, two = rivals(environment, 2)
    advance(environment, now=LATER)
    tournament = edition(environment)
    for _ in range(3):
        play(waiting(tournament)[0], crashes=two)
        ladder_step(tournament, now=timezone.now())
    advance(environment, now=LATER)
    two.agent.refresh_from_db()
    assert two.agent.is_quarantined
    assert here(tournament) == {one.pk}
    assert not waiting(tournament)


def test_a_team_and_its_people_are_one_owner_in_an_environment_of_their_course(environment: Environment) -> None:
    course = Course.objects.create(slug="robots", name="Robots", team_size=3)
    people = [Member.objects.create(course=course, user=factories.user(name)) for name in ("bob", "charlie", "dora")]
    team = team_create(course=course, name="blue", people=people[:2])
    Environment.objects.filter(pk=environment.pk).update(active_per_owner=1, course=course)
    environment.refresh_from_db()
    made = [
        factories.ready(factories.agent(owner, environment, f"of-{owner.username}"))
        for owner in (team.account, people[0].user, people[1].user)
    ]
    # The newest of the team's and its people's plays, alone: there is no other owner.
    field = active_field(environment)
    assert (field.playing, set(field.aside), field.has_two_owners) == ((made[2],), set(made[:2]), False)
    waits = "a team, with all its people, may have up to one agent in the ladder, and of-charlie has"
    assert waits in place_awaited(made[0].agent)
    other = factories.ready(factories.agent(people[2].user, environment, "of-dora"))
    field = active_field(environment)
    assert (field.playing, field.has_two_owners) == ((made[2], other), True)
    assert {one.owner for one in candidates_of(environment, [*made, other], {})} == {team.account_id, people[2].user_id}
    # Elsewhere each is an owner, as teams of other courses are.
    Environment.objects.filter(pk=environment.pk).update(course=None)
    environment.refresh_from_db()
    assert active_field(environment).aside == ()
    assert "this agent" not in place_awaited(made[0].agent).lower()
