"""What players print during a move is found by match and move; players that forge marks mislead themselves alone."""

from __future__ import annotations

import pytest

from arena_kit.referee.faults import with_output
from arena_kit.referee.output import CUT, END, MOST_CHARACTERS, printed_in, trace_in
from arena_kit.tests.playing import play, player

TALKS = player(
    top="import logging, sys; print('loaded'); log = logging.getLogger(); log.addHandler(logging.StreamHandler())",
    init="self.moves = 0",
    start="print('first of', len(valid_actions))\nlog.warning('by a handler of before')",
    step="self.moves += 1\nprint('no line end', end='')\nif self.moves == 2: print('to the other', file=sys.stderr)",
    end="print('over', prev_reward)",
)


def test_output_is_found_by_match_and_move_and_silent_moves_have_none() -> None:
    silent = player(step="print('only here') if len(valid_actions) < 4 else None")
    duel = play(TALKS, silent, matches=2, parallel=2)
    first, second = duel.record.matches
    assert duel.player_logs[0].startswith("loaded\n[match ")
    found = printed_in(duel.player_logs[0], 1)
    moves = first.move_counts[0]
    assert found[0] == "first of 9\nby a handler of before"
    assert found[1] == "no line end"
    assert found[2] == "no line endto the other"
    assert (set(found), found[END]) == ({*range(moves), END}, f"over {first.scores[0]}")
    # In match 2 the other player begins.
    assert printed_in(duel.player_logs[0], 2)[0] == "first of 8\nby a handler of before"
    other = printed_in(duel.player_logs[1], 2)
    assert other
    assert all(text == "only here" and 0 < place < second.move_counts[1] for place, text in other.items())
    assert printed_in(duel.player_logs[0], 3) == {}


def test_the_traceback_of_a_match_is_found_below_all_that_was_printed() -> None:
    raises = player(step="print('[match 1] forged')\nprint('Traceback of mine')\nplan = {}\nplan['nine']")
    duel = play(raises, matches=2, parallel=2)
    assert duel.record.matches[0].error == "The player raised an exception: KeyError: 'nine'"
    trace = trace_in(duel.player_logs[0], 1)
    assert trace.startswith("Traceback (most recent call last):\n")
    assert trace.endswith("KeyError: 'nine'")
    assert "in step" in trace
    assert "mine" not in trace
    assert trace_in(duel.player_logs[1], 1) == trace_in(duel.player_logs[0], 3) == ""


def test_a_long_traceback_is_cut() -> None:
    assert trace_in("[match 1] Error\n" + "x" * 10_000, 1) == "x" * MOST_CHARACTERS + CUT


def test_a_player_that_prints_nothing_has_an_empty_log() -> None:
    assert play(player(), player()).player_logs == ("", "")


@pytest.mark.parametrize("stream", ["sys.stdout", "sys.__stdout__", "sys.stdout.buffer"])
def test_streams_can_be_used_as_before(stream: str) -> None:
    what = "b'raw'" if stream.endswith("buffer") else "'text'"
    lines = [
        f"{stream}.write({what})",
        "sys.stdout.reconfigure(line_buffering=True)",
        "assert sys.stdout.fileno() == 1",
    ]
    duel = play(player(top="import sys", start="\n".join(lines)), matches=1)
    assert duel.record.matches[0].error == ""
    assert ("raw" if stream.endswith("buffer") else "text") in duel.player_logs[0]


def test_forged_marks_are_read_as_written_and_never_more_than_the_limit() -> None:
    forged = "[match 1, move 2]\nmine\n[match 1, move 2]\nagain\n[match 1, end]\nlast\n" + "x" * 10_000
    found = printed_in(forged, 1)
    assert found[1] == "mine\nagain"
    assert len(found[END]) == MOST_CHARACTERS + len(CUT)
    for wrong in ("[match 1, move 0x2]", "[match 99999999999, move 1]", " [match 1, move 1]", "[match 1, move 1] x"):
        assert printed_in(f"{wrong}\ntext", 1) == {}


@pytest.mark.parametrize(
    "own", ["[the player was started again]", "[17 bytes cut]", "[match 1] KeyError: 'b'", "[cut]", "[match 2, move 1]"]
)
def test_the_lines_of_the_arena_belong_to_no_move(own: str) -> None:
    assert printed_in(f"[match 1, move 1]\ntext\n{own}\nother", 1) == {0: "text"}


@pytest.mark.parametrize(
    ("fault", "log", "hint"),
    [
        ("player_failed_to_start", "ModuleNotFoundError: No module named 'pandas.core'", True),
        ("player_failed_to_start", "ImportError: cannot import name 'zeros'", False),
        ("illegal_action", "ModuleNotFoundError: No module named 'pandas'", False),
    ],
)
def test_a_missing_package_comes_with_the_file_that_it_belongs_into(fault: str, log: str, hint: bool) -> None:
    said = with_output(fault, "The player could not be started.", f"loading\n{log}\n")
    assert said.endswith("If pandas is a package, add it to requirements.txt.") == hint
