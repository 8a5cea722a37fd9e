"""The layout of brackets, cross tables and Swiss tables on pages. Pure.

A bracket has columns of equally high slots. A column has as many slots as the next one, or twice as many, so every
meeting stands in the middle of those that lead to it, and the style sheet can draw all lines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from arena_kit.ranking.formats import Decision, Meeting, Source, Stage, StageKind
from core.models import Participant
from core.tournaments.brackets import Drawn, Side, TableRow
from web.site.numbers import ordinal

MOST_CROSSED = 32
"""The most participants of a cross table with cells."""
ROUND_NAMES = {1: "Final", 2: "Semi-finals", 4: "Quarter-finals"}
LONG, MOSTLY = 8, 4
"""A first round of at least so many places with meetings in at most one of so many is written above the bracket."""
REACHED = "Reached round"
"""The column of a table that shows how far a participant has come."""


GROUP_STAGE = "Group stage"


class Join(StrEnum):
    """The direction of the line from a slot to the next column."""

    NONE = ""
    STRAIGHT = "straight"
    DOWN = "down"
    UP = "up"


@dataclass(frozen=True, slots=True)
class BracketPlace:
    """A place in a column. bye: the side that goes on from here without a meeting. is_fed: whether a line comes in."""

    meeting: Meeting | None
    bye: Side | None
    join: Join
    is_fed: bool


@dataclass(frozen=True, slots=True)
class BracketRound:
    """A round of a bracket."""

    name: str
    round: int
    slots: tuple[BracketPlace, ...]


class MeetingResult(StrEnum):
    """How a meeting ended for one of its players."""

    OPEN = "open"
    WON = "won"
    DRAWN = "drawn"
    LOST = "lost"
    NONE = "does not count"

    @property
    def sign(self) -> str:
        """The result as cross tables show it."""
        return {"won": "1", "drawn": "½", "lost": "0", "open": "·"}.get(self, "–")


@dataclass(frozen=True, slots=True)
class SeenMeeting:
    """A meeting as one of its players sees it. opponent: None in a bye. points: match points, own and the other's."""

    meeting: Meeting
    opponent: Participant | None
    is_player_1: bool
    points: tuple[int, int]
    result: MeetingResult


@dataclass(frozen=True, slots=True)
class CrossRow:
    """A participant against all others, in the order of the table.

    cells: None on the diagonal; empty where there are more than MOST_CROSSED participants.
    """

    line: TableRow
    cells: tuple[tuple[SeenMeeting, ...] | None, ...]


@dataclass(frozen=True, slots=True)
class SwissRow:
    """The meetings of a participant by round; None in rounds without one."""

    line: TableRow
    rounds: tuple[SeenMeeting | None, ...]


def source_words(source: Source | None) -> str:
    """A source in words: winner of W1.2, 1st of group A, seed 3."""
    if source is None:
        return "no opponent"
    if source.kind == "place":
        return f"{ordinal(int(source.of[1:]))} of group {source.of[:1]}"
    return f"{source.kind} {source.of}" if source.kind == "seed" else f"{source.kind} of {source.of}"


def bracket_columns(drawn: Drawn, stage: Stage) -> tuple[BracketRound, ...]:
    """The columns of a bracket, by rounds."""
    counts = _slot_counts(stage)
    placed = [{meeting.number: meeting for meeting in meetings} for meetings in stage.rounds]
    fed: set[tuple[int, int]] = set()
    columns = []
    for place, (count, meetings) in enumerate(zip(counts, placed, strict=True)):
        is_last = place + 1 == len(counts)
        after = {} if is_last else placed[place + 1]
        is_halved = not is_last and counts[place + 1] < count
        slots = []
        for number in range(1, count + 1):
            to = (number + 1) // 2 if is_halved else number
            meeting = meetings.get(number)
            following = after.get(to)
            bye = _bye(drawn, following, number) if is_halved and meeting is None and not place else None
            is_joined = following is not None and (
                bye is not None or (meeting is not None and _leads(meeting, following))
            )
            if is_joined:
                fed.add((place + 1, to))
            turn = Join.DOWN if number % 2 else Join.UP
            join = (turn if is_halved else Join.STRAIGHT) if is_joined else Join.NONE
            slots.append(BracketPlace(meeting, bye, join, (place, number) in fed))
        number = stage.rounds[place][0].round
        columns.append(BracketRound(_round_name(stage, count, number), number, tuple(slots)))
    return tuple(columns)


def without_byes(columns: tuple[BracketRound, ...]) -> tuple[tuple[Meeting, ...], tuple[BracketRound, ...]]:
    """Return the meetings of a first round that is mostly byes, and the columns that are drawn: then without it.

    With 33 participants it would be a column for one meeting and 31 byes, which makes the whole bracket twice as high.
    """
    first, *others = columns
    meetings = tuple(slot.meeting for slot in first.slots if slot.meeting is not None)
    if not others or len(first.slots) < LONG or len(meetings) > len(first.slots) // MOSTLY:
        return (), columns
    second = replace(others[0], slots=tuple(replace(slot, is_fed=False) for slot in others[0].slots))
    return meetings, (second, *others[1:])


