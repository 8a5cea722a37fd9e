"""Positions that are kept after analyses and playouts, and drills that are put in line."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pytest_django.fixtures import Settings

from arena_kit.analysis.blunders import Blunder as Found
from arena_kit.environment.registry import get_spec
from core.duels import blunders
from core.duels.blunders import blunders_keep, drill_begin, drill_positions
from core.models import Blunder, Drill, DrillMove, Duel, JobState, Submission
from core.tests import factories
from core.tests.factories import Cast

pytestmark = pytest.mark.django_db
SEATS = (1, 0)
CORNER = Found(1, 0, 7, (0,), 1, (4,), (1, 2, 3, 5, 6, 7, 8), 0.5, 0.0)


@pytest.fixture
def cast() -> Cast:
    return factories.cast()


@pytest.fixture
def anna(cast: Cast) -> Submission:
    return factories.ready(factories.agent(cast.alice, factories.environment(), "anna"))


@pytest.fixture
def duel(cast: Cast, anna: Submission) -> Duel:
    berta = factories.ready(factories.agent(cast.bob, anna.agent.environment, "berta"))
    return factories.tournament([berta, anna]).duels.get()


def keep(duel: Duel, *found: Found, number: int = 1) -> None:
    blunders_keep(duel=duel, number=number, seats=SEATS, found=found)


def test_a_position_is_kept_once_for_the_agent_whose_seat_it_was(duel: Duel) -> None:
    keep(duel, CORNER)
    keep(duel, CORNER, replace(CORNER, seed=8), replace(CORNER, seat=1), number=2)

    loser = (duel.player_1, duel.player_2)[SEATS[0]]
    first, second = Blunder.objects.order_by("pk")
    assert (first.agent, first.submission, first.match_number) == (loser.agent, loser, 1)
    assert (first.actions, first.holding, first.played) == ([0], [4], 1)
    assert second.submission != loser


def test_an_overlooked_threat_is_kept_without_a_value_before_it(duel: Duel) -> None:
    keep(duel, replace(CORNER, before=None, steps=1))
    kept = Blunder.objects.get()
    assert (kept.before, kept.after, kept.steps, kept.given) == (None, 0.0, 1, 0.5)
    assert Found.of(kept) == replace(CORNER, before=None, steps=1)


def test_only_the_newest_positions_of_an_agent_are_kept(duel: Duel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blunders, "KEPT", 2)
    keep(duel, *(replace(CORNER, played=played, actions=(0, played)) for played in (1, 2, 3)))
    assert sorted(Blunder.objects.values_list("played", flat=True)) == [2, 3]


def test_positions_of_games_with_hidden_information_are_not_kept(duel: Duel, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = get_spec(duel.environment_version)
    monkeypatch.setattr(blunders, "spec_get", lambda _: replace(spec, isolation="apart"))
    keep(duel, CORNER)
    assert not Blunder.objects.exists()


def test_a_new_position_drills_the_version_that_plays_but_not_the_one_that_blundered(duel: Duel) -> None:
    keep(duel, CORNER)
    assert not Drill.objects.exists()
    agent = Blunder.objects.get().agent
    newer = factories.ready(agent)
    keep(duel, replace(CORNER, actions=(2,)))
    keep(duel, replace(CORNER, actions=(6,)))

    drill = Drill.objects.get()
    assert (drill.submission, drill.state) == (newer, JobState.QUEUED)
    assert drill_positions(newer, drill.environment_version).count() == 3


def test_a_drill_asks_only_where_the_answer_is_known_and_the_version_has_not_moved(
    duel: Duel, anna: Submission
) -> None:
    newer = factories.ready(anna.agent)
    asked = factories.blunder(anna, duel)
    factories.blunder(anna, duel, 2, holding=[], losing=[])
    factories.blunder(anna, duel, 3, environment_version="tic-tac-toe-v9")
    rules = anna.agent.environment.spec_id
    assert list(drill_positions(newer, rules)) == [asked]
    assert not drill_positions(anna, rules).exists()

    DrillMove.objects.create(submission=newer, blunder=asked, action=4, is_found=True)
    assert not drill_begin(submission=newer)


def test_a_cluster_drills_nothing(duel: Duel, anna: Submission, settings: Settings) -> None:
    settings.SANDBOX = "kubernetes"
    factories.blunder(anna, duel)
    assert not drill_begin(submission=factories.ready(anna.agent))
