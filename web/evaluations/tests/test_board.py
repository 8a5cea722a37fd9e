from __future__ import annotations

import re

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from core.evaluations.seeds import final_phase_start
from core.evaluations.selectors import practice_list, ranking_list
from core.models import Environment, JobState, SeedList, Submission
from core.tests import factories
from core.tests.factories import Cast
from tests.worlds import Fresh
from web.conftest import As
from web.tests import scored

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
ADDRESS = "/environments/cart-pole/"
HOSTILE = "</td><script>alert(1)</script>"


@pytest.fixture(autouse=True)
def fresh_cache() -> None:
    cache.clear()


@pytest.fixture(scope="module")
def shared_task(module_db: object) -> Environment:
    return scored.environment()


@pytest.fixture
def task(shared_task: Environment, fresh: Fresh) -> Environment:
    return fresh(shared_task)


@pytest.fixture
def agents(cast: Cast, task: Environment) -> list[Submission]:
    """alpha (alice) before beta (bob) before gamma (charlie), whose interval overlaps beta's."""
    made = []
    owners = ((cast.alice, "alpha", 450.0), (cast.bob, "beta", 300.0), (cast.charlie, "gamma", 299.0))
    for seed, (owner, name, mean) in enumerate(owners):
        made.append(scored.submission(owner, task, name, algorithm=f"{name} learning"))
        scored.evaluation(made[-1], scored.scores_around(mean, 20, spread=20, seed=seed))
    return made


def html(client: Client, query: str = "", **headers: str) -> str:
    response = client.get(ADDRESS + query, headers=headers)
    assert response.status_code == 200
    return response.content.decode()


def names(page: str) -> list[str]:
    return re.findall(r'class="name" id="agent-\d+" href="[^"]*">([^<]*)<', page)


def test_an_empty_board_says_who_will_stand_there(client: Client, task: Environment) -> None:
    page = html(client)
    assert "No agent is on the board yet" in page
    assert "edition" not in page


def test_rows_show_rank_medal_figures_and_the_difference_to_the_row_above(
    client: Client, agents: list[Submission]
) -> None:
    page = html(client)

    assert names(page) == ["alpha", "beta", "gamma"]
    first, second, third = re.findall(r'<tr role="row" class="(?:gold|silver|bronze).*?</tr>', page, re.DOTALL)
    for row, medal in ((first, "gold"), (second, "silver"), (third, "bronze")):
        assert f"{medal} medal" in row
        assert "Verified" in row
    evaluation = agents[0].evaluations.get()
    assert evaluation.score_low is not None
    for value in (evaluation.score, evaluation.score_low, evaluation.interquartile_mean, evaluation.median):
        assert f"{value:.1f}".rstrip("0").rstrip(".") in first
    assert "2.1 ms" in first
    assert "alpha learning" in first
    assert ", clear<" in second
    assert "not clear" in third


def test_a_script_stands_below_with_its_own_mark_and_does_not_stretch_the_scale(
    client: Client, cast: Cast, task: Environment, agents: list[Submission]
) -> None:
    before = re.findall(r'class="value" cx="([\d.]+)%"', html(client))
    cache.clear()
    scored.script(cast.bob, task, "boaster", 1e12)

    page = html(client)

    assert names(page) == ["alpha", "beta", "gamma", "boaster"]
    assert page.count("Self-reported") == 1
    assert re.findall(r'class="value" cx="([\d.]+)%"', page) == before
    cache.clear()
    assert names(html(client, "?verified=on")) == ["alpha", "beta", "gamma"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("user=BOB", ["beta"]),
        ("algorithm=gamma", ["gamma"]),
        ("score_min=400", ["alpha"]),
        ("score_max=400", ["beta", "gamma"]),
        ("date_from=2026-03-02", []),
        ("date_to=2026-03-01&user=alice", ["alpha"]),
        ("user=nobody", []),
    ],
)
def test_the_board_is_filtered(client: Client, agents: list[Submission], query: str, found: list[str]) -> None:
    page = html(client, f"?{query}")
    assert names(page) == found
    if not found:
        assert "No agent is on the board yet" not in page


def test_zero_is_a_bound_like_any_other(client: Client, cast: Cast, task: Environment) -> None:
    for name, score in (("above", 5.0), ("below", -5.0)):
        scored.evaluation(scored.submission(cast.bob, task, name), [score] * 20)
    assert names(html(client, "?score_min=0")) == ["above"]
    assert names(html(client, "?score_max=0")) == ["below"]