def _slot_counts(stage: Stage) -> list[int]:
    """The number of slots of each column, so that it fits the next one."""
    counts: list[int] = []
    for place in reversed(range(len(stage.rounds))):
        meetings = stage.rounds[place]
        highest = max(meeting.number for meeting in meetings)
        if not counts:
            counts.append(highest)
            continue
        after = stage.rounds[place + 1]
        is_straight = highest <= counts[0] and all(
            meeting.number == following.number
            for meeting in meetings
            for following in after
            if _leads(meeting, following)
        )
        counts.insert(0, counts[0] if is_straight else max(2 * counts[0], highest))
    return counts


def _leads(meeting: Meeting, following: Meeting) -> bool:
    """Return whether the winner of one goes on to the other."""
    return Source("winner", meeting.key) in following.sources


def _bye(drawn: Drawn, following: Meeting | None, number: int) -> Side | None:
    """The side of a meeting that comes from slot `number` without a meeting there."""
    if following is None:
        return None
    side = drawn.sides(following)[(number + 1) % 2]
    return side if side.source is not None and side.source.kind in ("seed", "place") else None


def _round_name(stage: Stage, count: int, number: int) -> str:
    # Only in a knock-out do all remaining participants meet in one column, as these names imply.
    if stage.key == "knock-out":
        return ROUND_NAMES.get(count, f"Round of {2 * count}")
    if stage.key == "third":
        return "Losers of the semi-finals"
    return f"Round {number}"


def seen(drawn: Drawn, meeting: Meeting, who: int, kind: StageKind) -> SeenMeeting:
    """A meeting as one of its two players sees it."""
    own = meeting.players.index(who)
    opponent = meeting.players[1 - own]
    if meeting.is_open:
        result = MeetingResult.OPEN
    elif meeting.winner is not None:
        result = MeetingResult.WON if meeting.winner == who else MeetingResult.LOST
    else:
        # In a Swiss round a meeting that the arena could not play brings half of the matches to each.
        is_shared = kind == StageKind.SWISS or meeting.decision is Decision.PLAYED
        result = MeetingResult.DRAWN if is_shared else MeetingResult.NONE
    rival = None if opponent is None else drawn.participants.get(opponent)
    return SeenMeeting(meeting, rival, own == 0, (meeting.points[own], meeting.points[1 - own]), result)


def cross_table(drawn: Drawn, stage: Stage) -> tuple[CrossRow, ...]:
    """All participants of a stage against each other, both ways in the order of its table."""
    assert stage.table is not None
    lines = drawn.lines(stage.table)
    if len(lines) > MOST_CROSSED:
        return tuple(CrossRow(line, ()) for line in lines)
    met: dict[tuple[int, int], list[SeenMeeting]] = {}
    for meeting in stage.meetings:
        one, other = meeting.players
        if one is not None and other is not None:
            for who, opponent in ((one, other), (other, one)):
                met.setdefault((who, opponent), []).append(seen(drawn, meeting, who, stage.kind))
    who_is = [line.row.participant for line in lines]
    return tuple(
        CrossRow(line, tuple(None if who == own else tuple(met.get((own, who), ())) for who in who_is))
        for line, own in zip(lines, who_is, strict=True)
    )


def swiss_rows(drawn: Drawn, stage: Stage, lines: Sequence[TableRow]) -> tuple[SwissRow, ...]:
    """The rounds of the participants of some lines of the table."""
    rounds = [
        {
            who: seen(drawn, meeting, who, stage.kind)
            for meeting in meetings
            for who in meeting.players
            if who is not None
        }
        for meetings in stage.rounds
    ]
    return tuple(SwissRow(line, tuple(views.get(line.row.participant) for views in rounds)) for line in lines)


def round_names(drawn: Drawn) -> dict[int, str]:
    """Return the stage that participants reach who go out in a round, by round: e.g. `Semi-final`, `Round 3`, `Group
    stage`."""
    names: dict[int, str] = {}
    for stage in drawn.outline.stages:
        counts = _slot_counts(stage) if stage.key == "knock-out" else [0] * len(stage.rounds)
        for count, meetings in zip(counts, stage.rounds, strict=True):
            # A final comes before the meeting for third place in the same round.
            for number in {meeting.round for meeting in meetings}:
                names.setdefault(number, _reached(stage, count, number))
    return names


def _reached(stage: Stage, count: int, number: int) -> str:
    if stage.kind is StageKind.ALL_PLAY_ALL:
        return GROUP_STAGE
    return stage.name if stage.key == "final" else _round_name(stage, count, number).removesuffix("s")


def cell_words(column: str, value: float, rounds: Mapping[int, str], *, is_over: bool) -> str:
    """A figure of a table in words: participants who are not out have reached one round more than the bracket has.

    rounds: the names of all rounds by number.
    """
    if column == REACHED:
        return rounds.get(int(value), "Winner" if is_over else "Still playing")
    if column == "Third place":
        return "won" if value else "–"
    return f"{value:.2f}".rstrip("0").rstrip(".").replace("-", "−")


def last_round(drawn: Drawn) -> int:
    """The last round of all stages, 0 before there is any."""
    return max((meeting.round for meeting in drawn.outline.meetings), default=0)
