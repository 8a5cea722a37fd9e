"""What owners and others see of new versions that are tested, on the agent's page, the duel's page and by the API."""

from __future__ import annotations

import gzip
import json
import re

import pytest
from django.test import Client

from arena_kit.ranking.sequential import SequentialTest
from core.jobs.lifecycle import job_claim, job_heartbeat
from core.models import Agent, Duel, Environment, Submission
from core.submissions.promotions import promotions_decide
from core.tests import factories
from core.tests.factories import Cast
from web.conftest import As
from web.tests import played

pytestmark = pytest.mark.django_db


@pytest.fixture
def agent(cast: Cast, environment: Environment) -> Agent:
    environment.has_gate, environment.test_cap = True, 30
    environment.save()
    return factories.agent(cast.alice, environment, "kim")


@pytest.fixture
def new(agent: Agent) -> Submission:
    """The second version, under test."""
    for _ in range(2):
        submission = factories.submission(agent)
        factories.build(submission)
        played.play_validation(submission)
    return submission


def page(client: Client, submission: Submission) -> str:
    return client.get(f"/environments/tic-tac-toe/agents/{submission.agent.name}/").content.decode()


def post(client: Client, submission: Submission, verb: str) -> str:
    address = f"/environments/tic-tac-toe/agents/kim/versions/{submission.number}/{verb}/"
    return client.post(address, follow=True).content.decode()


def decided(*, wins: bool) -> Duel:
    """Play the test, of which one side forfeits every match."""
    duel = Duel.objects.get()
    all_of_them = range(1, duel.match_count + 1)
    played.play(duel, **{"faults_of_2" if wins else "faults_of_1": all_of_them})
    promotions_decide()
    return Duel.objects.get()


def test_a_version_under_test_shows_how_far_that_is(new: Submission, visit: As) -> None:
    duel = job_claim(kind=Duel, job_id=Duel.objects.get().pk, worker="w")
    assert duel is not None
    job_heartbeat(job=duel, progress={"matches_done": 24})
    shown = page(visit(None), new)
    assert "Being tested" in shown
    assert f'<a href="/duels/{duel.pk}/">24 of at most 60 matches</a>' in shown
    assert 'hx-trigger="every 1s"' in shown
    shown = visit(None).get(f"/duels/{duel.pk}/").content.decode()
    assert "Version 2 has to show that it is better than version 1." in shown
    assert "This duel is unrated" in shown
    assert "whether kim v2 is 50 rather than 0 normalised Elo stronger than kim v1, and after 30 pairs" in shown
    assert '/agents/kim/?version=2#v2">kim</a>' in shown


@pytest.mark.parametrize(("wins", "word", "matches"), [(True, "activated", 32), (False, "benched", 26)])
def test_the_verdict_stands_with_the_version_and_its_duel(
    new: Submission, visit: As, wins: bool, word: str, matches: int
) -> None:
    duel = decided(wins=wins)
    shown = page(visit(None), new)
    assert f"<strong>Tested against version 1: {word}.</strong>" in shown
    assert f"Of {matches} matches it won" in shown
    shown = visit(None).get(f"/duels/{duel.pk}/").content.decode()
    assert duel.test_result is not None
    assert f"All <span>{matches}</span>" in shown
    assert f"{matches} of at most 60" in shown
    last = f"{duel.test_result['llr']:.2f}".replace("-", "−")
    assert f"Log-likelihood ratio pair by pair: {last} after {matches // 2} pairs" in shown
    assert f'<th scope="row" class="num">{matches // 2}</th><td class="num">{last}</td>' in shown
    (data,) = re.findall(r'<script id="data-course-plot" type="application/json">(.*?)</script>', shown)
    plot = json.loads(data)
    assert (plot["xs"][0], plot["xs"][-1], plot["lines"][0]["values"][0]) == (0, matches // 2, 0.0)
    assert [mark["label"] for mark in plot["marks"]] == ["", "upper limit 2.94", "lower limit −2.94"]
    response = visit(None).get(f"/duels/{duel.pk}/results.json.gz")
    document = json.loads(gzip.decompress(b"".join(response)))
    assert (document["num_matches"], document["check"]["most_matches"]) == (matches, 60)
    assert document["check"]["test_result"]["pairs"] == matches // 2


@pytest.mark.slow
def test_the_owner_is_asked_where_the_test_came_to_no_decision(new: Submission, visit: As, cast: Cast) -> None:
    Duel.objects.update(test=SequentialTest(-50, 0.1, cap=5).as_json)
    played.play(Duel.objects.get())
    promotions_decide()
    owner = visit(cast.alice)
    assert "Leave it benched" in page(owner, new)
    assert "Leave it benched" not in page(visit(cast.bob), new)
    shown = visit(None).get(f"/duels/{Duel.objects.get().pk}/").content.decode()
    assert "Inconclusive: the maximum of 5 pairs" in shown

    assert "Version 2 plays from the next tournament on." in post(owner, new, "activate")
    shown = page(owner, new)
    assert "Its owner let it play." in shown
    assert "Leave it benched" not in shown
    assert "It has since been benched." not in shown
    assert "Version 2 is benched." in post(owner, new, "bench")
    assert "It has since been benched." in page(owner, new)
    first = Submission.objects.get(number=1)
    assert "hide the whole agent" in post(owner, first, "bench")


@pytest.mark.slow
def test_a_version_that_plays_against_the_verdict_says_so(new: Submission, visit: As, cast: Cast) -> None:
    decided(wins=False)
    owner = visit(cast.alice)
    assert "It has since been" not in page(owner, new)
    post(owner, new, "activate")
    assert "benched.</strong>" in (shown := page(owner, new))
    assert "It has since been chosen to play." in shown


def test_programs_read_what_came_of_a_test(new: Submission, client: Client) -> None:
    duel = decided(wins=False)
    shown = json.loads(client.get(f"/api/v1/submissions/{new.public_id}/").content)
    assert (shown["is_benched"], shown["promotion"]["state"]) == (True, "BENCHED")
    assert (shown["promotion"]["incumbent"], shown["promotion"]["duel"]) == (1, duel.pk)
    shown = json.loads(client.get(f"/api/v1/duels/{duel.pk}/").content)
    assert (shown["tournament"], shown["promotion"]) == (None, new.promotions.get().pk)
    assert (shown["test"]["cap"], shown["test_result"]["state"]) == (30, "accepted H0")
