"""An environment that cannot be played here: nothing new is made to be played in it, until it can."""

from __future__ import annotations

import pytest

from arena_kit.environment.availability import Unavailability
from core.duels.challenges import challenge_create
from core.duels.services import duel_new, duels_enqueue
from core.editions.planned import planned_begin
from core.editions.progress import tournament_step
from core.editions.services import advance, start_now
from core.editions.tests.planned import begun, play_on
from core.editions.tests.samples import LATER, break_down, play, play_all, players
from core.environments.availability import availability_note, environment_retire
from core.errors import Refused
from core.models import (
    CancelCode,
    Duel,
    Environment,
    JobFault,
    JobState,
    Play,
    Promotion,
    PromotionState,
    Tournament,
    TournamentState,
)
from core.submissions.promotions import promotions_decide
from core.tests import factories
from core.tournaments.ladder_selectors import ladder_outlook

pytestmark = pytest.mark.django_db
WHY = "Tic-tac-toe is not available on this arena at the moment."


@pytest.fixture
def environment() -> Environment:
    return factories.environment()


def available(environment: Environment, *, here: bool) -> Environment:
    environment.unavailable_because = "" if here else "It needs a package."
    environment.save(update_fields=["unavailable_because"])
    return environment


@pytest.mark.slow
def test_a_running_ladder_draws_no_round_and_says_why_until_it_can_be_played_again(environment: Environment) -> None:
    environment.play = Play.LADDER
    environment.save()
    for number in range(2):
        factories.ready(factories.agent(factories.user(f"rival-{number}"), environment))
    available(environment, here=False)
    advance(environment, now=LATER)
    assert not Tournament.objects.exists()
    assert ladder_outlook(environment).startswith(WHY)

    advance(available(environment, here=True), now=LATER)
    ladder = Tournament.objects.get()
    drawn = ladder.duels.count()
    assert drawn > 0
    available(environment, here=False)
    play_all(ladder)
    advance(environment, now=LATER)
    ladder.refresh_from_db()
    assert ladder.duels.count() == drawn
    assert ladder.shortfall.startswith(WHY)

    advance(available(environment, here=True), now=LATER)
    ladder.refresh_from_db()
    assert ladder.duels.count() > drawn
    assert ladder.shortfall == ""


def test_an_edition_waits_for_its_environment_and_ends_as_if_nothing_had_happened(environment: Environment) -> None:
    players(environment, 3)
    advance(environment, now=LATER)
    edition = Tournament.objects.get()
    first, *rest = edition.duels.order_by("pk")
    play(first)
    availability_note(environment=environment, trouble=Unavailability("It needs a package."))
    advance(environment, now=LATER)
    edition.refresh_from_db()
    assert edition.state == TournamentState.RUNNING
    assert {duel.not_before is None for duel in edition.duels.filter(state=JobState.QUEUED)} == {False}

    availability_note(environment=environment, trouble=None)
    assert edition.duels.filter(state=JobState.QUEUED, not_before=None).count() == len(rest)
    play_all(edition)
    advance(environment, now=LATER)
    edition.refresh_from_db()
    assert edition.state == TournamentState.FINISHED
    assert edition.duels.filter(state=JobState.SUCCEEDED).count() == 1 + len(rest)


def test_an_edition_of_a_retired_environment_ends_with_what_was_played(environment: Environment) -> None:
    players(environment, 3)
    advance(environment, now=LATER)
    edition = Tournament.objects.get()
    first, *rest = edition.duels.order_by("pk")
    play(first)
    advance(environment, now=LATER)
    points = dict(edition.participants.values_list("pk", "points"))

    assert environment_retire(environment=environment) == len(rest)
    assert environment_retire(environment=environment) == 0
    for duel in edition.duels.exclude(pk=first.pk):
        assert (duel.state, duel.fault) == (JobState.CANCELLED, JobFault.NONE)
        assert duel.cancel_code == CancelCode.ENVIRONMENT_RETIRED
        assert duel.error == "Tic-tac-toe is no longer part of this arena."
    advance(Environment.objects.get(), now=LATER)
    edition.refresh_from_db()
    assert edition.state == TournamentState.FINISHED
    assert dict(edition.participants.values_list("pk", "points")) == points
    assert Tournament.objects.count() == 1


def test_no_edition_begins(environment: Environment) -> None:
    players(environment, 2)
    available(environment, here=False)
    advance(environment, now=LATER)
    with pytest.raises(Refused, match=WHY):
        start_now(environment)
    assert not Tournament.objects.exists()


def test_a_planned_tournament_waits(environment: Environment) -> None:
    players(environment, 3)
    cup = factories.planned(environment, registration_opens_at=None, registration_closes_at=None)
    Tournament.objects.filter(pk=cup.pk).update(starts_at=LATER)
    planned_begin(available(environment, here=False), now=LATER)
    cup.refresh_from_db()
    assert cup.state == TournamentState.PLANNED
    planned_begin(available(environment, here=True), now=LATER)
    cup.refresh_from_db()
    assert cup.state == TournamentState.RUNNING


@pytest.mark.slow
def test_a_running_tournament_of_organisers_draws_nothing_and_says_why(environment: Environment) -> None:
    cup = begun(players(environment, 4))
    available(environment, here=False)
    for duel in cup.duels.all():
        break_down(duel)
    drawn = cup.duels.count()
    for _ in range(2):
        tournament_step(cup, now=LATER)
    assert (cup.duels.count(), cup.state) == (drawn, TournamentState.RUNNING)
    assert cup.shortfall.startswith(WHY)

    available(environment, here=True)
    play_on(cup)
    assert (cup.state, cup.shortfall) == (TournamentState.FINISHED, "")


def test_no_challenge_is_taken(environment: Environment) -> None:
    asking, rival = (factories.ready(factories.agent(factories.user(name), environment)) for name in ("ann", "bob"))
    factories.rating(rival)
    available(environment, here=False)
    with pytest.raises(Refused, match=WHY):
        challenge_create(user=asking.agent.owner, agent=asking.agent, opponent=rival.agent)
    assert not Duel.objects.exists()


def test_the_test_of_a_new_version_waits_instead_of_ending_without_a_result(environment: Environment) -> None:
    environment.has_gate = True
    environment.save()
    incumbent = factories.ready(factories.agent(factories.user("ann"), environment))
    candidate = factories.ready(incumbent.agent)
    test = {"elo0": 0.0, "elo1": 50.0, "alpha": 0.05, "beta": 0.05, "cap": 30, "scale": "normalised Elo"}
    promotion = Promotion.objects.create(candidate=candidate, incumbent=incumbent, test=test)
    duels_enqueue(
        duels=[duel_new(promotion=promotion, number=1, player_1=candidate, player_2=incumbent, seed=1, match_count=60)]
    )
    available(environment, here=False)
    for _ in range(4):
        for duel in promotion.duels.filter(state=JobState.QUEUED):
            break_down(duel)
        promotions_decide()
    promotion.refresh_from_db()
    assert (promotion.state, promotion.duels.count()) == (PromotionState.TESTING, 1)

    available(environment, here=True)
    promotions_decide()
    assert promotion.duels.get(number=2).state == JobState.QUEUED
