"""Lenses as rows: what is kept of who beats whom and of predictions, and which results are behind it."""

from __future__ import annotations

import pytest

from core.editions.fits import ratings_refresh
from core.editions.follow import rebuild
from core.models import Audience, Duel, Environment, LedgerVoid, Lens, Rating, Tournament
from core.ratings.lens_selectors import calibration_get, lens_get
from core.ratings.pairs import matrix_get
from core.tests import factories
from core.tests.circles import Circle, circle

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture
def rows(db: None) -> Circle:
    return circle(factories.cast(), factories.environment())


@pytest.fixture
def environment(rows: Circle) -> Environment:
    ratings_refresh(rows.tournament.environment)
    return rows.tournament.environment


def test_a_circle_and_a_second_ranking_are_kept_with_the_ratings(rows: Circle, environment: Environment) -> None:
    found = lens_get(environment)
    assert found is not None
    (steps,) = found.cycles
    names = [(step.winner.submission.agent.name, step.loser.submission.agent.name) for step in steps]
    assert set(names) == {("paper", "rock"), ("scissors", "paper"), ("rock", "scissors")}
    assert [(one.result.share, one.result.matches) for one in steps] == [(0.9, 40)] * 3
    assert all(0.5 < one.result.lower < 0.9 for one in steps)
    assert (found.cycle_count, found.pair_count, found.clear_count) == (1, 4, 4)
    # Official ratings tell the three apart, because rock has beaten one more.
    assert [row.rank for row in found.nash] == [1, 1, 1, 4]
    assert found.nash[3].rating.submission == rows.novice


def test_predictions_are_judged_pair_by_pair(environment: Environment) -> None:
    found = calibration_get(environment)
    assert found is not None
    assert (found.duels, found.matches) == (16, 160)
    assert [(one.low, one.pairs, one.duels, one.expected, one.happened) for one in found.bins] == [
        (0.6, 3, 12, 0.6, 0.9), (0.9, 1, 4, 0.9, 0.9),
    ]  # fmt: skip
    assert [one.is_calibrated for one in found.bins] == [False, True]


def test_a_prediction_is_told_from_the_side_of_who_was_expected_to_win(rows: Circle) -> None:
    Duel.objects.update(expected=0.3)
    ratings_refresh(rows.tournament.environment)
    found = calibration_get(rows.tournament.environment)
    assert found is not None
    assert [(one.low, one.expected, one.happened) for one in found.bins] == [(0.7, 0.7, 0.1)]


def test_what_is_held_back_unrated_or_struck_is_in_no_lens(rows: Circle) -> None:
    environment, tournaments = rows.tournament.environment, Tournament.objects.filter(pk=rows.tournament.pk)
    for change in ({"results": Audience.HIDDEN}, {"results": Audience.PUBLIC, "is_rated": False}):
        tournaments.update(**change)
        rebuild(environment)
        ratings_refresh(environment)
        assert calibration_get(environment) is None
        assert not any(any(cells) for cells in matrix_get(environment, 10).cells)
    tournaments.update(is_rated=True)
    LedgerVoid.objects.bulk_create(LedgerVoid(duel=duel, reason="The clock was wrong.") for duel in Duel.objects.all())
    rebuild(environment)
    ratings_refresh(environment)
    found = lens_get(environment)
    assert found is not None
    assert (found.nash, found.cycles, calibration_get(environment)) == ((), (), None)


def test_a_matrix_counts_from_both_sides_and_names_the_latest_duel(rows: Circle, environment: Environment) -> None:
    matrix = matrix_get(environment, 10)
    place = {rating.submission_id: number for number, rating in enumerate(matrix.ratings)}
    rock, paper, novice = place[rows.rock.pk], place[rows.paper.pk], place[rows.novice.pk]
    won, lost = matrix.cells[paper][rock], matrix.cells[rock][paper]
    assert won is not None
    assert lost is not None
    assert (won.share, won.matches, won.duel_count) == (0.9, 40, 4)
    assert (lost.share, lost.latest_duel) == (0.1, won.latest_duel)
    assert won.latest_duel == Duel.objects.get(number=4).pk
    assert matrix.cells[paper][novice] is None
    assert matrix.cells[paper][paper] is None


def test_who_has_no_rating_any_more_is_left_out(rows: Circle, environment: Environment) -> None:
    Rating.objects.filter(submission=rows.paper).delete()
    found = lens_get(environment)
    assert found is not None
    assert (len(found.nash), found.cycles) == (3, ())


def test_there_is_nothing_to_see_before_anything_was_rated(db: None) -> None:
    environment = factories.environment()
    assert lens_get(environment) is None
    ratings_refresh(environment)
    found = lens_get(environment)
    assert found is not None
    assert found.pair_count == 0
    assert Lens.objects.get().calibration is None
