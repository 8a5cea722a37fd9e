"""The analysis of a match as its page shows it: a bar, a graph, turning points and the worst moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from arena_kit.analysis.mistakes import Mistake
from arena_kit.analysis.positions import Position
from arena_kit.analysis.sentences import Remark, Story, story
from arena_kit.environment.records import MatchRecord
from arena_kit.environment.replay_file.facts import YOU
from core.duels.analyses import analysis_get, is_analysable, positions_get
from core.duels.replays import Names
from core.duels.selectors import match_get, spec_get
from core.jobs.waits import Wait, wait_of
from core.models import Analysis, Duel, JobState, Sitting

WIDTH, HEIGHT, EDGE = 640.0, 120.0, 8.0
"""Size of the graph in units of its picture, and the space above and below the lines."""


@dataclass(frozen=True, slots=True)
class Point:
    """A turning point in the graph. x, y: its place. ply, sentence: what it is."""

    x: float
    y: float
    ply: int
    sentence: str


@dataclass(frozen=True, slots=True)
class Graph:
    """The values by position, for player 1 above and player 2 below.

    lines: the steps between solved positions, as paths. unknown: where it begins (x) and how wide it is. points:
    turning points.
    """

    lines: str
    unknown: float
    points: tuple[Point, ...]
    step: float


@dataclass(frozen=True, slots=True)
class Losses:
    """The worst moves of a player that lost. title: says whose they are."""

    title: str
    remarks: tuple[Remark, ...]


@dataclass(frozen=True, slots=True)
class MistakeMark:
    """The mark of a move that gave something away. sign: as in notes of chess. word: what it gave away."""

    ply: int
    sign: str
    word: str


@dataclass(frozen=True, slots=True)
class AnalysisView:
    """The view of the page. job: None without one. shares: by position, player 1's share of the bar in percent,
    or None if it is not solved; story, graph, losses: only with a result."""

    job: Analysis | None
    wait: Wait | None = None
    story: Story | None = None
    graph: Graph | None = None
    shares: tuple[int | None, ...] = ()
    losses: Losses | None = None

    @property
    def told(self) -> list[tuple[int | None, str]]:
        """By position: share of the bar and sentence, for the script of the page."""
        if self.story is None:
            return []
        return [(share, remark.sentence) for share, remark in zip(self.shares, self.story.remarks, strict=True)]

    @property
    def marks(self) -> dict[int, MistakeMark]:
        """The marks of the moves that gave something away, by ply."""
        remarks = () if self.story is None else self.story.turning_points
        return {one.ply: _mark(one.mistake) for one in remarks if one.mistake is not None}


def analysis_view(row: Duel | Sitting, record: MatchRecord, names: Names) -> AnalysisView | None:
    """Return the analysis of a match; None where its rules have no solver. Raises NotStored."""
    spec = spec_get(row)
    if not is_analysable(spec):
        return None
    job = analysis_get(row, record.number)
    if job is None or job.state != JobState.SUCCEEDED:
        return AnalysisView(job, None if job is None else wait_of(job))
    positions = positions_get(job)
    told = story(spec, record, positions, names)
    values = _values(record, positions)
    return AnalysisView(job, None, told, _graph(values, told), _shares(values), _losses(record, positions, told, names))


def analysis_part(request: HttpRequest, row: Duel | Sitting, number: int, names: Names, page: str) -> HttpResponse:
    """Return the part of a match's page that shows its analysis; the page is loaded anew when that is ready.

    page: the address of the page. Raises NotStored.
    """
    record, _ = match_get(row, number)
    view = analysis_view(row, record, names)
    if view is None or view.job is None or view.job.is_over:
        return HttpResponse(headers={"HX-Refresh": "true"})
    return render(request, "web/duels/viewer/analysis.html", {"analysis": view, "page": page})


def shares_of(row: Duel | Sitting, record: MatchRecord) -> tuple[int | None, ...]:
    """Return player 1's share of the bar in percent by position, as in `AnalysisView`; none without an analysis."""
    job = analysis_get(row, record.number)
    return () if job is None or job.state != JobState.SUCCEEDED else _shares(_values(record, positions_get(job)))


def _values(record: MatchRecord, positions: Sequence[Position]) -> list[int | None]:
    """Return the values for player 1 by position."""
    return [position.value_for(record.seats.index(0)) for position in positions]


def _shares(values: Sequence[int | None]) -> tuple[int | None, ...]:
    # Won, drawn and lost are three places of one bar: a forced win is not a matter of degrees.
    return tuple(None if value is None else 50 + 50 * value for value in values)


def _mark(mistake: Mistake) -> MistakeMark:
    if mistake.loss > 1:
        return MistakeMark(mistake.ply, "??", "turned a win into a loss")
    return MistakeMark(mistake.ply, "?", "gave the win away" if mistake.before > 0 else "gave the draw away")


def _graph(values: Sequence[int | None], told: Story) -> Graph:
    step = WIDTH / max(1, len(values) - 1)

    def place(ply: int) -> tuple[float, float]:
        value = values[ply] or 0
        return round(ply * step, 1), round(HEIGHT / 2 - value * (HEIGHT / 2 - EDGE), 1)

    first = next((ply for ply, value in enumerate(values) if value is not None), len(values) - 1)
    x, y = place(first)
    path = [f"M{x} {y}"]
    for ply in range(first + 1, len(values)):
        x, y = place(ply)
        path.append(f"H{x}V{y}")
    points = tuple(Point(*place(remark.ply), remark.ply, remark.sentence) for remark in told.turning_points)
    return Graph("".join(path), round(first * step, 1), points, round(step, 2))


def _losses(record: MatchRecord, positions: Sequence[Position], told: Story, names: Names) -> Losses | None:
    """Return the worst moves of the player that lost; None without one, or without a mistake."""
    final = positions[-1].value
    if not final or positions[-1].to_move is not None:
        return None
    loser = 1 if final > 0 else 0
    name = names[record.seats[loser]]
    title = "Your worst moves" if name == YOU else f"The worst moves of {name}"
    return Losses(title, told.worst[loser]) if told.worst[loser] else None
