"""Organisers plan and run tournaments over the API, with the rights and the refusals of the pages."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.utils import timezone

from core.editions.progress import tournament_begin, tournament_step
from core.editions.tests.planned import begun
from core.editions.tests.samples import players
from core.editions.tests.scored import score_all, step, waiting
from core.models import Audience, AuditEntry, Environment, JobState, Notice, Tournament, TournamentState, User
from core.people.tokens import token_create
from core.tests import factories
from core.tests.factories import Cast
from web.tests import played

pytestmark = pytest.mark.django_db
PLANS = "/api/v1/tournaments/"


class Program:
    """A program with a person's token."""

    def __init__(self, person: User) -> None:
        _, token = token_create(owner=person, name="test", now=timezone.now(), days=1)
        self.client = Client(headers={"Authorization": f"Bearer {token}"})

    def send(self, address: str, **data: Any) -> tuple[int, Any]:
        answer = self.client.post(address, data, content_type="application/json")
        return answer.status_code, answer.json()

    def act(self, cup: Tournament, name: str, **data: Any) -> tuple[int, Any]:
        return self.send(f"{PLANS}{cup.pk}/acts/{name}/", **data)


def test_a_program_plans_a_tournament_as_the_form_does(environment: Environment, cast: Cast) -> None:
    olga = Program(cast.olga)
    sent = {
        "environment": environment.slug, "name": "Cup", "format": "groups-knock-out", "settings": {"groups": 2},
        "seeded_by": "DRAWN", "results": "HIDDEN", "eligibility": "INVITED", "invited": ["bob", cast.alice.email],
        "registration_opens_at": "2030-07-01T10:00:00+02:00", "starts_at": "2030-07-02T10:00:00+02:00",
    }  # fmt: skip
    status, told = olga.send(PLANS, **sent)
    assert (status, told["starts_at"], told["settings"]) == (201, "2030-07-02T08:00:00Z", {"groups": 2})
    cup = Tournament.objects.get(pk=told["id"])
    assert (cup.state, cup.created_by, cup.is_automatic) == (TournamentState.PLANNED, cast.olga, False)
    assert set(cup.invited.all()) == {cast.alice, cast.bob}
    assert AuditEntry.objects.filter(action="add", object_id=str(cup.pk), channel="API").exists()
    # The refusals of the form, at its fields.
    assert olga.send(PLANS, **sent | {"settings": {"groups": 99}})[1].keys() == {"settings.groups"}
    assert "before registration opens" in str(olga.send(PLANS, **sent | {"starts_at": "2030-06-30T10:00:00Z"})[1])
    assert olga.send(PLANS, **sent | {"invited": ["zoe"]})[1].keys() == {"invited"}
    assert olga.send(PLANS, **sent | {"environment": "chess"})[0] == 404
    assert Program(cast.bob).send(PLANS, **sent)[0] == 403
    assert Client().post(PLANS, sent, content_type="application/json").status_code == 401
    assert Tournament.objects.filter(is_automatic=False).count() == 1


def test_a_program_acts_as_the_buttons_do(environment: Environment, cast: Cast) -> None:
    olga, cup = Program(cast.olga), factories.planned(environment)
    assert olga.act(cup, "begin_now")[0] == 400
    Tournament.objects.update(results=Audience.HIDDEN)
    assert "no results yet" in str(olga.act(cup, "release"))
    assert olga.act(cup, "call_off") == (400, {"reason": ["This field is required."]})
    assert Program(cast.bob).act(cup, "call_off", reason="Mine.")[0] == 403
    status, told = olga.act(cup, "call_off", reason="The hall is closed.")
    assert (status, told) == (200, {"detail": "Tic-tac-toe: cup is called off."})
    cup.refresh_from_db()
    assert (cup.state, cup.cancel_reason) == (TournamentState.CANCELLED, "The hall is closed.")
    entry = AuditEntry.objects.get(action="call_off", channel="API", note__startswith="is called off")
    assert (entry.operator, entry.object_id) == ("olga", str(cup.pk))
    assert olga.act(cup, "explode")[0] == 404


