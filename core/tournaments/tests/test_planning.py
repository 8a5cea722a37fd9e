"""Tournaments of organisers before they begin."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django.fixtures import Settings

from core.duels.selectors import spec_get
from core.errors import Refused
from core.models import AuditEntry, Environment, Submission, Tournament, TournamentState, User
from core.tests import applications, factories
from core.tests.factories import NOON
from core.tests.organising import REASON, act
from core.tournaments.planning import tournament_plan, tournament_relabel
from core.tournaments.registration_selectors import field_list
from core.tournaments.registrations import registration_create
from core.tournaments.rounds import Pairing, duels_draw, tournament_open

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


def at(hours: float) -> datetime:
    return NOON + hours * HOUR


def plan(environment: Environment, **fields: Any) -> Tournament:
    return tournament_plan(tournament=Tournament(environment=environment, **{"name": "cup"} | fields), now=NOON)


@pytest.mark.parametrize(
    ("fields", "field", "sentence"),
    [
        ({"name": " "}, "name", "name is empty"),
        (
            {"registration_opens_at": at(2), "registration_closes_at": at(1)},
            "registration_closes_at",
            "before it opens",
        ),
        ({"registration_closes_at": at(3), "starts_at": at(2)}, "starts_at", "while registration is open"),
        ({"registration_opens_at": at(3), "starts_at": at(2)}, "starts_at", "before registration opens"),
        ({"freezes_at": at(3), "starts_at": at(2)}, "freezes_at", "after the beginning on 1 Mar 2026, 14:00 UTC"),
        ({"starts_at": at(-1)}, "starts_at", "1 Mar 2026, 11:00 UTC is in the past"),
        ({"format": "double-elimination", "max_participants": 2}, "max_participants", "needs 3 participants"),
        ({"max_participants": 501}, "max_participants", "at most 500 participants"),
        ({"format": "swiss", "settings": {"rounds": 0}}, "settings.rounds", "rounds is 0"),
        ({"eligibility": "TEAMS"}, "teams", "Name the teams"),
        ({"eligibility": "INVITED"}, "invited", "Name the people"),
    ],
)
def test_what_cannot_be_played_is_refused_at_its_field(
    environment: Environment, fields: dict[str, Any], field: str, sentence: str
) -> None:
    with pytest.raises(Refused) as refusal:
        plan(environment, **fields)
    assert (refusal.value.field, sentence in str(refusal.value)) == (field, True), str(refusal.value)
    assert not Tournament.objects.exists()


@pytest.mark.parametrize(("has_openings", "rules"), [(True, "tic-tac-toe-v2"), (False, "tic-tac-toe-v2-bare")])
def test_the_rules_of_a_tournament_leave_openings_out_if_it_does(has_openings: bool, rules: str, alice: User) -> None:
    environment = factories.environment("tic-tac-toe")
    pair = [factories.ready(factories.agent(owner, environment)) for owner in (alice, factories.user("bob"))]
    row = plan(environment, has_openings=has_openings)
    tournament_open(tournament=row, submissions=pair, settings={}, seed=row.seed, now=NOON)
    duels_draw(tournament=row, pairings=[Pairing(1, pair[0].pk, pair[1].pk, seed=1, match_count=2)])
    duel = row.duels.get()
    assert (duel.environment_version, spec_get(duel).openings is not None) == (rules, has_openings)


def test_nothing_is_planned_without_opponents_or_in_a_closed_environment(environment: Environment) -> None:
    with pytest.raises(Refused, match="has one seat, so its agents never meet"):
        plan(factories.task())
    with pytest.raises(Refused, match="is an application, which has no tournaments"):
        plan(applications.package().environment)
    environment.is_active = False
    with pytest.raises(Refused, match="is inactive; make it active first"):
        plan(environment)


def test_a_planned_tournament_takes_the_next_edition_and_draws_its_seed(environment: Environment) -> None:
    first, second = plan(environment, registration_closes_at=at(1)), plan(environment, seed=7)
    assert [(row.edition, row.state, row.is_automatic, row.started_at) for row in (first, second)] == [
        (1, "PLANNED", False, None),
        (2, "PLANNED", False, None),
    ]
    assert first.seed > 0
    assert second.seed == 7
    # An organiser who closes it can open it again.
    assert first.registration_opens_at == NOON


def test_who_takes_part_are_the_newest_versions_from_before_the_freeze(
    people: factories.Cast, environment: Environment, players: list[Submission]
) -> None:
    anna, berta, clara = players
    Submission.objects.update(created_at=at(-2))
    newer = factories.ready(anna.agent)
    Submission.objects.filter(pk=newer.pk).update(created_at=at(2))
    late = factories.ready(factories.agent(people.bob, environment))
    Submission.objects.filter(pk=late.pk).update(created_at=at(2))
    clara.agent.is_resting = True
    clara.agent.save()

    assert field_list(plan(environment, starts_at=at(3))) == [newer, berta, late]
    assert field_list(plan(environment, starts_at=at(3), freezes_at=at(1))) == [anna, berta]
    assert field_list(plan(environment, eligibility="TEAMS", teams=["Blue"])) == [newer, berta, late]
    assert field_list(plan(environment, eligibility="TEAMS", teams=["Red"])) == []
    cup = factories.planned(environment)
    registration_create(tournament=cup, agent=berta.agent, by=people.alice, now=timezone.now())
    assert field_list(cup) == [berta]


def test_organisers_plan_on_a_form_that_says_what_is_wrong(
    organiser: Client, environment: Environment, settings: Settings
) -> None:
    settings.TEAMS = ("Blue", "Red")
    address = reverse("web:organise_plan")
    form = {
        "environment": environment.pk, "name": "cup", "format": "swiss", "settings.rounds": "3",
        "results": "HIDDEN", "eligibility": "TEAMS", "teams": "Blue\n\n Red ", "max_participants": "3",
        "seed": "", "is_rated": "on", "starts_at": "2126-12-01T18:00", "save": "1",
    }  # fmt: skip
    page = organiser.post(address, form)
    assert page.context["form"].errors == {
        "max_participants": [
            "Swiss with these settings needs 4 participants; let at least as many in, or change the settings."
        ]
    }
    assert organiser.post(address, form | {"max_participants": "8"}).status_code == 302
    cup = Tournament.objects.get()
    assert (cup.state, cup.settings, cup.teams, cup.results) == ("PLANNED", {"rounds": 3}, ["Blue", "Red"], "HIDDEN")
    assert cup.created_by is not None

    change = reverse("web:organise_replan", args=[cup.pk])
    assert organiser.post(change, form | {"format": "round-robin", "settings.rounds": ""}).status_code == 302
    cup.refresh_from_db()
    assert (cup.format, cup.settings, cup.max_participants) == ("round-robin", {}, 3)


def test_of_a_tournament_that_has_begun_only_name_season_and_audience_can_be_changed(
    organiser: Client, environment: Environment, players: list[Submission]
) -> None:
    row, season = factories.tournament(players), factories.season(environment)
    Tournament.objects.filter(pk=row.pk).update(results="HIDDEN")
    address = reverse("web:organise_replan", args=[row.pk])
    form = {"name": "cup", "season": season.pk, "results": "PUBLIC", "format": "swiss", "state": "PLANNED", "seed": "9"}
    # Results that have been public cannot be withheld again.
    for results in ("PUBLIC", "HIDDEN"):
        assert organiser.post(address, form | {"results": results}).status_code == 302
        row.refresh_from_db()
        assert (row.name, row.season, row.results) == ("cup", season, "PUBLIC")
    assert (row.format, row.state, row.seed) == ("round-robin", "FINISHED", 0)
    with pytest.raises(Refused, match="Its results are public already"):
        tournament_relabel(tournament=row, name="cup", season=None, results="HIDDEN")


def test_begin_now_needs_enough_who_take_part_and_ends_registration(
    organiser: Client, people: factories.Cast, environment: Environment, players: list[Submission]
) -> None:
    cup = factories.planned(environment)
    assert "needs 2 participants, and 0 would take part" in act(organiser, "begin_now", cup)[0]
    for player in players[:2]:
        registration_create(tournament=cup, agent=player.agent, by=people.alice, now=timezone.now())
    assert act(organiser, "begin_now", cup) == ["Tic-tac-toe: cup begins within seconds."]
    cup.refresh_from_db()
    assert cup.starts_at is not None
    assert cup.starts_at == cup.registration_closes_at
    assert cup.starts_at <= timezone.now()
    assert AuditEntry.objects.filter(action="begin_now", object_id=str(cup.pk)).count() == 2


def test_calling_off_gives_the_reason_and_is_for_planned_ones_alone(
    organiser: Client, environment: Environment, players: list[Submission]
) -> None:
    cup, edition = factories.planned(environment), factories.tournament(players, edition=2)
    assert act(organiser, "call_off", cup, reason=REASON) == ["Tic-tac-toe: cup is called off."]
    assert "is no longer planned" in act(organiser, "call_off", edition, reason=REASON)[0]
    cup.refresh_from_db()
    assert (cup.state, cup.cancel_reason) == (TournamentState.CANCELLED, REASON)


def test_releasing_results_shows_them_to_everybody_and_has_ratings_follow(
    organiser: Client, players: list[Submission]
) -> None:
    row = factories.tournament(players)
    Tournament.objects.update(results="HIDDEN")
    assert "now shows its results to all visitors" in act(organiser, "release", row)[0]
    row.refresh_from_db()
    assert row.counts_for_ratings
    assert "results are public already" in act(organiser, "release", row)[0]
