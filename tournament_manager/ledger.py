"""Reads the ledger and writes what follows from it: standings and ratings."""

from __future__ import annotations

from django.db import transaction
from django.db.models import QuerySet

from core.models import Environment, LedgerEntry, Participant, Rating, Tournament
from tournament_manager.rating import rate
from tournament_manager.standings import Entry, duel_results, standings


def entries(rows: QuerySet[LedgerEntry]) -> list[Entry]:
    """Ledger rows that count: those of duels that were not struck."""
    columns = ("duel_id", "submission_id", "opponent_id", "wins", "draws", "opponent_errors", "score")
    return [Entry(*row) for row in rows.filter(duel__void__isnull=True).order_by("duel_id").values_list(*columns)]


def standings_refresh(tournament: Tournament) -> None:
    """Recompute the table of an edition and write what has changed."""
    participants = {row.submission_id: row for row in tournament.participants.all()}
    results = duel_results(entries(LedgerEntry.objects.filter(duel__tournament=tournament)))
    changed = []
    for standing in standings(participants, results):
        row = participants[standing.submission]
        fresh = {
            "rank": standing.rank,
            "points": standing.points,
            "wins": standing.wins,
            "draws": standing.draws,
            "losses": standing.losses,
            "total_score": standing.total_score,
        }
        if any(getattr(row, name) != value for name, value in fresh.items()):
            for name, value in fresh.items():
                setattr(row, name, value)
            changed.append(row)
    Participant.objects.bulk_update(
        changed, ["rank", "points", "wins", "draws", "losses", "total_score"], batch_size=500
    )


def ratings_refresh(environment: Environment) -> None:
    """Recompute all ratings of an environment from its whole ledger."""
    rows = LedgerEntry.objects.filter(duel__tournament__environment=environment)
    estimates = rate(duel_results(entries(rows)))
    with transaction.atomic():
        old = Rating.objects.filter(submission__agent__environment=environment)
        old.exclude(submission_id__in=estimates).delete()
        Rating.objects.bulk_create(
            [
                Rating(submission_id=submission, value=estimate.value, duel_count=estimate.duel_count)
                for submission, estimate in estimates.items()
            ],
            update_conflicts=True,
            unique_fields=["submission"],
            update_fields=["value", "duel_count", "updated_at"],
            batch_size=500,
        )


def ratings_keep(tournament: Tournament) -> None:
    """Write down how the ratings stood when an edition ended."""
    values = dict(
        Rating.objects.filter(submission__participations__tournament=tournament).values_list("submission_id", "value")
    )
    participants = list(tournament.participants.all())
    for row in participants:
        row.rating = values.get(row.submission_id)
    Participant.objects.bulk_update(participants, ["rating"], batch_size=500)
