"""Reads the rows of an organisers' tournament's plan as what its format has worked out."""

from __future__ import annotations

from collections import defaultdict

from arena_kit.ranking.formats import (
    CountedDuel,
    Decision,
    DuelState,
    Meeting,
    Outline,
    Row,
    Source,
    Stage,
    StageKind,
    Table,
)
from core.models import JobState, Plan, PlanMeeting, PlanRow, Tournament
from core.tournaments.rounds import counting

DUEL_STATES = {
    JobState.QUEUED: DuelState.OPEN,
    JobState.RUNNING: DuelState.OPEN,
    JobState.SUCCEEDED: DuelState.PLAYED,
    JobState.FAILED: DuelState.VOID,
}
PLAYER_COLUMNS = ("", "_wins", "_errors", "_score")
DUEL_COLUMNS = (
    "tournament",
    "round",
    "state",
    "draws",
    *(f"player_{side}{of}" for side in "12" for of in PLAYER_COLUMNS),
)
Duels = dict[tuple[int, frozenset[int | None]], list[CountedDuel]]
"""Duels by round and pair."""


def plan_outline(plan: Plan) -> Outline:
    """How a tournament stands by its plan, with the duels that count now. Four queries, with `tournament` at hand."""
    rows: dict[int | None, list[Row]] = defaultdict(list)
    for row in PlanRow.objects.filter(plan=plan).order_by("stage", "place"):
        rows[row.stage_id].append(Row(row.submission_id, row.rank, tuple(row.values), tuple(row.notes)))
    duels = _duels(plan.tournament)
    rounds: dict[int, dict[int, list[Meeting]]] = defaultdict(lambda: defaultdict(list))
    for meeting in PlanMeeting.objects.filter(stage__plan=plan).order_by("stage", "column", "place"):
        rounds[meeting.stage_id][meeting.column].append(_meeting(meeting, duels))
    stages = [
        Stage(
            stage.key,
            stage.name,
            StageKind(stage.kind),
            tuple(tuple(some) for _, some in sorted(rounds[stage.pk].items())),
            None if stage.columns is None else Table(tuple(stage.columns), tuple(rows[stage.pk])),
        )
        for stage in plan.stages.order_by("place")
    ]
    return Outline(tuple(stages), Table(tuple(plan.columns), tuple(rows[None])), tuple(plan.notes))


def _duels(tournament: Tournament) -> Duels:
    """The duels that count, by round and pair, in the order of their numbers."""
    found: Duels = defaultdict(list)
    for duel in counting(tournament).order_by("number").only(*DUEL_COLUMNS):
        won = duel.player_1_wins + duel.player_2_errors, duel.player_2_wins + duel.player_1_errors
        record = CountedDuel(
            duel.pk,
            duel.round,
            (duel.player_1_id, duel.player_2_id),
            DUEL_STATES[JobState(duel.state)],
            (2 * won[0] + duel.draws, 2 * won[1] + duel.draws),
            (duel.player_1_score, duel.player_2_score),
        )
        found[record.round, frozenset(record.players)].append(record)
    return found


def _meeting(row: PlanMeeting, duels: Duels) -> Meeting:
    players = row.side_1_id, row.side_2_id
    return Meeting(
        key=row.key,
        number=row.number,
        round=row.round,
        players=players,
        sources=(_source(row.source_1), _source(row.source_2)),
        duels=tuple(duels.get((row.round, frozenset(players)), ())),
        decision=Decision[row.decision] if row.decision else None,
        winner=None if row.winner is None else players[row.winner - 1],
        points=(row.points_1, row.points_2),
        scores=(row.score_1, row.score_2),
    )


def _source(text: str) -> Source | None:
    kind, _, of = text.partition(" ")
    return Source(kind, of) if text else None
