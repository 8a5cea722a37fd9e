"""Challenges on pages and in the API."""

from __future__ import annotations

import pytest
from django.test import Client
from pytest_django.asserts import assertContains, assertNotContains

from core.models import Challenge, Duel, JobState, Submission
from core.tests import factories
from core.tests.factories import Cast

pytestmark = pytest.mark.django_db
HERE = "/environments/tic-tac-toe"


@pytest.fixture
def anna(cast: Cast) -> Submission:
    return factories.ready(factories.agent(cast.alice, factories.environment(), "anna"))


@pytest.fixture
def berta(cast: Cast, anna: Submission) -> Submission:
    row = factories.ready(factories.agent(cast.bob, anna.agent.environment, "berta"))
    factories.rating(row)
    return row


def logged_in(person: object) -> Client:
    client = Client()
    client.force_login(person)  # type: ignore[arg-type]
    return client


def test_an_owner_asks_from_either_agents_page_and_follows_the_report(
    cast: Cast, anna: Submission, berta: Submission
) -> None:
    alice = logged_in(cast.alice)
    assertContains(alice.get(f"{HERE}/agents/anna/"), "Challenge the ten best</button>")
    assertContains(alice.get(f"{HERE}/agents/berta/"), "Challenge berta</button>")
    # Who has no agent of their own to send, and who is not logged in, is offered nothing.
    for visitor in (Client(), logged_in(cast.charlie)):
        assertNotContains(visitor.get(f"{HERE}/agents/berta/"), "Challenge berta")

    answer = alice.post(f"{HERE}/challenges/", {"agent": "anna", "opponent": "BERTA"})
    made = Challenge.objects.get()
    assert answer["Location"] == f"/challenges/{made.pk}/"
    page = alice.get(f"/challenges/{made.pk}/")
    assertContains(page, "anna v1 against berta v1</h1>")
    assertContains(page, 'hx-trigger="every 2s"')
    factories.moved(made.duels.all(), JobState.SUCCEEDED, draws=1, player_1_wins=8, player_2_wins=1, matches_done=10)
    # All visitors can see duels, and so they can see this.
    part = Client().get(f"/challenges/{made.pk}/", headers={"HX-Request": "true", "HX-Target": "challenge"})
    assertContains(part, '<td class="num">85%<br><small class="muted">54% to 96%</small></td>')
    assertNotContains(part, "hx-trigger")
    assertNotContains(part, "<html")
    why = f'action="/duels/{made.duels.get().pk}/why/1/"'
    assertNotContains(part, why)
    assertContains(alice.get(f"/challenges/{made.pk}/"), why)
    assertContains(alice.get(f"{HERE}/agents/anna/"), f'<a href="/challenges/{made.pk}/">v1 against berta v1</a>')
    assertContains(alice.get(f"/duels/{made.duels.get().pk}/"), f'<a href="/challenges/{made.pk}/">challenge</a>')


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"agent": "anna", "opponent": "nobody"}, "There is no agent “nobody” here."),
        ({"agent": "anna", "opponent": ""}, "Enter an opponent."),
        ({"agent": "anna", "opponent": "anna"}, "anna is also yours"),
        ({"agent": "", "opponent": "berta"}, "Choose one of your agents."),
        ({"agent": "anna\x00", "opponent": "berta"}, "Choose one of your agents."),
    ],
)
def test_a_form_that_cannot_be_is_answered_with_a_sentence(
    cast: Cast, anna: Submission, berta: Submission, form: dict[str, str], said: str
) -> None:
    answer = logged_in(cast.alice).post(f"{HERE}/challenges/", form, follow=True)
    assert said in answer.content.decode()
    assert not Challenge.objects.exists()


def test_what_is_refused_is_said_at_the_field_that_still_holds_what_was_typed(
    cast: Cast, anna: Submission, berta: Submission
) -> None:
    form = {"agent": "anna", "opponent": "deep", "page": "anna"}
    answer = logged_in(cast.alice).post(f"{HERE}/challenges/", form)
    page = answer.content.decode()
    assert answer.status_code == 422
    assert 'value="deep" aria-invalid="true" aria-describedby="challenge_error"' in page
    assert page.index('id="challenges"') < page.index('id="challenge_error"')
    assert '<ul class="messages"' not in page
    # Asked on the page of the other one, it is said there.
    factories.ready(factories.agent(cast.alice, anna.agent.environment, "unrated"))
    answer = logged_in(cast.alice).post(f"{HERE}/challenges/", form | {"opponent": "anna", "page": "berta"})
    assert answer.context["agent"].name == "berta"