def test_an_id_finds_its_row_and_keeps_its_true_rank(client: Client, agents: list[Submission]) -> None:
    page = html(client, f"?id_query={agents[1].public_id}")
    assert names(page) == ["beta"]
    assert "silver medal" in page


def test_what_is_no_number_is_said_and_everything_else_still_filters(client: Client, agents: list[Submission]) -> None:
    page = html(client, "?score_min=many&date_from=soon&user=alice&sort=best")
    assert "Enter a number." in page
    assert "Enter a valid date." in page
    assert names(page) == ["alpha"]


def test_the_newest_can_come_first_with_their_true_ranks(client: Client, agents: list[Submission]) -> None:
    agents[2].evaluations.update(created_at=timezone.now())
    page = html(client, "?sort=date_desc")
    assert names(page)[0] == "gamma"
    assert page.index("bronze medal") < page.index("gold medal")


def test_labels_of_strangers_are_escaped_and_marked_as_unchecked(client: Client, agents: list[Submission]) -> None:
    Submission.objects.filter(pk=agents[0].pk).update(user_label=HOSTILE, algorithm=HOSTILE)
    page = html(client)
    assert "<script>alert" not in page
    assert "(unchecked)" in page


def test_htmx_gets_the_board_alone_with_its_filter_and_asks_more_often_while_something_runs(
    client: Client, cast: Cast, task: Environment, agents: list[Submission]
) -> None:
    part = html(client, "?user=bob", **{"HX-Request": "true", "HX-Target": "leaderboard"})
    assert "<html" not in part
    assert names(part) == ["beta"]
    assert f'hx-get="{ADDRESS}?user=bob"' in part
    assert 'hx-trigger="every 15s"' in part
    scored.evaluation(scored.submission(cast.alice, task, "delta"), [1.0], state=JobState.RUNNING)
    assert 'hx-trigger="every 2s"' in html(client, **{"HX-Request": "true", "HX-Target": "leaderboard"})


@pytest.mark.slow
def test_a_board_of_many_pages_shows_one(client: Client, cast: Cast, task: Environment) -> None:
    for number in range(53):
        scored.evaluation(scored.submission(cast.bob, task, f"agent-{number:02}"), [float(number)] * 20)
    first, second = html(client, "?user=bob"), html(client, "?user=bob&page=2")
    assert len(names(first)) == 50
    assert names(second) == ["agent-02", "agent-01", "agent-00"]
    assert 'href="/environments/cart-pole/?user=bob&amp;page=2#leaderboard"' in first


def test_a_page_beyond_the_end_leads_back_with_the_filter(client: Client, agents: list[Submission]) -> None:
    page = html(client, "?user=alice&page=7")
    assert names(page) == []
    assert "The board has no such page." in page
    assert f'href="{ADDRESS}?user=alice#leaderboard">Show the first page' in page
    assert "page 7 of" not in page
    assert "Compare selected agents" not in page


def test_hidden_seeds_are_on_no_page_but_their_hash_and_the_public_ones_are(
    cast: Cast, task: Environment, agents: list[Submission], visit: As
) -> None:
    ranking, practice = ranking_list(task), practice_list(task)
    assert ranking is not None
    assert practice is not None
    for person in (None, cast.alice):
        page = visit(person).get(f"{ADDRESS}rules/").content.decode()
        assert ranking.sha256 in page
        assert ", ".join(map(str, practice.seeds)) in page
        assert not any(str(seed) in page for seed in ranking.seeds)


def test_revealed_seeds_are_shown_after_the_final_phase_has_begun(
    client: Client, cast: Cast, task: Environment, agents: list[Submission]
) -> None:
    before = ranking_list(task)
    assert before is not None
    final_phase_start(environment=task, by=cast.olga)
    after = SeedList.objects.get(purpose="FINAL")
    page = client.get(f"{ADDRESS}rules/").content.decode()
    assert all(str(seed) in page for seed in before.seeds)
    assert not any(str(seed) in page for seed in after.seeds)
    assert after.sha256 in page
    assert "of the final phase" in page


