"""Tournaments of one seat on pages: planned, played, over, and evaluated again."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains

from core.editions.happenings import happenings
from core.editions.progress import tournament_begin
from core.editions.tests.planned import planned
from core.editions.tests.samples import LATER, players
from core.editions.tests.scored import crash, score, step
from core.models import (
    Audience,
    AuditEntry,
    Course,
    Environment,
    Evaluation,
    JobState,
    Member,
    Role,
    SeenBy,
    Submission,
    Tournament,
    TournamentState,
)
from core.tests import factories
from core.tests.factories import Cast
from core.tournaments.baselines import baselines_set
from core.tournaments.planning import results_release
from web.conftest import As
from web.organise.tests.test_tournaments import PLAN, filled
from web.templatetags.scores import figure

pytestmark = pytest.mark.django_db


@pytest.fixture
def task() -> Environment:
    return factories.task()


@pytest.fixture
def three(task: Environment) -> list[Submission]:
    return players(task, 3)


@pytest.fixture
def cup(three: list[Submission]) -> Tournament:
    """A running one in which all wait."""
    return tournament_begin(planned(three, "score", episodes=6), now=LATER)


def evaluated(cup: Tournament, player: Submission, mean: float | None) -> None:
    """Let the open evaluation of a participant end. mean: of its scores; None where the agent fails."""
    if mean is None:
        crash(cup, player)
        Evaluation.every.filter(tournament=cup, submission=player).update(public_error="The player stopped.")
    else:
        score(cup, player, mean)
    step(cup)
    cup.refresh_from_db()


def address(cup: Tournament, more: str = "") -> str:
    return reverse("web:edition", args=[cup.environment.slug, cup.edition]) + more


def of(cup: Tournament, player: Submission) -> str:
    return address(cup, f"agents/{player.agent.name}/")


def seen_in(page: str) -> str:
    """The text of a page's own part."""
    return re.sub(r"<[^>]+>", " ", page.partition("<main")[2].partition("</main>")[0]).casefold()


def words(client: Client, at: str) -> str:
    return " ".join(client.get(at).content.decode().split())


def test_a_task_is_planned_by_the_format_that_fits_it(task: Environment, cast: Cast, visit: As) -> None:
    game = factories.environment()
    olga = visit(cast.olga)
    shown = olga.get(PLAN).context["form"]
    assert shown.initial["environment"] == game
    assert list(shown.fields["environment"].queryset) == [game, task]
    shown = olga.get(f"{PLAN}?environment={task.pk}").context["form"]
    assert (shown.initial["environment"], shown.initial["format"]) == (task, "score")
    shown = olga.get(f"{PLAN}?preset=score").context["form"]
    assert (shown.initial["environment"], shown.initial["name"]) == (task, "Final phase")

    # Without scripts each environment has all formats.
    wrong = olga.post(PLAN, filled(task, save="1"))
    assertContains(wrong, "has one seat, so its agents never meet: choose “By score”.", status_code=422)
    wrong = olga.post(PLAN, filled(game, save="1", format="score"))
    assertContains(wrong, "has 2 seats, so its agents meet: choose one of “Round robin”", status_code=422)
    # What is hidden does not matter.
    sent = filled(task, save="1", format="score", has_openings="", seeded_by="DRAWN", **{"settings.episodes": "7"})
    assert olga.post(PLAN, sent).status_code == 302
    row = Tournament.objects.get(name="Cup")
    assert (row.format, row.settings, row.has_openings, row.is_rated) == ("score", {"episodes": 7}, True, False)
    page = words(visit(None), address(row))
    assert "<dt>Format</dt><dd>By score</dd>" in page
    assert "Each agent plays alone, once, on the same hidden seeds" in page
    assert "<dt>Episodes</dt><dd>7</dd>" in page
    assert "Rated" not in page


def test_its_preview_counts_evaluations_and_episodes(
    task: Environment, three: list[Submission], cast: Cast, visit: As
) -> None:
    given = filled(task, format="score", **{"settings.episodes": "50"})
    page = visit(cast.olga).post(PLAN, given, headers={"HX-Target": "preview"}).content.decode()
    for line in ("Evaluations</dt><dd>3<", "Episodes an agent</dt><dd>50<", "Episodes in all</dt><dd>150<"):
        assert line in page
    assert "duel" not in page.casefold()


