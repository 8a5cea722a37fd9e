"""From what a format decides to what a page draws: plan, rows, page."""

from __future__ import annotations

import html
import re
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries
from pytest_django.asserts import assertContains, assertNotContains

from arena_kit.ranking import formats
from arena_kit.ranking.formats import (
    CountedDuel,
    DoubleElimination,
    DuelState,
    Format,
    GroupsKnockOut,
    History,
    RoundRobin,
    SingleElimination,
    Source,
    Swiss,
    format_settings,
)
from core.models import Duel, Environment, JobState, LedgerVoid, Participant, Submission, Tournament
from core.tests import factories
from core.tests.factories import NOON, Cast
from core.tournaments.brackets import Drawn, bracket_get
from tests.tournaments import entered, organised
from web.tournaments.bracket_parts import (
    BracketRound,
    Join,
    MeetingResult,
    bracket_columns,
    cross_table,
    swiss_rows,
    without_byes,
)
from web.tournaments.format_parts import settings_words

NAMES = [f"agent-{letter}" for letter in "abcdefghijklmnop"]
ROOT = Path(__file__).parent.parent
HIDDEN = "Results are withheld until the organisers release them."


@pytest.fixture
def cast(db: None) -> Cast:
    return factories.cast()


@pytest.fixture
def environment(db: None) -> Environment:
    return factories.environment()


@pytest.fixture
def players(cast: Cast, environment: Environment) -> list[Submission]:
    return entered(environment, cast.alice, NAMES[:8])


def page(client: Client, tournament: Tournament, query: str = "") -> str:
    """The words of a page, each element's apart."""
    response = client.get(f"/environments/tic-tac-toe/editions/{tournament.edition}/{query}")
    assert response.status_code == 200
    text = response.content.decode().partition("<main")[2].partition("</main>")[0]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


def drawn(form: Format, count: int, duels: tuple[CountedDuel, ...] = ()) -> Drawn:
    """A tournament of so many, 101 the best seed, without a database."""
    plan = form.plan(History(tuple(range(101, 101 + count)), duels, seed=7))
    rows = {number: Participant(pk=number, submission_id=number) for number in range(101, 101 + count)}
    return Drawn(plan, plan.round, rows, {})


@pytest.mark.parametrize(("count", "apart"), [(5, 0), (9, 1), (16, 0), (33, 1), (40, 8), (41, 0)])
def test_a_first_round_of_few_meetings_stands_above_the_bracket(count: int, apart: int) -> None:
    whole = drawn(SingleElimination(), count)
    (stage,) = whole.outline.stages
    columns = bracket_columns(whole, stage)
    before, shown = without_byes(columns)
    assert len(before) == apart
    assert len(shown) == len(columns) - bool(apart)
    assert not any(slot.is_fed for slot in shown[0].slots)


def test_pages_know_the_words_of_all_formats() -> None:
    for slug, form in formats.FORMATS.items():
        assert form.rule
        said = settings_words(Tournament(format=slug, settings=format_settings(form())))
        # How a level meeting goes on is two settings in one sentence; what a format works out itself is not said.
        kept = {name for name, value in format_settings(form()).items() if value is not None}
        # That duels may end early is a sentence of its own.
        kept -= {"extension_pairs", "stops_early"}
        assert len(said) == len(kept), slug


def test_the_reference_names_every_setting_with_its_limit() -> None:
    text = (ROOT / "docs/reference/formats.md").read_text(encoding="utf-8")
    for slug, form in formats.FORMATS.items():
        assert f"| `{slug}` |" in text
        for setting in formats.settings_of(form):
            limit = rf"[^.]*?\b{setting.most:,}\b" if setting.most else ""
            assert re.search(f"`{setting.name}`{limit}", text), setting.name


