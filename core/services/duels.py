"""Duels: their results enter the ledger exactly once."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import asdict

from django.db import transaction

from core.errors import Refused
from core.metrics import matches_played
from core.models import Duel, JobState, LedgerEntry, LedgerVoid, Tournament, TournamentState, User
from core.queues import TOURNAMENT_TASK, wake
from core.services.artifacts import DuelArtifacts
from core.services.jobs import job_enqueue, job_succeed, written_once
from environments.records import DuelRecord, DuelSummary, MatchRecord, summarise

STANDINGS_SECONDS = 1.0
"""A worker asks at most this often for fresh standings of a running edition."""
_told_at: dict[int, float] = {}
"""By edition: when this process has asked last."""


@written_once
def duel_succeed(*, duel: Duel, record: DuelRecord, artifacts: DuelArtifacts, log: str) -> None:
    """Write a duel's result, artifacts, ledger entries and state together.

    Raises StaleJob when the claim was lost: then nothing is written.
    """
    with transaction.atomic():
        job_succeed(job=duel, log=log, **result_fields(record.summary), **asdict(artifacts))
        LedgerEntry.objects.bulk_create(ledger_entries(duel, record))
        matches_played(
            kind=duel.KIND,
            env_id=duel.player_1.agent.environment.env_id,
            matches=len(record.matches),
            moves=sum(sum(match.move_counts) for match in record.matches),
        )
        # Robust: the result stands, whatever becomes of the message.
        transaction.on_commit(lambda: _tell_tournament(duel.tournament), robust=True)


def _tell_tournament(tournament: Tournament) -> None:
    """Have the standings refreshed, and the edition ended after its last duel: not for every one of many quick duels.

    Called after the commit, so that of two last duels at least one sees that it was the last.
    """
    now = time.monotonic()
    is_recent = now - _told_at.get(tournament.pk, -math.inf) < STANDINGS_SECONDS
    if is_recent and tournament.duels.filter(state__in=(JobState.QUEUED, JobState.RUNNING)).exists():
        return
    _told_at[tournament.pk] = now
    wake("tournament", TOURNAMENT_TASK, tournament.environment_id)


def duel_void(*, duel: Duel, reason: str, user: User | None) -> None:
    """Strike a played duel from standings and ratings. Its entries and records stay as they are."""
    with transaction.atomic():
        LedgerVoid.objects.get_or_create(duel=duel, defaults={"reason": reason[:200], "created_by": user})
        wake("tournament", TOURNAMENT_TASK, duel.tournament.environment_id)


def duel_play_again(*, duel: Duel) -> Duel:
    """Play the pair of a void duel anew, as another duel of the same edition; the void one stays as it is.

    Raises Refused when it is not void, cannot be played, or its pair has another duel that counts or may yet.
    """
    if not duel.is_void:
        raise Refused("It is not void: only a duel that counts for nobody can be played again.")
    if any(player.deleted_at is not None or not player.image for player in (duel.player_1, duel.player_2)):
        raise Refused("One of its players has been deleted or has no image.")
    with transaction.atomic():
        tournament = Tournament.objects.select_for_update().get(pk=duel.tournament_id)
        if tournament.state == TournamentState.CANCELLED:
            raise Refused("Its edition was cancelled.")
        if (
            tournament.participants.filter(submission__in=(duel.player_1, duel.player_2))
            .exclude(withdrawn_at=None)
            .exists()
        ):
            raise Refused("One of its players was taken out of the edition.")
        duels = tournament.duels.select_related("void").order_by("number")
        pair = {duel.player_1_id, duel.player_2_id}
        if any({other.player_1_id, other.player_2_id} == pair and not other.is_void for other in duels):
            raise Refused("It has been played again already, or is about to be.")
        again = Duel.objects.create(
            tournament=tournament,
            number=max(other.number for other in duels) + 1,
            round=duel.round,
            player_1=duel.player_1,
            player_2=duel.player_2,
            # Not those of today: an edition is played with one version of the rules.
            environment_version=duel.environment_version,
            seed=duel.seed,
            match_count=duel.match_count,
        )
        job_enqueue(job=again)
    return again


def result_fields(summary: DuelSummary) -> dict[str, object]:
    """The fields of a duel's row that follow from its record."""
    return {
        "outcome": summary.outcome.value,
        "player_1_wins": summary.wins[0],
        "player_2_wins": summary.wins[1],
        "player_1_errors": summary.errors[0],
        "player_2_errors": summary.errors[1],
        "draws": summary.draws,
        "player_1_score": summary.scores[0],
        "player_2_score": summary.scores[1],
    }


def ledger_entries(duel: Duel, record: DuelRecord) -> Iterator[LedgerEntry]:
    """One entry per player and seat that it sat in."""
    submissions = (duel.player_1, duel.player_2)
    by_seats: dict[tuple[int, ...], list[MatchRecord]] = {}
    for match in record.matches:
        by_seats.setdefault(match.seats, []).append(match)
    summaries = {(player, seats.index(player)): summarise(by_seats[seats]) for seats in by_seats for player in (0, 1)}
    for (player, seat), summary in sorted(summaries.items(), key=lambda item: item[0]):
        rival = 1 - player
        yield LedgerEntry(
            duel=duel,
            submission=submissions[player],
            opponent=submissions[rival],
            seat=seat,
            wins=summary.wins[player],
            losses=summary.wins[rival],
            draws=summary.draws,
            errors=summary.errors[player],
            opponent_errors=summary.errors[rival],
            score=summary.scores[player],
        )