def test_a_course_and_the_page_of_the_task_list_it(task: Environment, cast: Cast, visit: As) -> None:
    course = Course.objects.create(slug="robots", name="Robots", seen_by=SeenBy.EVERYONE)
    row = factories.planned(task, name="Spring final", format="score", settings={}, course=course)
    season = factories.season(task)
    for page in (reverse("web:environment", args=[task.slug]), "/courses/robots/", "/tournaments/"):
        assertContains(visit(None).get(page), "Spring final")
    assertContains(visit(None).get(reverse("web:environment", args=[task.slug])), season.name)
    assertContains(visit(cast.olga).get("/organise/environments/"), f"{PLAN}?environment={task.pk}")
    assertContains(visit(None).get(reverse("web:tournaments", args=[task.slug])), row.title)


def test_scores_rank_and_those_that_wait_have_none(
    cup: Tournament, three: list[Submission], client: Client, visit: As
) -> None:
    page = words(client, address(cup))
    assert "0 of the 3 agents have been evaluated." in page
    assert page.count('<td class="rank">–</td>') == 3
    evaluated(cup, three[1], 187.44)
    evaluated(cup, three[2], None)
    page = words(client, address(cup))
    assert "2 of the 3 agents have been evaluated." in page
    # An agent without a score has no rank anywhere.
    assert page.count('<td class="rank">–</td>') == 2
    for player in (three[0], three[2]):
        assert "<dt>Rank </dt> <dd>–</dd" in words(client, of(cup, player))
        page_of_agent = reverse("web:agent", args=[cup.environment.slug, player.agent.name])
        assert "no score so far" in words(visit(player.agent.owner), page_of_agent)
    row = cup.participants.get(submission=three[1])
    interval = f"{figure(row.score_low)} to {figure(row.score_high)}"
    assert f'<strong>187.4</strong></td> <td class="num interval">{interval}</td>' in page
    assert "No score. The player stopped." in page
    assert "duel" not in seen_in(page)
    shown = words(client, of(cup, three[1]))
    assert "<dt>Mean score</dt><dd>187.4</dd>" in shown
    assert "6 of 6 episodes" in shown
    assert (
        '<span class="badge badge-bad">Failed</span> 0 of 6 episodes<small class="muted">The player stopped.'
        in words(client, of(cup, three[2]))
    )
    assert "Waiting" in words(client, of(cup, three[0]))

    evaluated(cup, three[0], 200)
    assert cup.state == TournamentState.FINISHED
    page = words(client, address(cup))
    assert "3 agents evaluated, ended" in page
    # An agent without a score is on no podium.
    podium = page.partition('<ol class="podium">')[2].partition("</ol>")[0]
    assert [player.agent.name in podium for player in three] == [True, True, False]
    owner = visit(three[1].agent.owner)
    shown = words(owner, reverse("web:agent", args=[cup.environment.slug, three[1].agent.name]))
    assert "2nd of 2, score 187.4" in shown
    shown = words(owner, reverse("web:agent", args=[cup.environment.slug, three[2].agent.name]))
    assert "<span>no score</span>" in shown


def test_seeds_are_promised_by_their_hash_and_published_at_the_end(
    cup: Tournament, three: list[Submission], client: Client, cast: Cast, visit: As
) -> None:
    assertContains(visit(cast.olga).get("/organise/seeds/"), str(cup))
    Tournament.objects.update(results=Audience.HIDDEN)
    seeds = cup.seed_list
    listed = ", ".join(map(str, seeds.seeds))
    for player in three:
        evaluated(cup, player, 100)
    for is_public in (False, True):
        page = client.get(address(cup))
        assertContains(page, seeds.sha256)
        assert (listed in page.content.decode()) is is_public
        told = client.get(f"/api/v1/tournaments/{cup.pk}/").json()["seeds"]
        assert (told["sha256"], told["seeds"]) == (seeds.sha256, list(seeds.seeds) if is_public else None)
        cup.refresh_from_db()
        if not is_public:
            assertNotContains(page, three[0].agent.name)
            assert client.get(of(cup, three[0])).status_code == 403
            results_release(tournament=cup)


