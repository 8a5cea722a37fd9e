"""Agents registered for planned tournaments."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from core.errors import Refused
from core.models import (
    Agent,
    Build,
    Eligibility,
    Environment,
    Notice,
    NoticeKind,
    Registration,
    Submission,
    Tournament,
    TournamentState,
)
from core.moderation.services import agent_disable, agent_enable, user_ban
from core.tests import factories
from core.tests.factories import Cast
from core.tournaments.calendar import tournament_planned_list
from core.tournaments.registration_selectors import registration_card
from core.tournaments.registrations import (
    registration_create,
    registration_exchange,
    registration_notify,
    registration_withdraw,
)
from core.tournaments.seeding import seeded

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


def register(cup: Tournament, agent: Agent, **at: Any) -> Registration:
    return registration_create(tournament=cup, agent=agent, by=agent.owner, now=timezone.now() + timedelta(**at))


def why_not(cup: Tournament, agent: Agent, **at: Any) -> str:
    with pytest.raises(Refused) as refusal:
        register(cup, agent, **at)
    return str(refusal.value)


def test_an_agent_is_registered_once_within_the_window_and_waits_when_it_is_full(
    environment: Environment, players: list[Submission]
) -> None:
    anna, berta, clara = (player.agent for player in players)
    Environment.objects.update(active_per_owner=3)
    cup = factories.planned(environment, max_participants=2)
    assert "Registration opens on" in why_not(cup, anna, hours=-2)
    assert "Registration closed on" in why_not(cup, anna, days=1)
    register(cup, anna)
    assert why_not(cup, anna) == "anna is registered already."
    register(cup, berta)
    register(cup, clara)
    card = registration_card(cup, clara.owner, now=timezone.now())
    assert (card.waiting, card.taken, card.places_left) == (frozenset({clara.pk}), 2, 0)
    assert [entry.count for entry in tournament_planned_list(environment, now=timezone.now())] == [2]
    # Also after the window has closed, and then the first that waits has the place.
    registration_withdraw(tournament=cup, agent=anna, by=anna.owner)
    assert not registration_card(cup, None, now=timezone.now()).waiting
    told = Notice.objects.filter(title="A place in Tic-tac-toe: cup has become free")
    assert [notice.user for notice in told] == [clara.owner]
    with pytest.raises(Refused, match="anna is not registered"):
        registration_withdraw(tournament=cup, agent=anna, by=anna.owner)
    assert [row.agent for row in cup.registrations.all()] == [berta, clara]


def test_another_agent_of_an_owner_takes_the_place_of_one(environment: Environment, people: Cast) -> None:
    one, two = (factories.ready(factories.agent(people.alice, environment)).agent for _ in range(2))
    new, theirs = factories.agent(people.alice, environment), factories.agent(people.bob, environment)
    cup = factories.planned(environment, max_participants=2, seeded_by="BY_HAND")
    register(cup, one)
    register(cup, factories.ready(theirs).agent)
    cup.registrations.update(seed=1)

    def exchange(agent: Agent, other: Agent, by: Agent) -> str:
        try:
            registration_exchange(tournament=cup, agent=agent, other=other, by=by.owner)
        except Refused as refusal:
            return refusal.code
        return ""

    assert exchange(one, new, one) == "cannot_play"
    assert exchange(one, theirs, one) == exchange(theirs, two, one) == exchange(one, two, theirs) == "not_yours"
    assert exchange(two, one, one) == "registered"
    # After registration has closed, and without losing place and seed.
    Tournament.objects.filter(pk=cup.pk).update(registration_closes_at=timezone.now())
    assert exchange(one, two, one) == ""
    assert list(cup.registrations.values_list("agent", "seed")) == [(two.pk, 1), (theirs.pk, 1)]
    assert exchange(one, new, one) == "cannot_play"
    # The place of a disabled agent may be that of one who waited.
    agent_disable(agent=two, reason="It mines.")
    assert exchange(two, one, one) == "cannot_play"
    assert cup.registrations.filter(agent=two).exists()
    agent_enable(agent=two)
    Tournament.objects.filter(pk=cup.pk).update(state=TournamentState.CANCELLED, ended_at=timezone.now())
    assert exchange(two, one, one) == "closed"


def test_owners_are_told_once_that_registration_is_open(environment: Environment, people: Cast) -> None:
    owners = (people.alice, people.bob, people.charlie)
    anna, berta, _ = (factories.ready(factories.agent(owner, environment)).agent for owner in owners)
    now = timezone.now()
    cup = factories.planned(environment, registration_opens_at=now + HOUR)

    def tell(at: datetime) -> list[str]:
        registration_notify(environment=environment, now=at)
        told = Notice.objects.filter(kind=NoticeKind.TOURNAMENT_OPEN).order_by("user")
        return list(told.values_list("user__username", flat=True))

    assert tell(now) == []
    register(cup, anna, hours=2)
    agent_disable(agent=berta, reason="It mines.")
    assert tell(now + 2 * HOUR) == ["charlie"]
    assert tell(now + 3 * HOUR) == ["charlie"]
    factories.planned(environment, eligibility=Eligibility.TEAMS, teams=["reds"])
    invited = factories.planned(environment)
    Tournament.objects.filter(pk=invited.pk).update(eligibility=Eligibility.INVITED)
    assert tell(now + 3 * HOUR) == ["charlie"]


def test_who_is_disabled_or_banned_holds_no_place(environment: Environment, people: Cast) -> None:
    owners = (people.alice, people.bob, people.charlie, people.olga)
    anna, berta, clara, dora = (factories.ready(factories.agent(owner, environment)).agent for owner in owners)
    cup = factories.planned(environment, max_participants=2)
    register(cup, anna)
    register(cup, berta)
    agent_disable(agent=anna, reason="It mines.")
    register(cup, clara)
    user_ban(user=people.bob, reason="They mine.")
    assert registration_card(cup, None, now=timezone.now()).places_left == 1
    register(cup, dora)
    assert [entry.count for entry in tournament_planned_list(environment, now=timezone.now())] == [2]
    assert [row.agent for row in seeded(cup)] == [clara, dora]
    # Let back, who came first takes part, and the last one learns that it waits.
    agent_enable(agent=anna)
    assert [row.agent for row in seeded(cup)] == [anna, clara]
    card = registration_card(cup, people.olga, now=timezone.now())
    assert (card.waiting, card.taken, card.places_left) == (frozenset({dora.pk}), 2, 0)
    assert [entry.count for entry in tournament_planned_list(environment, now=timezone.now())] == [2]
    assert [entry.waits for entry in card.own] == [True]


def test_of_one_owner_as_many_agents_are_registered_as_the_environment_lets_in(
    environment: Environment, players: list[Submission]
) -> None:
    cup = factories.planned(environment)
    for player in players[:2]:
        register(cup, player.agent)
    assert why_not(cup, players[2].agent) == "Each owner may register up to 2 agents; withdraw another first."
    environment.active_per_owner = 0
    environment.save()
    cup.refresh_from_db()
    register(cup, players[2].agent)
    assert cup.registrations.count() == 3


def test_only_its_owner_registers_or_withdraws_an_agent(
    people: factories.Cast, environment: Environment, players: list[Submission]
) -> None:
    cup, anna = factories.planned(environment), players[0].agent
    register(cup, anna)
    with pytest.raises(Refused, match="Only the owner of an agent may withdraw it"):
        registration_withdraw(tournament=cup, agent=anna, by=people.bob)
    with pytest.raises(Refused, match="Only the owner of an agent may register it"):
        registration_create(tournament=cup, agent=players[1].agent, by=people.bob, now=timezone.now())
    assert cup.registrations.count() == 1


def test_registrations_end_once_it_has_begun_or_is_over(environment: Environment, players: list[Submission]) -> None:
    anna, berta = players[0].agent, players[1].agent
    cup = factories.planned(environment)
    register(cup, anna)
    for state, sentence in (("RUNNING", "has begun"), ("FINISHED", "has ended"), ("CANCELLED", "was cancelled")):
        ended = None if state == TournamentState.RUNNING else timezone.now()
        Tournament.objects.update(state=state, started_at=timezone.now(), ended_at=ended)
        cup.refresh_from_db()
        assert sentence in why_not(cup, berta)
        with pytest.raises(Refused, match="can no longer be withdrawn"):
            registration_withdraw(tournament=cup, agent=anna, by=anna.owner)
    assert "every agent that may play takes part" in why_not(factories.planned(
        environment, registration_opens_at=None, registration_closes_at=None
    ), anna)  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "alice", "charlie"),
    [
        (
            {"eligibility": "TEAMS", "teams": ["Red", "Green"]},
            "for members of these teams: Red, Green; yours is Blue",
            "",
        ),
        ({"eligibility": "INVITED"}, "This tournament is by invitation", ""),
    ],
)
def test_only_those_whom_it_is_for_register(
    people: factories.Cast, environment: Environment, fields: dict[str, Any], alice: str, charlie: str
) -> None:
    hers, his = (factories.ready(factories.agent(owner, environment)).agent for owner in (people.alice, people.charlie))
    cup = factories.planned(environment)
    Tournament.objects.update(**fields)
    cup.invited.add(people.charlie)
    assert alice in why_not(cup, hers)
    assert register(cup, his).agent == his
    cup.refresh_from_db()
    # Its page says so to people, and not to those who choose them.
    shown = [registration_card(cup, who, now=timezone.now()).own_obstacle for who in (people.alice, people.olga)]
    assert alice in shown[0]
    assert shown[1] == ""
    # But for agents of their own, which the page would offer to register although that is refused.
    own = factories.ready(factories.agent(people.olga, environment, "olgas")).agent
    assert registration_card(cup, people.olga, now=timezone.now()).own_obstacle == why_not(cup, own)


@pytest.mark.parametrize(
    ("agent", "sentence"),
    [
        ({"is_disabled": True, "disabled_reason": "It spammed."}, "anna is disabled: It spammed."),
        ({"is_disabled": True, "quarantined_at": timezone.now(), "quarantined_number": 1}, "paused because it crashed"),
        ({"is_resting": True}, "anna is hidden: show it again on its page first."),
    ],
)
def test_agents_that_do_not_play_cannot_register(
    environment: Environment, players: list[Submission], agent: dict[str, Any], sentence: str
) -> None:
    Agent.objects.filter(pk=players[0].agent_id).update(**agent)
    assert sentence in why_not(factories.planned(environment), Agent.objects.get(pk=players[0].agent_id))


def test_a_version_that_may_play_from_before_the_freeze_is_needed(
    people: factories.Cast, environment: Environment, players: list[Submission]
) -> None:
    anna, berta = players[0].agent, players[1].agent
    cup = factories.planned(environment, freezes_at=timezone.now() - HOUR)
    assert "No version of anna that may play was uploaded before" in why_not(cup, anna)
    Submission.objects.filter(agent=anna).update(created_at=timezone.now() - 2 * HOUR)
    register(cup, anna)
    Build.objects.filter(submission__agent=berta).delete()
    assert "berta has no version that may play" in why_not(cup, berta)
    elsewhere = factories.ready(factories.agent(people.alice, factories.environment("connect-four"), "dora")).agent
    assert why_not(cup, elsewhere) == "dora plays in another environment."
