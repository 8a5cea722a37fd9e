"""A recorded match, played again with another player in the place of one side."""

from __future__ import annotations

import os
import time
from dataclasses import replace

import pytest

from arena_kit.environment.records import Fault, MatchRecord
from arena_kit.environment.registry import get_spec
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.errors import PlatformFault
from arena_kit.referee.shadow import Shadowed, shadow_match
from arena_kit.sandbox.base import Launch
from arena_kit.sandbox.process import ProcessSandbox
from arena_kit.tests.playing import COUNTER, GOOD, LIMITS, folders, play, player

SPEC = get_spec("tic-tac-toe-v1")
OPENED = get_spec("tic-tac-toe")


@pytest.fixture(scope="module")
def record() -> MatchRecord:
    """The first match of two players that always take the first place that is free; player 1 wins it."""
    return play(GOOD, GOOD, matches=2).record.matches[0]


def shadowed(source: str, record: MatchRecord, side: int, spec: EnvironmentSpec = SPEC) -> Shadowed:
    with folders(source) as (folder,):
        sandbox = ProcessSandbox(folder.parent / "c")
        return shadow_match(
            spec,
            lambda: sandbox.launch(
                Launch(f"folder:{folder}", f"arena-shadow-{os.getpid()}-{next(COUNTER)}", LIMITS, {})
            ),
            record,
            player=side,
            limits=LIMITS,
            clock=time.monotonic,
        )


@pytest.mark.parametrize("side", [0, 1])
def test_the_player_that_played_moves_the_same(record: MatchRecord, side: int) -> None:
    found = shadowed(GOOD, record, side)
    assert (found.difference, found.moves) == (None, record.move_counts[side])


def test_the_first_move_that_differs_is_shown_with_its_position(record: MatchRecord) -> None:
    found = shadowed(player(step="if len(valid_actions) < 6: return valid_actions[-1]"), record, 0)
    assert found.difference is not None
    assert (found.moves, found.difference.ply, found.difference.seat) == (2, 5, 0)
    assert (found.difference.played, found.difference.chosen) == (record.actions[4], 8)
    assert found.difference.text.startswith("X O X\nO . .\n")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (player(step="raise KeyError('nine')"), "KeyError"),
        (player(step="import os; os._exit(1)"), "ended"),
        (player(init="raise ValueError('no weights')"), "could not be started"),
        (player(step="return 'x'"), "x"),
    ],
)
def test_a_player_that_fails_differs_with_a_sentence(record: MatchRecord, source: str, words: str) -> None:
    found = shadowed(source, record, 1)
    assert found.difference is not None
    assert (found.difference.chosen, words in found.difference.error) == (None, True)


def test_the_move_at_which_the_recorded_player_forfeited_differs_too(record: MatchRecord) -> None:
    cut = replace(record, actions=record.actions[:2], fault=Fault.PLAYER, faulty_player=0)
    found = shadowed(GOOD, cut, 0)
    assert found.difference is not None
    assert (found.difference.ply, found.difference.played) == (3, None)
    # The other side is compared as far as it played.
    assert shadowed(GOOD, cut, 1).moves == 1


@pytest.mark.parametrize("actions", [(99, 1), (0, 0), (0, 1, 0)])
def test_a_record_that_does_not_fit_the_rules_is_no_fault_of_the_player(
    record: MatchRecord, actions: tuple[int, ...]
) -> None:
    with pytest.raises(PlatformFault, match="does not fit"):
        shadowed(player(step="return [a for a in range(9)][0]"), replace(record, actions=actions), 1 - len(actions) % 2)


@pytest.fixture(scope="module")
def opened() -> MatchRecord:
    """A match by rules with openings, the first of players that take the first place that is free."""
    return play(GOOD, GOOD, matches=2, environment="tic-tac-toe").record.matches[0]


@pytest.mark.parametrize("side", [0, 1])
def test_nobody_is_asked_for_the_opening(opened: MatchRecord, side: int) -> None:
    assert opened.opening_count
    found = shadowed(player(start="assert (state != 0).any()"), opened, side, OPENED)
    assert (found.difference, found.moves) == (None, opened.move_counts[side])


def test_the_first_move_after_the_opening_can_differ(opened: MatchRecord) -> None:
    mover = opened.seats[opened.opening_count % 2]
    found = shadowed(player(start="return valid_actions[-1]"), opened, mover, OPENED)
    assert found.difference is not None
    assert (found.moves, found.difference.ply) == (0, opened.opening_count + 1)
    assert found.difference.played == opened.actions[opened.opening_count]


def test_an_opening_that_its_seed_does_not_give_does_not_fit(opened: MatchRecord) -> None:
    for other in (replace(opened, opening_count=0), replace(opened, seed=opened.seed + 1)):
        with pytest.raises(PlatformFault, match="its opening is"):
            shadowed(GOOD, other, 0, OPENED)


def test_a_match_forfeited_before_it_began_has_no_opening(opened: MatchRecord) -> None:
    first = opened.seats[opened.opening_count % 2]
    lost = replace(opened, actions=(), opening_count=0, fault=Fault.PLAYER, faulty_player=first)
    found = shadowed(GOOD, lost, first, OPENED)
    assert found.difference is not None
    assert (found.moves, found.difference.played) == (0, None)