def test_an_act_sent_twice_reveals_one_round(environment: Environment, cast: Cast) -> None:
    agents = [factories.ready(factories.agent(cast.alice, environment, f"seed-{n}")).agent for n in range(1, 5)]
    planned = factories.planned(
        environment, format="single-elimination", settings={"pairs": 1}, starts_at=None, results=Audience.HIDDEN
    )
    for agent in agents:
        planned.registrations.create(agent=agent)
    cup, olga = tournament_begin(planned, now=timezone.now()), Program(cast.olga)
    for _ in (1, 2):
        for duel in cup.duels.filter(state=JobState.QUEUED).order_by("number"):
            played.play(duel, faults_of_1={1, 2})
        tournament_step(cup, now=timezone.now())
    assert cup.state == TournamentState.FINISHED
    assert olga.act(cup, "reveal") == (400, {"number": ["This field is required."]})
    assert olga.act(cup, "reveal", number=1)[0] == 200
    assert "Round 2 is the next to reveal" in str(olga.act(cup, "reveal", number=1))
    cup.refresh_from_db()
    assert (cup.revealed_to_all, cup.results) == (1, Audience.HIDDEN)


def test_an_act_needs_the_right_of_its_button(environment: Environment, cast: Cast) -> None:
    edition = Tournament.objects.create(environment=environment, edition=7, results=Audience.HIDDEN)
    helper = factories.user("helper", is_staff=True)
    helper.user_permissions.set(Permission.objects.filter(codename="change_tournament"))
    program = Program(helper)
    assert program.act(edition, "void_round", number=1, reason="Why not.")[0] == 403
    assert program.act(edition, "release")[0] == 200
    assert program.act(edition, "release")[0] == 400
    edition.refresh_from_db()
    assert edition.results == Audience.PUBLIC


def test_a_program_plans_a_tournament_of_agents_that_play_alone(cast: Cast) -> None:
    task, olga = factories.task(), Program(cast.olga)
    sent: dict[str, Any] = {"environment": task.slug, "name": "Finals", "format": "score", "settings": {"episodes": 4}}
    status, told = olga.send(PLANS, **sent)
    assert (status, told["settings"], told["is_rated"]) == (201, {"episodes": 4}, False)
    assert olga.send(PLANS, environment=task.slug, name="More")[1]["format"] == "score"
    refused = olga.send(PLANS, **sent | {"format": "swiss", "settings": {}})[1]
    assert "its agents never meet" in str(refused["format"])
    assert olga.send(PLANS, **sent | {"seeded_by": "DRAWN"})[1].keys() == {"seeded_by"}
    assert olga.send(PLANS, **sent | {"settings": {"pairs": 4}})[0] == 400


def test_a_program_has_a_participant_evaluated_again_and_disqualified(cast: Cast) -> None:
    rows = players(factories.task(), 2)
    cup, olga = begun(rows, "score"), Program(cast.olga)
    agents = [row.agent_id for row in rows]
    assert "has not been evaluated yet" in str(olga.act(cup, "evaluate_again", agent=agents[0], reason="Heat."))
    cup = score_all(cup, rows, [1.0, 2.0])
    assert olga.act(cup, "evaluate_again", reason="Heat.") == (400, {"agent": ["This field is required."]})
    assert olga.act(cup, "evaluate_again", agent=agents[0]) == (400, {"reason": ["This field is required."]})
    assert olga.act(cup, "evaluate_again", agent=10**6, reason="Heat.")[0] == 404
    assert Program(cast.bob).act(cup, "evaluate_again", agent=agents[0], reason="Heat.")[0] == 403
    assert "no rounds" in str(olga.act(cup, "void_round", number=1, reason="Heat."))
    status, told = olga.act(cup, "evaluate_again", agent=agents[0], reason="Heat.")
    assert (status, told["detail"].endswith("is evaluated again.")) == (200, True)
    entry = AuditEntry.objects.get(action="evaluate_again", channel="API", note__startswith="is evaluated again")
    assert (entry.operator, entry.note) == ("olga", "is evaluated again. Reason: Heat.")
    assert waiting(step(cup), rows[0]).attempt == 0
    told_owner = Notice.objects.get(user=rows[0].agent.owner, title__contains="is evaluated again")
    assert told_owner.text.endswith("plays once more: Heat.")
    assert olga.act(cup, "disqualify", agent=agents[1], reason="It knew the seeds.")[0] == 200
    assert cup.participants.get(submission=rows[1]).disqualified_because == "It knew the seeds."