def test_programs_ask_and_read_the_same(cast: Cast, anna: Submission, berta: Submission) -> None:
    alice, address = logged_in(cast.alice), "/api/v1/challenges/"

    def ask(client: Client, **body: object) -> tuple[int, dict[str, object]]:
        answer = client.post(address, body, content_type="application/json")
        return answer.status_code, answer.json()

    assert ask(logged_in(cast.charlie), agent=anna.agent_id)[0] == 403
    assert ask(alice, agent=anna.agent_id, opponent=2**40) == (400, {"opponent": ["There is no such agent."]})
    assert ask(alice, agent=anna.agent_id, opponent=anna.agent_id)[0] == 400
    status, made = ask(alice, agent=anna.agent_id, opponent=None)
    assert (status, made["kind"], made["ended_at"]) == (201, "TOP_TEN", None)
    shown = Client().get(f"{address}{made['id']}/").json()
    assert shown == made
    (duel,) = shown["duels"]
    assert (duel["opponent"]["agent"]["name"], duel["result"]["share"]) == ("berta", None)
    assert Client().get(f"{address}?agent={berta.agent_id}").json()["count"] == 0


def test_an_owner_tests_versions_against_each_other(cast: Cast, anna: Submission) -> None:
    alice = logged_in(cast.alice)
    address = f"{HERE}/agents/anna/test/"
    assertNotContains(alice.get(f"{HERE}/agents/anna/"), "Test a version")
    factories.ready(anna.agent)
    page = alice.get(f"{HERE}/agents/anna/")
    assertContains(page, "<option>2</option><option>1</option>")
    assertContains(page, "<option>2</option><option selected>1</option>")
    assertNotContains(logged_in(cast.bob).get(f"{HERE}/agents/anna/"), "Test a version")

    refused = alice.post(address, {"version": "2", "against": "2"})
    assertContains(refused, "Choose two versions that differ.", status_code=422)
    assertContains(alice.post(address, {"version": "2", "against": "9"}), "Choose two versions.", status_code=422)
    made = alice.post(address, {"version": "2", "against": "1"})
    challenge = Challenge.objects.get()
    assert made["Location"] == f"/challenges/{challenge.pk}/"
    shown = alice.get(made["Location"])
    assertContains(shown, "anna v2 against anna v1</h1>")
    assertContains(shown, "The duel ends as soon as its sequential test is decided.")


def test_programs_test_versions_too(cast: Cast, anna: Submission) -> None:
    factories.ready(anna.agent)
    alice = logged_in(cast.alice)

    def sent(**fields: object) -> tuple[int, dict[str, object]]:
        answer = alice.post("/api/v1/challenges/", {"agent": anna.agent_id, **fields}, "application/json")
        return answer.status_code, answer.json()

    status, made = sent(version=2, against=1)
    assert (status, made["kind"]) == (201, "VERSION")
    assert sent(version=2)[0] == 400
    assert sent(version=2, against=7) == (400, {"against": ["This agent has no such version."]})


def test_a_report_of_many_duels_is_cut_into_pages_with_the_sums_of_all(
    cast: Cast, anna: Submission, berta: Submission
) -> None:
    alice = logged_in(cast.alice)
    alice.post(f"{HERE}/challenges/", {"agent": "anna", "opponent": "berta"})
    made = Challenge.objects.get()
    duel = made.duels.get()
    more: list[Duel] = []
    for number in range(2, 1001):
        copy = Duel.objects.get(pk=duel.pk) if number == 2 else more[0]
        more.append(Duel(**{**{f.attname: getattr(copy, f.attname) for f in Duel._meta.concrete_fields}, "id": None}))
        more[-1].number = number
    Duel.objects.bulk_create(more)
    over = Duel.objects.filter(challenge=made, number__gt=800)
    factories.moved(
        over,
        JobState.SUCCEEDED,
        outcome="PLAYER_1",
        draws=0,
        player_1_wins=3,
        player_2_wins=1,
        player_1_errors=1,
        matches_done=5,
    )
    page = alice.get(f"/challenges/{made.pk}/")
    assertContains(page, "200 of 1000 duels are over")
    assertContains(page, '<td class="num">600</td><td class="num">0</td><td class="num">400</td>')
    assertContains(page, "page 1 of 20")
    assert len(page.content) < 100_000
    shown = [alice.get(f"/challenges/{made.pk}/?page={number}").content.decode() for number in (1, 2, 20, 10**6)]
    assert [text.count("the duel against") for text in shown] == [50] * 4
    assert f"/duels/{duel.pk}/" in shown[0]
    assert f"/duels/{over.latest('number').pk}/" in shown[3]
    assert "200 of 1000" in alice.get(f"{HERE}/agents/anna/").content.decode()
