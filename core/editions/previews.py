"""Computes what a decision of organisers would change in the table of a tournament, before they make it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from arena_kit.ranking.formats import Plan
from core.editions.progress import history_of
from core.models import Duel, Participant, Tournament, ranked
from core.tournaments.rounds import counting, last_round
from core.tournaments.rules import format_of


@dataclass(frozen=True, slots=True)
class Moved:
    """A participant whose rank changes. after: None for one that leaves the table."""

    participant: Participant
    before: int
    after: int | None


@dataclass(frozen=True, slots=True)
class Voided:
    """The result of voiding duels. others: how many more fall, because they depended on them. moved: until all are
    played again."""

    others: int
    moved: list[Moved]


def disqualification_preview(participant: Participant) -> list[Moved]:
    """Return whose rank changes if a participant is taken out of the table of a tournament now, by their new ranks."""
    tournament = participant.tournament
    history = history_of(tournament)
    left = {**history.left, participant.submission_id: last_round(tournament)}
    return _moved(tournament, format_of(tournament).plan(replace(history, left=left)), out=participant.pk)


def duel_void_preview(duel: Duel) -> Voided:
    """Return what follows if a duel of an organisers' tournament is void, with the later ones of its meeting."""
    tournament = duel.its_tournament
    players = (duel.player_1_id, duel.player_2_id)
    meeting = counting(tournament).filter(
        round=duel.round, player_1__in=players, player_2__in=players, number__gte=duel.number
    )
    return _voided(tournament, set(meeting.values_list("pk", flat=True)) | {duel.pk})


def rounds_void_preview(tournament: Tournament) -> dict[int, tuple[int, int]]:
    """Return by round how many duels it has, and how many others fall if it is void."""
    found: dict[int, set[int]] = {}
    for number, key in counting(tournament).order_by("round").values_list("round", "pk"):
        found.setdefault(number, set()).add(key)
    return {number: (len(keys), _voided(tournament, keys).others) for number, keys in found.items()}


def _voided(tournament: Tournament, keys: Collection[int]) -> Voided:
    history, form, fallen = history_of(tournament), format_of(tournament), set(keys)
    while True:
        kept = tuple(duel for duel in history.duels if duel.key not in fallen)
        plan = form.plan(replace(history, duels=kept))
        if not plan.stale:
            return Voided(len(fallen - set(keys)), _moved(tournament, plan))
        fallen |= {duel.key for duel in plan.stale}


def _moved(tournament: Tournament, plan: Plan, *, out: int = 0) -> list[Moved]:
    """Return whose rank a plan changes, by their new ranks. out: the participant that leaves the table."""
    after = {row.participant: row.rank for row in plan.table.rows}
    rows = tournament.participants.filter(ranked()).select_related("submission__agent")
    moved = [
        Moved(row, row.rank, None if row.pk == out else after[row.submission_id]) for row in rows.order_by("rank", "pk")
    ]
    return sorted((one for one in moved if one.before != one.after), key=lambda one: one.after or 0)