def test_more_rows_take_no_more_queries(
    client: Client, cast: Cast, task: Environment, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for round_ in range(2):
        for number in range(4):
            name = f"agent-{round_}-{number}"
            scored.evaluation(scored.submission(cast.alice, task, name), [float(number)] * 20)
        cache.clear()
        with django_assert_max_num_queries(11):
            assert client.get(ADDRESS).status_code == 200


def test_the_guide_describes_state_and_actions_of_this_environment(client: Client, task: Environment) -> None:
    page = client.get(f"{ADDRESS}write/").content.decode()
    assert "an array of 4 numbers (float32): cart position" in page
    assert "<code>1</code> push right" in page
    assert "python -u submission.py CartPole-v1" in page
    factories.environment("ant")
    ant = client.get("/environments/ant/write/").content.decode()
    assert "each from −1 to 1" in ant
    assert "np.zeros((8,), &quot;float32&quot;)" in ant


def test_a_script_is_shown_the_id_that_it_is_given(client: Client, db: None) -> None:
    """Gymnasium makes a Taxi-v4; clients of older systems know it as Taxi-v3."""
    factories.environment("taxi")
    page = client.get("/environments/taxi/write/").content.decode()
    assert "python -u submission.py Taxi-v4</code>" in page
    assert "arena script my_script --environment Taxi-v4</code>" in page
    assert "else &quot;Taxi-v4&quot;)" in page


def test_an_environment_without_scripts_offers_none(client: Client, task: Environment) -> None:
    assert "Or upload a script" in client.get(f"{ADDRESS}write/").content.decode()
    Environment.objects.update(takes_scripts=False)
    assert "Or upload a script" not in client.get(f"{ADDRESS}write/").content.decode()


def test_the_home_page_shows_tasks_apart_with_their_best_score(
    client: Client, cast: Cast, task: Environment, agents: list[Submission]
) -> None:
    factories.environment("tic-tac-toe")
    scored.script(cast.bob, task, "boaster", 1e12)
    response = client.get("/")
    (card,) = response.context["tasks"]
    assert (card.figures.agent_count, card.figures.best.agent) == (4, agents[0].agent.name)
    assert [card.environment.slug for card in response.context["games"]] == ["tic-tac-toe"]


@pytest.mark.slow
def test_a_page_runs_and_loads_nothing_foreign(client: Client, agents: list[Submission]) -> None:
    page = html(client)
    assert not re.search(r"\sstyle=|\son\w+=|<style|<script>|(?:src|href)=\"https?:", page)


def compare(client: Client, *ids: object) -> str:
    query = "&".join(f"id={one}" for one in ids)
    response = client.get(f"{ADDRESS}compare/?{query}")
    assert response.status_code == 200
    return response.content.decode()


def test_submissions_stand_side_by_side_with_differences_seed_by_seed(client: Client, agents: list[Submission]) -> None:
    page = compare(client, *(row.public_id for row in agents))
    pairs = re.findall(r"<li><span>(\w − \w: \w+)", page)
    assert pairs == ["A − B: alpha", "A − C: alpha", "B − C: beta"]
    assert "A better on 20, worse on 0, equal on 0 seeds" in page
    assert page.count('"look": "steps"') == 3


def test_a_script_has_no_difference_and_no_distribution(
    client: Client, cast: Cast, task: Environment, agents: list[Submission]
) -> None:
    script = scored.script(cast.bob, task, "boaster", 7.0)
    page = compare(client, agents[0].public_id, script.submission.public_id)
    assert "not on the same seeds" in page
    assert page.count('"look": "steps"') == 1


def test_comparing_nothing_too_much_or_what_is_not_there_says_so(
    client: Client, cast: Cast, task: Environment, agents: list[Submission]
) -> None:
    assert "Select up to 4 agents" in compare(client)
    assert "Select up to 4 agents" in compare(client, "x", "", HOSTILE)
    more = [scored.submission(cast.alice, task, f"more-{number}") for number in range(2)]
    page = compare(client, *(row.public_id for row in (*agents, *more)))
    assert "This page compares the first 4 of the agents that you selected; it leaves out 1." in page
    assert "1 of the selected agents has no finished evaluation" in page


def test_games_are_compared_by_duels_instead(client: Client) -> None:
    factories.environment("tic-tac-toe")
    assert "Compare two agents" in client.get("/environments/tic-tac-toe/compare/").content.decode()
