"""How an organisers' tournament stands: the plan of its format, with the rows of participants and open duels."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import groupby

from arena_kit.ranking.formats import Meeting, Outline, Row, Source, Table
from core.jobs.states import OPEN
from core.models import JobState, LedgerVoid, Participant, Plan, Tournament, TournamentState
from core.tournaments.plan_selectors import plan_outline

_SHOWN = (
    "tournament",
    "submission",
    "seeding",
    "is_baseline",
    "score",
    "withdrawn_at",
    "disqualified_because",
    "submission__public_id",
    "submission__number",
    "submission__rating__value",
    *(f"submission__agent__{name}" for name in ("name", "is_disabled", "quarantined_at")),
    *(f"submission__agent__owner__{name}" for name in ("username", "team", "is_active")),
)


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two sides of a meeting.

    participant: None while the player is not known, and for the missing opponent of a bye. points, score: of all
    matches of the meeting so far.
    """

    participant: Participant | None
    source: Source | None
    points: int
    score: float
    is_winner: bool


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a table with its participant."""

    row: Row
    participant: Participant

    @property
    def shown_rank(self) -> int | None:
        return self.row.rank if self.participant.is_ranked else None

    @property
    def notes(self) -> Sequence[str]:
        because = self.participant.disqualified_because
        return [f"Disqualified: {because}"] if because else self.row.notes


@dataclass(frozen=True, slots=True)
class OpenDuel:
    """The progress of a duel that has not ended."""

    id: int
    is_running: bool
    matches_done: int
    match_count: int


@dataclass(frozen=True, slots=True)
class StruckRound:
    """Duels of a round that were struck from the ledger for the same reason; those still needed are played again."""

    round: int
    reason: str
    duel_ids: tuple[int, ...]

    @property
    def duel_count(self) -> int:
        return len(self.duel_ids)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A tournament as a page draws it.

    round: the earliest with something to play, None when the tournament is over. participants: by submission.
    open_duels: by id.
    """

    outline: Outline
    round: int | None
    participants: Mapping[int, Participant]
    open_duels: Mapping[int, OpenDuel]
    struck: tuple[StruckRound, ...] = ()

    def lines(self, table: Table) -> list[TableRow]:
        """The rows of a table, without those of participants that were deleted by hand."""
        known = self.participants
        return [TableRow(row, known[row.participant]) for row in table.rows if row.participant in known]

    def sides(self, meeting: Meeting) -> tuple[Side, Side]:
        one, other = (
            Side(
                None if player is None else self.participants.get(player),
                meeting.sources[side],
                meeting.points[side],
                meeting.scores[side],
                player is not None and player == meeting.winner,
            )
            for side, player in enumerate(meeting.players)
        )
        return one, other

    def open_duel(self, meeting: Meeting) -> OpenDuel | None:
        """The duel of a meeting that is being played or waits."""
        return next((self.open_duels[key] for key in meeting.duel_keys if key in self.open_duels), None)


def bracket_get(tournament: Tournament, outline: Outline | None = None) -> Drawn | None:
    """The stages and tables of a tournament; None before its first round is planned. Eight queries at most.

    outline: in place of that of its plan.
    """
    plan = Plan.objects.filter(tournament=tournament).select_related("tournament").first()
    if plan is None:
        return None
    rows = tournament.participants.select_related("submission__agent__owner", "submission__rating").only(*_SHOWN)
    return Drawn(
        outline=plan_outline(plan) if outline is None else outline,
        round=plan.round,
        participants={row.submission_id: row for row in rows},
        open_duels=_open_duels(tournament) if tournament.state == TournamentState.RUNNING else {},
        struck=_struck(tournament),
    )


def plan_version(tournament: Tournament) -> int | None:
    """Return the version of a tournament's plan, which every result and everyone who leaves changes; None without."""
    return Plan.objects.filter(tournament=tournament).values_list("version", flat=True).first()


def standing_stamp(tournament: Tournament, rounds: int | None = None) -> str:
    """A text that changes whenever the drawing of a tournament does, so that an unchanged page need not be rendered.

    rounds: the last round that is drawn, if results of later ones are withheld: these change nothing.
    """
    if rounds is not None:
        return f"{tournament.state} {tournament.results} {rounds}"
    duels = [(duel.id, duel.is_running, duel.matches_done) for duel in _open_duels(tournament).values()]
    is_halted = tournament.paused_at is not None or not tournament.environment.is_active
    drawn = [tournament.state, tournament.results, is_halted, plan_version(tournament), duels]
    return sha256(json.dumps(drawn).encode()).hexdigest()[:16]


def _open_duels(tournament: Tournament) -> dict[int, OpenDuel]:
    found = tournament.duels.filter(state__in=OPEN).order_by("pk")
    return {
        pk: OpenDuel(pk, state == JobState.RUNNING, done, count)
        for pk, state, done, count in found.values_list("pk", "state", "matches_done", "match_count")
    }


def _struck(tournament: Tournament) -> tuple[StruckRound, ...]:
    voids = LedgerVoid.objects.filter(duel__tournament=tournament)
    found = voids.order_by("duel__round", "reason", "duel").values_list("duel__round", "reason", "duel")
    return tuple(
        StruckRound(number, reason, tuple(duel for *_, duel in group))
        for (number, reason), group in groupby(found, key=lambda row: row[:2])
    )
