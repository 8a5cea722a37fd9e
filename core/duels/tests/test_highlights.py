"""The matches of a duel that are worth a look."""

from __future__ import annotations

import pytest

from arena_kit.environment.record_archive import MatchSummary
from arena_kit.environment.records import Fault, Outcome
from core.duels.highlights import Highlight, highlights, highlights_beside
from core.models import AnalysedPosition, Duel
from core.tests import factories
from core.tests.factories import Cast

pytestmark = pytest.mark.django_db
FIRST, SECOND, DRAW = Outcome.PLAYER_1, Outcome.PLAYER_2, Outcome.DRAW


@pytest.fixture
def duel(people: Cast) -> Duel:
    environment = factories.environment()
    rows = [factories.ready(factories.agent(people.alice, environment, name)) for name in ("a", "b")]
    return factories.tournament(rows).duels.get()


def index(*outcomes: Outcome, moves: int = 10) -> list[MatchSummary]:
    """Matches by outcome; each is shorter than the one before."""
    return [
        MatchSummary(number, outcome, Fault.NONE, None, 0, moves - number) for number, outcome in enumerate(outcomes, 1)
    ]


def whys(found: list[Highlight]) -> list[tuple[int, str]]:
    return [(one.number, one.why) for one in found]


def test_the_longest_match_and_the_few_wins_of_the_weaker_player_are_worth_a_look(duel: Duel) -> None:
    rows = index(FIRST, FIRST, SECOND, FIRST, FIRST, FIRST)
    assert whys(highlights(duel, rows)) == [(1, "the longest"), (3, "a surprise")]
    # Where both win often, no win is a surprise.
    assert whys(highlights(duel, index(FIRST, SECOND, FIRST, SECOND))) == [(1, "the longest")]
    assert whys(highlights(duel, index(DRAW, DRAW))) == [(1, "the longest")]
    assert highlights(duel, []) == []


def test_repeats_and_forfeits_are_left_out(duel: Duel) -> None:
    repeat = MatchSummary(1, SECOND, Fault.NONE, None, 0, 99, same_as=2)
    forfeit = MatchSummary(3, SECOND, Fault.PLAYER, 0, 0, 99)
    played = MatchSummary(2, FIRST, Fault.NONE, None, 0, 5, same_as=2)
    assert whys(highlights(duel, [repeat, played, forfeit])) == [(2, "the longest")]


def test_a_won_match_whose_value_changed_is_worth_a_look_and_a_drawn_one_is_not(duel: Duel) -> None:
    for number, values in ((2, (None, 0, 1)), (3, (1, 1)), (4, (0, 1, 0))):
        made = factories.analysis(duel, number)
        made.positions.all().delete()
        for ply, value in enumerate(values):
            plies = None if value is None else 1
            AnalysedPosition.objects.create(analysis=made, ply=ply, to_move=0, value=value, plies=plies)
    rows = index(FIRST, SECOND, FIRST, DRAW, SECOND)
    assert whys(highlights(duel, rows)) == [(1, "the longest"), (2, "a mistake")]


def test_a_match_leads_to_the_nearest_ones_before_and_after_it(duel: Duel) -> None:
    rows = index(FIRST, FIRST, SECOND, FIRST, FIRST, FIRST)
    longest, surprise = highlights(duel, rows)
    assert highlights_beside(duel, rows, 1) == (None, surprise)
    assert highlights_beside(duel, rows, 2) == (longest, surprise)
    assert highlights_beside(duel, rows, 6) == (surprise, None)
