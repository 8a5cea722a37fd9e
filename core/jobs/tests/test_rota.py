"""Lines that take turns share the time of a worker."""

from __future__ import annotations

from collections import Counter

from core.jobs.registry import Line
from core.jobs.rota import Rota, Shares
from core.models import Build, Duel, Recording

SHORT, LONG, OTHER = Line(Duel, "play"), Line(Recording, "draw"), Line(Build, "build")


def served(turns: Shares, seconds: dict[str, float], count: int, *, waiting: tuple[Line, ...]) -> list[Line]:
    """Serve jobs of lines in which some always wait. seconds: how long a job of a line takes, by its function."""
    lines = []
    for _ in range(count):
        line = next(one for one in turns.order() if one in waiting)
        turns.serve(line)
        turns.charge(line, seconds[line.perform])
        lines.append(line)
    return lines


def test_lines_of_equal_jobs_are_served_one_after_the_other() -> None:
    lines = served(
        Shares([SHORT, LONG, OTHER]), dict.fromkeys(("play", "draw", "build"), 0.2), 6, waiting=(SHORT, LONG, OTHER)
    )
    assert lines == [SHORT, LONG, OTHER] * 2


def test_a_line_of_long_jobs_has_fewer_of_them_done() -> None:
    lines = served(Shares([LONG, SHORT]), {"play": 0.1, "draw": 8.0}, 27, waiting=(LONG, SHORT))
    assert Counter(line.perform for line in lines) == {"play": 24, "draw": 3}


def test_a_line_in_which_nothing_waited_has_saved_up_no_time() -> None:
    turns = Shares([SHORT, LONG])
    served(turns, {"play": 5.0}, 100, waiting=(SHORT,))
    assert served(turns, {"play": 5.0, "draw": 5.0}, 4, waiting=(SHORT, LONG)) == [LONG, SHORT, LONG, SHORT]


def test_what_a_line_took_while_no_other_waited_is_not_held_against_it() -> None:
    rota = Rota([], [LONG, SHORT], [])
    rota.serve(LONG)
    rota.charge(LONG, 300.0)
    rota.rest()
    rota.serve(SHORT)
    rota.charge(SHORT, 1.0)
    assert next(rota.order()) is LONG


def test_uploads_that_never_end_leave_others_every_fourth_job() -> None:
    rota = Rota([OTHER], [SHORT], [LONG])
    lines = []
    for _ in range(12):
        line = next(rota.order())
        rota.serve(line)
        lines.append(line)
    assert lines == [OTHER, OTHER, OTHER, SHORT] * 3


def test_what_is_served_last_gets_none_of_the_share_that_uploads_leave() -> None:
    rota = Rota([OTHER], [SHORT], [LONG])
    for _ in range(3):
        rota.serve(OTHER)
    assert list(rota.order()) == [SHORT, OTHER, LONG]
    # A share that was not needed is not saved up.
    rota.rest()
    assert list(rota.order()) == [OTHER, SHORT, LONG]