def test_baselines_play_without_a_rank(task: Environment, three: list[Submission], cast: Cast, client: Client) -> None:
    own = factories.ready(factories.agent(cast.olga, task, name="minimax"))
    row = planned(three, "score", episodes=6)
    baselines_set(tournament=row, agents=[own.agent])
    begun = tournament_begin(row, now=LATER)
    for player in (*three, own):
        evaluated(begun, player, 500 if player == own else 100)
    page = words(client, address(begun))
    assert "Baselines play the same episodes but take no rank." in page
    assert page.count('<td class="rank">–</td>') == 1
    assert "minimax" not in page.partition('<ol class="podium">')[2].partition("</ol>")[0]
    assert "A baseline: it plays without a rank." in words(client, of(begun, own))


def test_the_screen_of_a_hall_shows_scores_and_then_the_podium(
    cup: Tournament, three: list[Submission], client: Client
) -> None:
    assert "No agent has a score yet." in words(client, address(cup, "screen/"))
    evaluated(cup, three[1], 187.44)
    page = words(client, address(cup, "screen/"))
    assert "1 of the 3 agents has been evaluated." in page
    assert "<strong>187.4</strong>" in page
    assert "duel" not in seen_in(page)
    Tournament.objects.update(results=Audience.HIDDEN)
    page = words(client, address(cup, "screen/"))
    assert "It is being played. Its organisers have not released the results yet." in page
    assert "187.4" not in page
    Tournament.objects.update(results=Audience.PUBLIC)
    for player in (three[0], three[2]):
        evaluated(cup, player, 10)
    page = words(client, address(cup, "screen/"))
    assert 'class="podium"' in page
    assert "have been evaluated" not in page


@pytest.mark.parametrize("role", [None, *Role])
def test_referees_have_a_score_evaluated_again(
    cup: Tournament, three: list[Submission], cast: Cast, visit: As, role: Role | None
) -> None:
    for player in three:
        evaluated(cup, player, 100)
    course = Course.objects.create(slug="robots", name="Robots")
    Tournament.objects.update(course=course)
    person = factories.user("rita") if role else cast.olga
    if role:
        Member.objects.create(course=course, user=person, role=role)
    may = role in (None, Role.TEACHER, Role.REFEREE)
    row = cup.participants.get(submission=three[0])
    act = reverse("web:organise_action", args=["participant", row.pk, "evaluate_again"])
    client = visit(person)
    assert (act in words(client, of(cup, three[0]))) is may
    answer = client.post(act, {"reason": "A worker had the wrong clock."})
    assert answer.status_code == (302 if may else 403)
    assert AuditEntry.objects.filter(action="evaluate_again").exists() is may
    cup.refresh_from_db()
    assert (cup.state == TournamentState.RUNNING) is may
    if not may:
        return
    assert client.post(act, {}).status_code == 422
    step(cup)
    page = words(client, of(cup, three[0]))
    assert "Does not count: A worker had the wrong clock." in page
    assert "2 of the 3 agents have been evaluated." in words(client, address(cup))
    evaluated(cup, three[0], 120)
    assert cup.state == TournamentState.FINISHED
    assert cup.participants.get(rank=1).submission == three[0]


@pytest.mark.parametrize(("mean", "won"), [(None, False), (100, True)])
def test_an_agent_without_a_score_has_not_won(
    cup: Tournament, three: list[Submission], client: Client, mean: float | None, won: bool
) -> None:
    for player, score_of in zip(three, (mean, None, None), strict=True):
        evaluated(cup, player, score_of)
    assert cup.state == TournamentState.FINISHED
    assert ("won by" in words(client, reverse("web:tournaments", args=[cup.environment.slug]))) is won
    assert ('class="podium"' in words(client, address(cup))) is won
    assert bool([one for one in happenings(cup.environment) if one.key.startswith("place")]) is won


@pytest.mark.parametrize("seen_by", [SeenBy.EVERYONE, SeenBy.MEMBERS])
def test_those_who_see_the_table_can_follow_the_names_in_it(
    cup: Tournament, three: list[Submission], client: Client, seen_by: str
) -> None:
    course = Course.objects.create(slug="robots", name="Robots", seen_by=seen_by)
    Tournament.objects.filter(pk=cup.pk).update(course=course)
    place = reverse("web:agent", args=[cup.environment.slug, three[0].agent.name])
    answer = 200 if seen_by == SeenBy.EVERYONE else 404
    assert (client.get(address(cup)).status_code, client.get(place).status_code) == (answer, answer)


