"""A result in an assignment as pages show it, with the lost match to look at and its turning point; a class board."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from django.core.paginator import Page, Paginator
from django.http import HttpRequest

from core.assignments.board import ClassBoard, ClassBoardRow
from core.assignments.marks import Goal, GoalState, Mark
from core.courses.sight import Viewer, seen
from core.duels.challenge_selectors import ChallengeDuel, tally_of
from core.duels.losses import typical_loss
from core.duels.replays import duel_names
from core.duels.selectors import NotStored, match_get
from core.models import Analysis, Duel, JobState
from web.analyses.parts import analysis_view
from web.courses.marks_views import A_PAGE
from web.site.requests import page_number


@dataclass(frozen=True, slots=True)
class Lost:
    """A lost match. sentence: of its turning point or, without one, what its analysis says; empty before that.

    ply: the position before the turning point; None without one.
    """

    number: int
    sentence: str = ""
    ply: int | None = None


@dataclass(frozen=True, slots=True)
class GoalView:
    """A baseline as a person has reached it. line: of its decisive duel, None before one is over.

    is_seen: whether the viewer may see that duel: not when it is of a team that they have left since.
    """

    goal: Goal
    is_seen: bool
    line: ChallengeDuel | None = None
    lost: Lost | None = None


@dataclass(frozen=True, slots=True)
class ClassBoardView:
    """A page of the board of a class. own: the row of the viewer. count: how many rows have a rank."""

    board: ClassBoard
    page: Page[ClassBoardRow]
    own: ClassBoardRow | None
    count: int


def board_view(board: ClassBoard | None, request: HttpRequest) -> ClassBoardView | None:
    """Return the page of a board that a request names; None without a board."""
    if board is None:
        return None
    page = Paginator(board.rows, A_PAGE).get_page(page_number(request.GET))
    own = next((row for row in board.rows if request.user.pk in row.people), None)
    return ClassBoardView(board, page, own, sum(row.rank is not None for row in board.rows))


def goal_views(mark: Mark, viewer: Viewer) -> list[GoalView]:
    """Return what the page of one person shows. It reads the records of duels in which a baseline was not reached."""
    keys = [goal.decisive.duel for goal in mark.goals if goal.decisive is not None and goal.decisive.duel is not None]
    duels = Duel.objects.defer("log", "history").select_related("challenge", *Duel.RELATED).in_bulk(keys)
    shown = set(seen(Duel.objects.filter(pk__in=keys), viewer).values_list("pk", flat=True))
    return [_view(goal, duels.get(goal.decisive.duel or 0) if goal.decisive else None, shown) for goal in mark.goals]


def _view(goal: Goal, duel: Duel | None, shown: Collection[int]) -> GoalView:
    is_seen = duel is not None and duel.pk in shown
    if duel is None or duel.state != JobState.SUCCEEDED:
        return GoalView(goal, is_seen)
    line = ChallengeDuel(duel, tally_of(duel))
    return GoalView(goal, is_seen, line, _lost(duel) if is_seen and goal.state is GoalState.FAILED else None)


def _lost(duel: Duel) -> Lost | None:
    """Return the first lost match that is analysed, else a typical one."""
    try:
        done = Analysis.objects.filter(duel=duel, state=JobState.SUCCEEDED).order_by("match_number")
        for number in done.values_list("match_number", flat=True):
            record, _ = match_get(duel, number)
            view = analysis_view(duel, record, duel_names(duel))
            if view is not None and view.losses is not None:
                worst = view.losses.remarks[0]
                return Lost(number, f"Turning point: {worst.sentence}", max(0, worst.ply - 1))
            if view is not None and view.story is not None:
                return Lost(number, view.story.verdict)
        typical = typical_loss(duel, 0)
    except NotStored:
        return None
    return None if typical is None else Lost(typical)
