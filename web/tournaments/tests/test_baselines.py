"""Organisers name baselines in the form and over the API; pages and files show them without a rank."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django.asserts import assertContains

from core.editions.advance import environment_advance
from core.editions.progress import tournament_begin
from core.editions.tests.planned import planned, play_on
from core.editions.tests.samples import LATER, players
from core.models import AuditEntry, Course, Environment, Member, Role, Submission, Tournament
from core.tests import factories
from core.tests.factories import Cast
from core.tournaments.baselines import baselines_set
from web.conftest import As
from web.organise.tests.test_api import PLANS, Program
from web.organise.tests.test_tournaments import PLAN, filled
from web.tournaments.tests.test_files import rows_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def minimax(environment: Environment, cast: Cast) -> Submission:
    return factories.ready(factories.agent(cast.olga, environment, name="minimax"))


def test_an_organiser_adds_them_to_a_plan_and_takes_them_out_again(
    environment: Environment, cast: Cast, minimax: Submission, visit: As
) -> None:
    olga = visit(cast.olga)
    other = factories.ready(factories.agent(cast.olga, environment, name="alphabeta"))
    sent = filled(environment, save="1", baselines="MiniMax\r\nalphabeta\r\n")
    assert olga.post(PLAN, sent).status_code == 302
    cup = Tournament.objects.get(name="Cup")
    assert set(cup.baselines.all()) == {minimax.agent, other.agent}
    address = reverse("web:organise_replan", args=[cup.pk])
    assertContains(olga.get(address), "alphabeta\nminimax</textarea>")
    page = reverse("web:edition", args=[environment.slug, cup.edition])
    assertContains(visit(None).get(page), "Baselines play everyone but take no rank")

    for kept, changed in (("alphabeta\r\nminimax", False), ("", True)):
        assert olga.post(address, sent | {"baselines": kept}).status_code == 302
        assert cup.baselines.exists() != changed
        entry = AuditEntry.objects.filter(action="change", object_id=str(cup.pk)).latest("pk")
        assert ("baselines" in entry.changes) == changed

    wrong = olga.post(PLAN, sent | {"name": "Other", "baselines": "minimax\nnobody-knows"})
    assertContains(wrong, "“nobody-knows” is no agent of the site", status_code=422)
    wrong = olga.post(PLAN, sent | {"name": "Other", "format": "swiss"})
    assertContains(wrong, "Swiss takes no baselines", status_code=422)


def test_a_preview_counts_their_duels_and_not_them(
    environment: Environment, cast: Cast, minimax: Submission, visit: As
) -> None:
    players(environment, 3)
    olga = visit(cast.olga)
    answer = olga.post(PLAN, filled(environment, baselines="minimax"), headers={"HX-Target": "preview"})
    assert (answer.context["preview"].participants, answer.context["preview"].duel_count) == (3, 6)


def test_programs_and_teachers_plan_with_them(environment: Environment, cast: Cast, minimax: Submission) -> None:
    own = factories.ready(factories.agent(cast.alice, environment, name="own")).agent
    course = Course.objects.create(slug="robots", name="Robots")
    Member.objects.create(course=course, user=cast.alice, role=Role.TEACHER)
    sent = {"environment": environment.slug, "name": "Week 1", "baselines": ["own", "minimax"]}
    alice = Program(cast.alice)
    assert alice.send(PLANS, **sent)[0] == 403
    status, told = alice.send(PLANS, **sent, course="robots")
    assert (status, told["baselines"]) == (201, ["minimax", "own"])
    assert set(Tournament.objects.get(pk=told["id"]).baselines.all()) == {own, minimax.agent}
    # Of others than organisers only the teachers of the course.
    status, told = Program(cast.olga).send(PLANS, **sent)
    assert (status, [*told]) == (400, ["baselines"])
    assert "Choose from minimax." in told["baselines"][0]
    told = Program(cast.olga).send(PLANS, **sent | {"baselines": ["minimax"], "format": "double-elimination"})[1]
    assert [*told] == ["baselines"]


def test_pages_files_and_programs_show_them_without_a_rank(
    environment: Environment, cast: Cast, minimax: Submission, client: Client
) -> None:
    three = players(environment, 3)
    cup = planned(three, "round-robin", pairs=1)
    baselines_set(tournament=cup, agents=[minimax.agent])
    play_on(tournament_begin(cup, now=LATER))
    environment_advance(environment, now=LATER)

    address = reverse("web:edition", args=[environment.slug, cup.edition])
    text = client.get(address).content.decode()
    assert "<dd>3 and 1 baseline</dd>" in text
    assert "a meeting with one counts in the row of the baseline alone" in text
    assert '<small class="muted">Baseline.</small>' in text
    rows = rows_of(client, address)
    assert [(row["rank"], row["is_baseline"]) for row in rows] == [
        ("1", "False"), ("2", "False"), ("3", "False"), ("", "True"),
    ]  # fmt: skip
    # It was uploaded first, so it has won everything.
    assert (rows[3]["agent"], rows[3]["wins"]) == ("minimax", "3")

    found = client.get(f"{PLANS}{cup.pk}/participants/").json()["results"]
    assert [(row["rank"], row["is_baseline"]) for row in found] == [(1, False), (2, False), (3, False), (None, True)]
    standing = client.get(f"{PLANS}{cup.pk}/standing/").json()["table"]["rows"]
    assert [(row["rank"], row["notes"]) for row in standing][2:] == [(3, []), (None, ["Baseline."])]

    page = reverse("web:participant", args=[environment.slug, cup.edition, "minimax"])
    assertContains(client.get(page), "it plays without a rank")
    page = reverse("web:participant", args=[environment.slug, cup.edition, three[0].agent.name])
    assertContains(client.get(page), "baseline,\n      does not count")
    page = reverse("web:agent", args=[environment.slug, "minimax"])
    assertContains(client.get(page), "<span>baseline</span>")
    assert "Disqualify" not in client.get(address).content.decode()
