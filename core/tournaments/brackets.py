"""How an organisers' tournament stands: what its format has written down, with the participants filled in.

The plan is rows, see `core.models.plan`; tournament_manager has them written after every step, and they are read here
and nowhere else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import groupby
from typing import Any

from arena_kit.ranking.meetings import Decision, Source, StageKind
from core.models import JobState, LedgerVoid, Participant, Plan, Tournament, TournamentState
from core.tournaments.plan_selectors import plan_drawing

_SHOWN = (
    "tournament",
    "submission",
    "seeding",
    "withdrawn_at",
    "submission__public_id",
    "submission__number",
    *(f"submission__agent__{name}" for name in ("name", "is_disabled", "quarantined_at")),
    *(f"submission__agent__owner__{name}" for name in ("username", "team", "is_active")),
)


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two of a meeting.

    participant: None for somebody who is not known yet, or for nobody in a bye. points, score: of all matches of the
    meeting so far.
    """

    participant: Participant | None
    source: Source | None
    points: int
    score: float
    is_winner: bool


@dataclass(frozen=True, slots=True)
class OpenDuel:
    """How far a duel is that has not ended."""

    id: int
    is_running: bool
    matches_done: int
    match_count: int


@dataclass(frozen=True, slots=True)
class Meeting:
    """Two participants in a round, with all duels between them there, or one who rests.

    key: its name within the tournament. number: its place in the round, from 1. duels: ids, those that count.
    decision: a sentence, empty while it is open. open_duel: the one that is being played or waits.
    """

    key: str
    number: int
    round: int
    sides: tuple[Side, Side]
    duels: tuple[int, ...]
    decision: str
    open_duel: OpenDuel | None = None

    @property
    def is_open(self) -> bool:
        return not self.decision

    @property
    def is_awaited(self) -> bool:
        """Whether it is not known yet who meets."""
        return self.is_open and any(side.participant is None for side in self.sides)

    @property
    def is_bye(self) -> bool:
        return bool(self.decision) and self.sides[1].participant is None

    @property
    def is_off(self) -> bool:
        """Whether it does not take place, for what came before it."""
        return self.decision == Decision.NOT_NEEDED.value

    @property
    def last_duel(self) -> int | None:
        return self.duels[-1] if self.duels else None

    @property
    def remark(self) -> str:
        """The decision where there is more to say than that it was played."""
        return "" if self.decision == Decision.PLAYED.value else self.decision

    @property
    def has_score(self) -> bool:
        return any(side.points for side in self.sides)

    @property
    def is_level(self) -> bool:
        """Whether the points alone do not tell who is ahead."""
        return self.has_score and self.sides[0].points == self.sides[1].points


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a table. values: in the order of its columns. notes: sentences."""

    participant: Participant
    rank: int
    values: tuple[float, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows from the best to the worst; ties share ranks: 1, 1, 3. columns: the first one ranks, the next break ties."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Stage:
    """A part of a tournament that is drawn as one thing: a group, a bracket. rounds: of meetings, in their order."""

    key: str
    name: str
    kind: StageKind
    rounds: tuple[tuple[Meeting, ...], ...]
    table: Table | None


@dataclass(frozen=True, slots=True)
class Struck:
    """Duels of a round that were taken out of the ledger for one reason, and played again where they are needed."""

    round: int
    reason: str
    duel_ids: tuple[int, ...]

    @property
    def duel_count(self) -> int:
        return len(self.duel_ids)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A tournament as a page draws it. round: the earliest with something to play, None when it is over."""

    stages: tuple[Stage, ...]
    table: Table
    notes: tuple[str, ...]
    round: int | None
    struck: tuple[Struck, ...] = ()


def bracket_get(tournament: Tournament) -> Drawn | None:
    """The stages and tables of a tournament; None before its first round is planned. Eight queries at most."""
    drawing = plan_drawing(tournament)
    if drawing is None:
        return None
    rows = tournament.participants.select_related("submission__agent__owner").only(*_SHOWN)
    return drawn_of(
        drawing,
        {row.submission_id: row for row in rows},
        _open_duels(tournament) if tournament.state == TournamentState.RUNNING else {},
        _struck(tournament),
    )


def drawn_of(
    standing: dict[str, Any],
    participants: Mapping[int, Participant],
    open_duels: Mapping[int, OpenDuel],
    struck: tuple[Struck, ...] = (),
) -> Drawn:
    """Plain values with the rows that they name. participants: by submission. open_duels: by id."""
    reader = _Reader(participants, open_duels)
    return Drawn(
        stages=tuple(reader.stage(stage) for stage in standing["stages"]),
        table=reader.table(standing["table"]),
        notes=tuple(standing["notes"]),
        round=standing["round"],
        struck=struck,
    )


def standing_stamp(tournament: Tournament) -> str:
    """Another text whenever the drawing of a tournament is another: a page need not be made anew to know."""
    duels = [(duel.id, duel.is_running, duel.matches_done) for duel in _open_duels(tournament).values()]
    version = Plan.objects.filter(tournament=tournament).values_list("version", flat=True).first()
    drawn = [tournament.state, tournament.results, version, duels]
    return sha256(json.dumps(drawn).encode()).hexdigest()[:16]


def _open_duels(tournament: Tournament) -> dict[int, OpenDuel]:
    found = tournament.duels.filter(state__in=[JobState.QUEUED, JobState.RUNNING]).order_by("pk")
    return {
        pk: OpenDuel(pk, state == JobState.RUNNING, done, count)
        for pk, state, done, count in found.values_list("pk", "state", "matches_done", "match_count")
    }


def _struck(tournament: Tournament) -> tuple[Struck, ...]:
    voids = LedgerVoid.objects.filter(duel__tournament=tournament)
    found = voids.order_by("duel__round", "reason", "duel").values_list("duel__round", "reason", "duel")
    return tuple(
        Struck(number, reason, tuple(duel for *_, duel in group))
        for (number, reason), group in groupby(found, key=lambda row: row[:2])
    )


class _Reader:
    """Reads plain values, with the rows that they name at hand."""

    def __init__(self, participants: Mapping[int, Participant], open_duels: Mapping[int, OpenDuel]) -> None:
        self._participants = participants
        self._open_duels = open_duels

    def stage(self, given: dict[str, Any]) -> Stage:
        return Stage(
            key=given["key"],
            name=given["name"],
            kind=StageKind(given["kind"]),
            rounds=tuple(tuple(self._meeting(meeting) for meeting in meetings) for meetings in given["rounds"]),
            table=None if given["table"] is None else self.table(given["table"]),
        )

    def table(self, given: dict[str, Any]) -> Table:
        # A row of the arena may be deleted by hand; then its line is left out.
        return Table(
            tuple(given["columns"]),
            tuple(
                Row(self._participants[row["participant"]], row["rank"], tuple(row["values"]), tuple(row["notes"]))
                for row in given["rows"]
                if row["participant"] in self._participants
            ),
        )

    def _meeting(self, given: dict[str, Any]) -> Meeting:
        one, other = (
            Side(
                participant=None if player is None else self._participants.get(player),
                source=None if source is None else Source(source["kind"], source["of"]),
                points=points,
                score=score,
                is_winner=player is not None and player == given["winner"],
            )
            for player, source, points, score in zip(
                given["players"], given["sources"], given["points"], given["scores"], strict=True
            )
        )
        return Meeting(
            key=given["key"],
            number=given["number"],
            round=given["round"],
            sides=(one, other),
            duels=tuple(given["duels"]),
            decision=given["decision"] or "",
            open_duel=next((self._open_duels[duel] for duel in given["duels"] if duel in self._open_duels), None),
        )
