"""A validation says what a whole duel would take at its pace, and warns where that is more than the limit."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import cast

import pytest

from arena_kit.cli.check import Checked
from arena_kit.environment.spec import Limits
from arena_kit.referee.faults import PlayerFault, time_allowed
from arena_kit.referee.play import PlayedDuel, PlayedEvaluation
from arena_kit.referee.verdict import Pace, duel_pace, evaluation_pace
from arena_kit.tests.playing import LIMITS, play, player

DUEL = Limits(duel_seconds=30.0)


def played(seconds: float, *thought: float) -> PlayedDuel:
    """Return a duel of matches in each of which both players thought for this time."""
    matches = [SimpleNamespace(thinking_seconds=(one, one)) for one in thought]
    return cast(PlayedDuel, SimpleNamespace(record=SimpleNamespace(matches=matches), playing_seconds=seconds))


@pytest.mark.parametrize(
    ("duel", "planned", "whole", "seconds", "is_cut"),
    [
        (played(10.0, *[0.1] * 50), 50, 500, 100.0, True),
        (played(3.0, *[0.0] * 50), 50, 500, 30.0, False),
        (played(0.02, *[0.0] * 50), 50, 500, 0.2, False),
        (played(10.0, 0.6, 0.6), 50, 500, 600.0, True),
        (played(10.0, 0.01, 0.01), 50, 500, 10.0, False),
        (played(31.0, 0.1, 0.1), 2, 2, 31.0, True),
    ],
)
def test_the_pace_of_a_validation_is_that_of_a_whole_duel(
    duel: PlayedDuel, planned: int, whole: int, seconds: float, is_cut: bool
) -> None:
    pace = duel_pace(duel, DUEL, planned=planned, whole=whole)
    assert pace is not None
    assert pace.seconds == pytest.approx(seconds)
    assert pace.is_cut == is_cut
    assert f"a duel of {whole} matches against itself takes about" in pace.sentence
    assert pace.sentence.count("the limit is 30 s.") == 1
    assert ("Think at least" in pace.sentence) == is_cut


@pytest.mark.parametrize(("duel", "whole"), [(played(1.0), 500), (played(1.0, 0.1), 0)])
def test_nothing_played_has_no_pace(duel: PlayedDuel, whole: int) -> None:
    assert duel_pace(duel, DUEL, planned=50, whole=whole) is None


def test_the_pace_of_episodes_is_that_of_an_evaluation() -> None:
    record = SimpleNamespace(episodes=range(10))
    evaluation = cast(PlayedEvaluation, SimpleNamespace(record=record, playing_seconds=40.0))
    pace = evaluation_pace(evaluation, DUEL, whole=100)
    assert pace is not None
    assert pace.sentence.startswith("At this pace an evaluation of 100 episodes takes about 400 s; the limit is 30 s. ")
    assert pace.sentence.endswith("s. One that is not over by then fails. Think at least 13.3 times faster.")


def test_the_check_warns_of_a_pace_that_would_be_cut() -> None:
    checked = Checked("play", played=8)
    slow, quick = Pace("a duel of 500 matches", 625.0, 30.0), Pace("a duel of 500 matches", 3.21, 30.0)
    assert str(dataclasses.replace(checked, pace=slow)).split("\n")[1].startswith("Warning: At this pace a duel of 500")
    assert str(dataclasses.replace(checked, pace=quick)).endswith("takes about 3.2 s; the limit is 30 s.")


def test_a_fault_of_time_names_the_limit_and_what_was_used() -> None:
    assert time_allowed(2.0, 20.0, 2.314).endswith("The last one took 2.31 s.")
    slow = player(top="import time", step="time.sleep(0.3)")
    duel = play(slow, matches=20, limits=dataclasses.replace(LIMITS, duel_seconds=1.0))
    cut = [match for match in duel.record.matches if match.error_code == PlayerFault.DUEL_TIME]
    assert cut
    assert "A duel may take 1 s; " in cut[0].error
    assert " of 20 matches were over." in cut[0].error
