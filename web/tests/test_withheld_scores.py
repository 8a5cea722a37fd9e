"""Scores of a withheld tournament of agents that play alone stand nowhere, and its evaluations have no page."""

from __future__ import annotations

import re

import pytest
from django.core.cache import cache

from core.editions.tests.planned import begun
from core.editions.tests.scored import claimed, crash, score, step
from core.models import Agent, Environment, Evaluation, SeedList, Tournament, User
from core.tests import factories
from core.tests.factories import Cast
from web.conftest import As

pytestmark = pytest.mark.django_db
MEAN = 98765.0
TOLD = re.compile(r"(?<![\w.-])98,?76[456](?![\w-])|The player.s process ended")
CLOSED = ("/api/v1/tournaments/{cup}/participants/", "/api/v1/tournaments/{cup}/standing/",
          "/environments/{slug}/editions/{edition}/agents/{agent}/")  # fmt: skip
"""Addresses that answer 403 to whom the results are withheld from."""
MISSING = (
    "/evaluations/{evaluation}/",
    "/evaluations/{evaluation}/records.zip",
    "/evaluations/{evaluation}/logs/arena/",
    "/evaluations/{evaluation}/logs/player/",
    "/evaluations/{evaluation}/episodes/best/",
    "/api/v1/evaluations/{evaluation}/",
    "/api/v1/evaluations/{evaluation}/episodes/",
    "/api/v1/jobs/evaluation/{evaluation}/",
    "/api/v1/jobs/evaluation/{evaluation}/log/",
)
"""Addresses of evaluations, which no evaluation of a tournament has."""
SILENT = (
    "/",
    "/live/",
    "/tournaments/",
    "/environments/{slug}/",
    "/environments/{slug}/tournaments/",
    "/environments/{slug}/editions/{edition}/",
    "/environments/{slug}/editions/{edition}/screen/",
    "/environments/{slug}/leaderboard.csv",
    "/environments/{slug}/leaderboard.json?edition={edition}",
    "/environments/{slug}/agents/{agent}/",
    "/users/{owner}/",
    "/api/v1/tournaments/",
    "/api/v1/tournaments/{cup}/",
    "/api/v1/evaluations/",
    "/api/v1/evaluations/?environment={slug}",
    "/api/v1/evaluations/?submission={version}",
    "/api/v1/submissions/{version}/",
    "/api/v1/agents/",
    "/api/v1/jobs/evaluation/",
    "/api/v1/environments/{slug}/board/",
    "/api/v1/environments/{slug}/seeds/",
)


@pytest.fixture
def cup(cast: Cast) -> Tournament:
    """A tournament with withheld results: alice's agent has a score, bob's has failed, charlie's still plays."""
    task = factories.task(episodes=4)
    rows = [factories.ready(factories.agent(one, task)) for one in (cast.alice, cast.bob, cast.charlie)]
    for row in rows:
        # Their pages show what they scored on the board.
        factories.evaluation(row, scores=[7.0] * 4)
    cup = begun(rows, "score")
    Tournament.objects.update(results="HIDDEN")
    score(cup, rows[0], MEAN)
    crash(cup, rows[1])
    running = claimed(cup, rows[2])
    Evaluation.every.filter(pk=running.pk).update(episodes_done=1, episodes=[[1, MEAN, 9, 0.1]])
    return step(cup)


def addresses(cup: Tournament, texts: tuple[str, ...]) -> list[str]:
    """The addresses of each participant."""
    found = [
        text.format(
            cup=cup.pk,
            slug=cup.environment.slug,
            edition=cup.edition,
            evaluation=row.pk,
            agent=row.agent.name,
            owner=row.agent.owner.username,
            version=row.submission.public_id,
        )
        for text in texts
        for row in Evaluation.every.filter(tournament=cup).select_related("agent__owner", "submission")
    ]
    return list(dict.fromkeys(found))


@pytest.mark.parametrize("results", ["HIDDEN", "PARTICIPANTS"])
def test_scores_are_told_to_those_who_may_see_them_alone(cup: Tournament, cast: Cast, visit: As, results: str) -> None:
    Tournament.objects.update(results=results)
    people: dict[str, User | None] = {
        "nobody": None, "erik": factories.user("erik"), "alice": cast.alice, "olga": cast.olga,
    }  # fmt: skip
    wrong = []
    for name, person in people.items():
        client = visit(person)
        sees = name == "olga" or (name == "alice" and results == "PARTICIPANTS")
        for address in addresses(cup, CLOSED):
            status = client.get(address).status_code
            if status != (200 if sees else 403):
                wrong.append(f"{name}: {address} gives {status}")
        if sees:
            assert str(MEAN) in client.get(f"/api/v1/tournaments/{cup.pk}/participants/").content.decode()
            continue
        for address in addresses(cup, SILENT):
            cache.clear()
            answer = client.get(address)
            content = b"".join(answer) if answer.streaming else answer.content
            # Only the file of the table is missing for those who may not see it.
            expected = 404 if "?edition" in address else 200
            if answer.status_code != expected or TOLD.search(content.decode()):
                wrong.append(f"{name}: {address} gives {answer.status_code} and tells {TOLD.search(content.decode())}")
    assert wrong == []


def test_evaluations_of_tournaments_have_no_page(cup: Tournament, cast: Cast, visit: As) -> None:
    for person in (None, cast.alice, cast.olga):
        client = visit(person)
        found = {address: client.get(address).status_code for address in addresses(cup, MISSING)}
        assert set(found.values()) == {404}, found


def test_seeds_of_a_tournament_are_not_among_those_of_its_environment(cup: Tournament, cast: Cast, visit: As) -> None:
    seeds = SeedList.objects.get(tournament=cup)
    for address in addresses(cup, ("/environments/{slug}/", "/api/v1/environments/{slug}/seeds/")):
        assert seeds.sha256 not in visit(cast.alice).get(address).content.decode()
    assert Environment.objects.get().seed_lists.count() == 3
    assert Agent.objects.count() == 3