@pytest.mark.parametrize("form", [SingleElimination(), DoubleElimination()])
@pytest.mark.parametrize("count", range(3, 34))
def test_every_meeting_of_a_bracket_stands_in_the_middle_of_those_that_lead_to_it(form: Format, count: int) -> None:
    whole = drawn(form, count)
    for stage in whole.outline.stages:
        columns = bracket_columns(whole, stage)
        heights = {}
        for column in columns:
            for place, slot in enumerate(column.slots):
                if slot.meeting:
                    heights[slot.meeting.key] = (2 * place + 1) / (2 * len(column.slots))
        assert len(heights) == sum(map(len, stage.rounds))
        for column, after in pairwise(columns):
            for place, slot in enumerate(column.slots):
                if slot.join:
                    assert follows(slot.join, place, column, after), (stage.key, column.name, place)
        for meetings in stage.rounds:
            for meeting in meetings:
                leading = [
                    heights[source.of]
                    for source in meeting.sources
                    if source and source.kind == "winner" and source.of in heights
                ]
                if len(leading) == 2:
                    assert heights[meeting.key] == pytest.approx(sum(leading) / 2)


def follows(join: Join, place: int, column: BracketRound, after: BracketRound) -> bool:
    """Return whether the line from a slot ends at a meeting that it leads to: the one above comes from the upper
    slot."""
    to = after.slots[place if join == Join.STRAIGHT else place // 2]
    slot = column.slots[place]
    if to.meeting is None or not to.is_fed or (join != Join.STRAIGHT and (join == Join.DOWN) != (place % 2 == 0)):
        return False
    sources = to.meeting.sources
    if slot.bye is not None:
        return slot.bye.source == sources[place % 2]
    return slot.meeting is not None and Source("winner", slot.meeting.key) in sources


def test_what_the_arena_could_not_play_is_half_in_a_swiss_table_and_nothing_in_a_cross_table() -> None:
    void = tuple(CountedDuel(key, 1, (101, 102), DuelState.VOID) for key in (1, 2, 3))
    swiss = drawn(Swiss(), 2, void)
    lines = swiss_rows(swiss, swiss.outline.stages[0], swiss.lines(swiss.outline.table))
    assert [[seen and seen.result for seen in line.rounds] for line in lines] == [
        [MeetingResult.DRAWN],
        [MeetingResult.DRAWN],
    ]
    robin = drawn(RoundRobin(), 2, void)
    crosses = cross_table(robin, robin.outline.stages[0])
    assert [[cell and cell[0].result for cell in line.cells] for line in crosses] == [
        [None, MeetingResult.NONE],
        [MeetingResult.NONE, None],
    ]


def test_a_cross_table_has_both_legs_and_who_sat_first() -> None:
    played = CountedDuel(1, 1, (101, 102), DuelState.PLAYED, (12, 8), (4.0, -4.0))
    robin = drawn(RoundRobin(legs=2), 2, (played,))
    first, second = cross_table(robin, robin.outline.stages[0])
    assert first.cells[1] is not None
    assert second.cells[0] is not None
    assert [(seen.result, seen.is_player_1, seen.points) for seen in first.cells[1]] == [
        (MeetingResult.WON, True, (12, 8)),
        (MeetingResult.OPEN, False, (0, 0)),
    ]
    assert [(seen.result, seen.is_player_1) for seen in second.cells[0]] == [
        (MeetingResult.LOST, False),
        (MeetingResult.OPEN, True),
    ]


def test_a_running_bracket_says_who_waits_for_whom(client: Client, players: list[Submission]) -> None:
    tournament = organised(SingleElimination(), players[:6], until=lambda plan: plan.round == 2)
    words = page(client, tournament)

    assert "Round 2 of 3 is being played: the semi-finals." in words
    # Two good seeds begin in the second round; the final has no players yet.
    assert "Quarter-finals 1 agent-a has a bye" in words
    assert "Final winner of W2.1 winner of W2.2" in words
    response = client.get(f"/environments/tic-tac-toe/editions/{tournament.edition}/")
    assertContains(response, 'hx-trigger="every 2s"')
    assertContains(response, 'role="group" aria-labelledby="knock-out" tabindex="0"')
    part = client.get(response.request["PATH_INFO"], headers={"HX-Request": "true", "HX-Target": "tournament"})
    assertContains(part, "winner of W2.1")
    assertNotContains(part, "<html")


def test_who_has_seen_it_all_is_sent_nothing_until_something_happens(client: Client, players: list[Submission]) -> None:
    tournament = organised(RoundRobin(), players[:3], most=1)
    address = f"/environments/tic-tac-toe/editions/{tournament.edition}/"
    stamp = re.findall(r'"X-Seen": "(\w+)"', client.get(address).content.decode())[0]
    asked = {"HX-Request": "true", "HX-Target": "tournament", "X-Seen": stamp}

    assert client.get(address, headers=asked).status_code == 204
    # Who opens the page always gets it.
    assert client.get(address, headers={"X-Seen": stamp}).status_code == 200
    factories.moved(Duel.objects.filter(tournament=tournament, number=2), JobState.RUNNING)
    assertContains(client.get(address, headers=asked), "0 of 10")


def test_double_elimination_says_when_its_second_final_is_not_needed(client: Client, players: list[Submission]) -> None:
    tournament = organised(DoubleElimination(), players[:4], judge=lambda one, other: 15 if one < other else 5)
    words = page(client, tournament)

    assert "Final 1 1st: agent-a v1" in words
    assert "Winners' bracket" in words
    assert words.count("won matches; a draw counts half") == 1
    assert "F2 No longer needed." in words
    assertNotContains(client.get(f"/environments/tic-tac-toe/editions/{tournament.edition}/"), "hx-trigger")


def test_a_swiss_table_shows_opponents_seats_and_byes(client: Client, players: list[Submission]) -> None:
    tournament = organised(Swiss(), players[:3], judge=lambda one, other: 15 if one < other else 5)

    words = page(client, tournament)
    assert "Points Buchholz Sonneborn-Berger Round 1 Round 2" in words
    assert "won 7.5:2.5 against agent-b, as player 1" in words
    assert "lost 2.5:7.5 against agent-a, as player 2" in words
    assert "bye" in words
    assert "Meetings of round 2 of 2" in words
    assert "Each round is drawn from the results before it." in words
    assert "Meetings of round 1 of 2" in page(client, tournament, "?round=1")
    assert "Meetings of round 2 of 2" in page(client, tournament, "?round=9999999")


def test_a_round_robin_says_that_no_round_waits_for_another(client: Client, players: list[Submission]) -> None:
    tournament = organised(RoundRobin(), players[:4], most=2)
    words = page(client, tournament)

    assert "2 of the 6 meetings are decided. The meetings of all rounds are played at the same time" in words
    assert "is being played" not in words
    assert re.search(r"Meetings of round [123] of 3 In a round each agent plays at most one meeting", words)
    groups = organised(GroupsKnockOut(groups=2, advance=2), players, edition=2, most=3)
    words = page(client, groups)
    assert "3 of the 12 meetings in the groups are decided." in words
    # The bracket has the fourth and the fifth round.
    assert re.search(r"Meetings of round [123] of 3 in the groups", words)
    after = organised(
        GroupsKnockOut(groups=2, advance=2), players, edition=3, until=lambda plan: plan.round == 4, judge=better_seed
    )
    assert "Round 4 of 5 is being played: the semi-finals." in page(client, after)
    begun = organised(RoundRobin(), players[:4], edition=4, most=1)
    assert "1 of the 6 meetings is decided." in page(client, begun)


def test_groups_lead_to_places_of_the_bracket(client: Client, players: list[Submission]) -> None:
    tournament = organised(GroupsKnockOut(groups=2, advance=2), players, most=3)
    words = page(client, tournament)

    assert "Group A" in words
    assert "Group B" in words
    assert "Semi-finals 1st of group A 2nd of group B" in words
    # No participant has reached anything while all are in their groups.
    assert "Reached" not in words


def better_seed(one: int, other: int) -> int:
    return 15 if one < other else 5


def reached(client: Client, tournament: Tournament) -> list[str]:
    """What the final table says that each participant has reached, in its order."""
    shown = client.get(f"/environments/tic-tac-toe/editions/{tournament.edition}/").content.decode()
    table = shown.partition('id="scroll-table"')[2].partition("</table>")[0]
    assert ">Reached</th>" in table
    return re.findall(r'<td class="num">([^<]*)</td>', table)


def test_a_knock_out_says_how_far_each_came_by_the_names_of_its_rounds(
    client: Client, players: list[Submission]
) -> None:
    assert reached(client, organised(SingleElimination(), players[:6], judge=better_seed)) == [
        "Winner", "Final", "Semi-final", "Semi-final", "Quarter-final", "Quarter-final",
    ]  # fmt: skip
    # The meeting for third place is in the round of the final and takes nothing from its name.
    with_third = organised(SingleElimination(third_place=True), players[:4], edition=2, judge=better_seed)
    assert "Third place Losers of the semi-finals" in page(client, with_third)
    assert reached(client, with_third) == ["Winner", "–", "Final", "–", "Semi-final", "won", "Semi-final", "–"]
    running = organised(
        SingleElimination(), players[:4], edition=3, until=lambda plan: plan.round == 2, judge=better_seed
    )
    assert reached(client, running) == ["Still playing", "Still playing", "Semi-final", "Semi-final"]


def test_other_brackets_say_rounds_the_grand_final_and_the_group_stage(
    client: Client, players: list[Submission]
) -> None:
    double = organised(DoubleElimination(), players[:4], judge=better_seed)
    assert reached(client, double) == ["Winner", "Grand final", "Round 3", "Round 2"]
    grouped = organised(GroupsKnockOut(groups=2, advance=1), players[:6], edition=2, judge=better_seed)
    assert reached(client, grouped)[::2] == ["Winner", "Final", *4 * ["Group stage"]]


def test_a_group_that_is_over_says_who_goes_on_by_the_places_that_decided(
    client: Client, players: list[Submission]
) -> None:
    tournament = organised(GroupsKnockOut(groups=2, advance=1), players[:6])
    shown = client.get(f"/environments/tic-tac-toe/editions/{tournament.edition}/").content.decode()
    for group in ("group-A", "group-B"):
        table = shown.partition(f'id="scroll-{group}"')[2].partition("</table>")[0]
        assert re.findall(r'<td class="rank">(\d)</td>', table) == ["1", "2", "3"]
        assert ">Place</th>" in table
        assert table.count("qualifies") == table.count("last-through") == 1


def test_equals_at_the_cut_play_on_and_the_group_says_so(client: Client, players: list[Submission]) -> None:
    form = GroupsKnockOut(groups=2, advance=1)

    def judge(one: int, other: int) -> int:
        # The fourth and the fifth seed are the members of group A besides the first.
        return 10 if {one, other} == {1, 4} else better_seed(one, other)

    running = organised(form, players[:6], until=lambda plan: plan.round == 4, judge=judge)
    words = page(client, running)
    assert "The groups are over. Equals play for the last places that qualify." in words
    assert "Group A: extra duels" in words
    assert ">qualifies<" not in client.get(f"/environments/tic-tac-toe/editions/{running.edition}/").content.decode()
    assert "Meetings of round 4 of 4 Agents that share a rank at the cut of their group meet once more." in words
    over = organised(form, players[:6], edition=2, judge=judge)
    shown = client.get(f"/environments/tic-tac-toe/editions/{over.edition}/").content.decode()
    extra = shown.partition('id="scroll-cut-group-A"')[2].partition("</table>")[0]
    assert "qualifies" not in extra
    assert "Still tied after all extensions: the better seed advances." in page(client, over)


def test_a_level_meeting_and_a_withdrawal_are_explained(client: Client, players: list[Submission]) -> None:
    form = SingleElimination(extensions=1)
    tournament = organised(form, players[:4], judge=lambda one, other: 10, left={players[1].pk: 0})
    words = page(client, tournament)

    assert "Still tied after all extensions: the better seed advances." in words
    assert "The opponent has withdrawn." in words
    assert "Withdrew." in words
    # Equal points are told apart by scores, so those are shown.
    assert "10 0" in words


def test_a_page_says_that_duels_may_end_early_and_by_which_bounds(
    client: Client, environment: Environment, players: list[Submission]
) -> None:
    whole = organised(RoundRobin(), players[:3])
    Environment.objects.update(test_elo1=35.0)
    early = organised(SingleElimination(stops_early=True), players[:3], edition=2)
    table = organised(RoundRobin(stops_early=True), players[:3], edition=3, until=lambda plan: True)

    assert "end early" not in page(client, whole)
    assert "Matches per meeting 20" in page(client, whole)
    words = page(client, early)
    assert "between −35 and +35 normalised Elo (α = β = 5%)" in words
    assert "Matches per meeting at most 20 After a tie at most 10 more matches, up to 3 times" in words
    assert "score per match" not in words
    assert "The table adds up the score per match of every meeting" in page(client, table)
    assert "Wins Scores per match" in page(client, table)
    assert client.get(f"/api/v1/tournaments/{early.pk}/").json()["settings"]["stops_early"] is True


def test_all_who_share_the_last_rank_of_the_podium_stand_on_it(client: Client, players: list[Submission]) -> None:
    tournament = organised(SingleElimination(), players[:4])
    response = client.get(f"/environments/tic-tac-toe/editions/{tournament.edition}/")
    assert [line.row.rank for line in response.context["podium"]] == [1, 2, 3, 3]
    assert response.content.decode().count('<li class="place-3">') == 2


def test_what_was_struck_is_said(client: Client, players: list[Submission]) -> None:
    tournament = organised(RoundRobin(), players[:3])
    for duel in tournament.duels.all():
        LedgerVoid.objects.create(duel=duel, reason=f"The clock was wrong in {'May' if duel.number < 3 else 'June'}.")

    words = page(client, tournament)
    first, *_, last = tournament.duels.order_by("round", "number")
    assert f"Round 1: 1 duel void: duel {first.pk} . The clock was wrong in May." in words
    assert f"Round 3: 1 duel void: duel {last.pk} . The clock was wrong in June." in words
    # Those that were, and those that are not played, are not part of how far it is.
    assert "0 duels, ended" in words


def test_results_that_are_held_back_are_nowhere(client: Client, cast: Cast, players: list[Submission]) -> None:
    tournament = organised(Swiss(), players[:4], results="HIDDEN", name="Secret Cup")
    winner = tournament.participants.get(rank=1).submission.agent.name
    standing = f"/api/v1/tournaments/{tournament.pk}/standing/"

    assert HIDDEN in page(client, tournament)
    assert winner not in page(client, tournament)
    assertContains(client.get(standing), "until they are released", status_code=403)
    assertContains(client.get("/environments/tic-tac-toe/tournaments/"), "results are withheld")
    for address in ("/", "/environments/tic-tac-toe/tournaments/"):
        assertNotContains(client.get(address), winner)
    # Its agents are named there as those that are not rated yet.
    assertNotContains(client.get("/environments/tic-tac-toe/"), 'class="board"')
    client.force_login(cast.alice)
    assert HIDDEN in page(client, tournament)
    client.force_login(cast.olga)
    assert winner in page(client, tournament)
    assert "Until the organisers release the results, only organisers see them." in page(client, tournament)
    assert client.get(standing).status_code == 200
    Tournament.objects.update(results="PARTICIPANTS")
    client.force_login(cast.alice)
    assert winner in page(client, tournament)
    assert "only participants and organisers see them" in page(client, tournament)
    client.force_login(cast.bob)
    assert HIDDEN in page(client, tournament)


def test_the_list_has_what_runs_what_comes_and_what_is_over(
    client: Client, environment: Environment, players: list[Submission]
) -> None:
    empty = client.get("/environments/tic-tac-toe/tournaments/")
    assertContains(empty, "No tournament is planned.")
    assertContains(empty, "No tournament has ended yet.")
    organised(Swiss(), players[:4], edition=1, name="Autumn Cup", judge=lambda one, other: 15 if one < other else 5)
    organised(Swiss(), players[:4], edition=2, name="Winter Cup", most=1)
    planned = {"state": "PLANNED", "is_automatic": False, "started_at": None, "format": "swiss"}
    cup = Tournament.objects.create(
        environment=environment,
        edition=3,
        name="Spring Cup",
        max_participants=8,
        registration_opens_at=NOON - timedelta(days=1),
        starts_at=NOON,
        **planned,
    )
    cup.registrations.create(agent=players[0].agent)
    factories.tournament(players[:2], edition=4)

    words = client.get("/environments/tic-tac-toe/tournaments/").content.decode()
    text = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", words)).split())
    assert re.search(r"Running Winter Cup Swiss, edition 2 4 participants", text)
    assert re.search(r"Planned Spring Cup Swiss, edition 3 1 of 8 registered begins 1 Mar 2026", text)
    assert re.search(r"Past Edition 4 Round robin .* Autumn Cup Swiss, edition 1 won by agent-a v1 of alice", text)
    registered = page(client, cup)
    assert "Registered 1 of 8 7 places left agent-a" in registered
    assert "Begins 1 Mar 2026, 12:00 UTC" in registered


def test_the_arena_s_own_editions_keep_their_page(client: Client, players: list[Submission]) -> None:
    factories.tournament(players[:3], edition=1)
    organised(Swiss(), players[:4], edition=2, name="Winter Cup")

    for address in ("/environments/tic-tac-toe/", "/environments/tic-tac-toe/editions/1/"):
        response = client.get(address)
        assertContains(response, "Leaderboard")
        assertNotContains(response, "/editions/2/")
        assertContains(response, "/environments/tic-tac-toe/tournaments/")


def test_a_drawing_takes_as_many_queries_however_many_play(
    players: list[Submission], django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    few = organised(SingleElimination(), players[:2], edition=1, most=0)
    many = organised(SingleElimination(), players, edition=2, most=3)
    for tournament in (few, many):
        with django_assert_num_queries(8):
            found = bracket_get(tournament)
            assert found is not None
            names = [line.participant.submission.agent.owner.username for line in found.lines(found.outline.table)]
        assert len(names) == tournament.participants.count()


def test_programs_get_the_same_drawing(client: Client, players: list[Submission]) -> None:
    tournament = organised(DoubleElimination(), players[:5], most=4)
    answer = client.get(f"/api/v1/tournaments/{tournament.pk}/standing/").json()

    assert [stage["key"] for stage in answer["stages"]] == ["winners", "losers", "final"]
    first = answer["stages"][0]["rounds"][0][0]
    assert (first["key"], first["sides"][0]["submission"]["agent"]["name"]) == ("W1.2", "agent-d")
    assert first["sides"][0]["source"] == {"kind": "seed", "of": "4"}
    final = answer["stages"][2]["rounds"][0][0]
    assert [side["submission"] for side in final["sides"]] == [None, None]
    shown = client.get(f"/api/v1/tournaments/{tournament.pk}/").json()
    assert (shown["name"], shown["format"], shown["is_automatic"]) == (tournament.name, "double-elimination", False)
    assert shown["settings"]["pairs"] == 10
    own = factories.tournament(players[:2], edition=2)
    assert client.get(f"/api/v1/tournaments/{own.pk}/standing/").status_code == 404
    listed = client.get("/api/v1/tournaments/?is_automatic=false").json()["results"]
    assert [row["id"] for row in listed] == [tournament.pk]