def test_while_it_plays_progress_is_shown_in_steps(cup: Tournament, three: list[Submission], client: Client) -> None:
    Evaluation.every.filter(tournament=cup, submission=three[0]).update(episodes_done=3)
    assert "2 of 6 episodes" in words(client, of(cup, three[0]))


def test_what_is_of_rounds_and_duels_is_not_offered(
    cup: Tournament, three: list[Submission], cast: Cast, visit: As
) -> None:
    olga = visit(cast.olga)
    page = words(olga, address(cup))
    assert "/pause/" in page
    assert not {"/void_round/", "/reveal/"} & {one for one in ("/void_round/", "/reveal/") if one in page}
    Tournament.objects.update(results=Audience.HIDDEN)
    page = words(olga, address(cup))
    assert "/release/" in page
    assert "/reveal/" not in page
    game = factories.tournament(players(factories.environment(), 2))
    Tournament.objects.filter(pk=game.pk).update(is_automatic=False)
    assert "evaluate_again" not in words(olga, of(game, game.participants.earliest("pk").submission))


@pytest.mark.parametrize("form", ["score", "swiss"])
def test_a_table_ranks_all_but_the_disqualified_on_page_and_in_the_api(
    task: Environment, client: Client, form: str
) -> None:
    rows = players(task if form == "score" else factories.environment(), 4)
    cup = tournament_begin(planned(rows, form), now=LATER)
    cup.participants.filter(submission=rows[0]).update(disqualified_because="Copied.", withdrawn_at=LATER)
    page = words(client, address(cup))
    row = re.search(rf'<td class="rank">([^<]*)</td>(?:(?!</tr>).)*{rows[0].agent.name}(?:(?!</tr>).)*</tr>', page)
    assert row is not None
    assert (row[1], "Disqualified: Copied." in row[0], "Withdrew." in row[0]) == ("–", True, False)
    told = client.get(f"/api/v1/tournaments/{cup.pk}/standing/").json()["table"]["rows"]
    [found] = [one for one in told if one["submission"]["agent"]["name"] == rows[0].agent.name]
    assert (found["rank"], found["notes"]) == (None, ["Disqualified: Copied."])


def test_an_open_page_of_an_organiser_is_loaded_again_at_the_end(
    cup: Tournament, three: list[Submission], client: Client, cast: Cast, visit: As
) -> None:
    part = {"HX-Request": "true", "HX-Target": "tournament"}
    olga = visit(cast.olga)
    assert "HX-Refresh" not in olga.get(address(cup), headers=part).headers
    for player in three:
        evaluated(cup, player, 100)
    assert olga.get(address(cup), headers=part).headers["HX-Refresh"] == "true"
    assert "HX-Refresh" not in Client().get(address(cup), headers=part).headers


def test_an_owner_withdraws_from_it(cup: Tournament, three: list[Submission], visit: As) -> None:
    owner: Any = visit(three[0].agent.owner)
    page = words(owner, address(cup))
    assert "It stands below all others." in page
    said = owner.post(of(cup, three[0]) + "withdraw/", follow=True).content.decode()
    assert "has withdrawn." in said
    assert "duels stay" not in said
    # What has left has no rank, and the others are counted without it.
    evaluated(cup, three[1], 20)
    evaluated(cup, three[2], 10)
    assert '<td class="rank">–</td> <th scope="row"> <a class="name own"' in words(owner, address(cup))
    left = words(owner, reverse("web:agent", args=[cup.environment.slug, three[0].agent.name]))
    assert f"{cup.title}</a><span>withdrawn</span>" in left
    cup.participants.filter(submission=three[0]).update(disqualified_because="Copied.")
    left = words(owner, reverse("web:agent", args=[cup.environment.slug, three[0].agent.name]))
    assert f"{cup.title}</a><span>disqualified</span>" in left
    other = reverse("web:agent", args=[cup.environment.slug, three[1].agent.name])
    assert "1st of 2, score 20" in words(visit(three[1].agent.owner), other)
    assert not Evaluation.every.filter(tournament=cup, submission=three[0]).exclude(state=JobState.CANCELLED).exists()
