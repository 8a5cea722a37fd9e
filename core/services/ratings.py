"""Ratings: what was computed of the ledger is written down here."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from core.models import Environment, Participant, Rating, Tournament

BATCH_SIZE = 500


def ratings_replace(*, environment: Environment, ratings: Sequence[Rating]) -> None:
    """Make `ratings` (rows that are not saved yet) all the ratings of an environment."""
    rated = [rating.submission_id for rating in ratings]
    with transaction.atomic():
        Rating.objects.filter(submission__agent__environment=environment).exclude(submission_id__in=rated).delete()
        Rating.objects.bulk_create(
            ratings,
            update_conflicts=True,
            unique_fields=["submission"],
            update_fields=["value", "duel_count", "updated_at"],
            batch_size=BATCH_SIZE,
        )


def ratings_keep(*, tournament: Tournament) -> None:
    """Write down beside its participants how the ratings stand at the end of an edition."""
    values = dict(
        Rating.objects.filter(submission__participations__tournament=tournament).values_list("submission_id", "value")
    )
    participants = list(tournament.participants.all())
    for row in participants:
        row.rating = values.get(row.submission_id)
    Participant.objects.bulk_update(participants, ["rating"], batch_size=BATCH_SIZE)
