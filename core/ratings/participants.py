"""Writes figures of participants: their places, and their ratings at the end of an edition."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from core.models import Participant

BATCH_SIZE = 500


def participants_write(*, participants: Sequence[Participant], fields: Sequence[str]) -> None:
    """Write these fields of participants, locking their rows in the order of their keys, as withdrawals do."""
    if not participants:
        return
    rows = Participant.objects.filter(pk__in=[row.pk for row in participants]).order_by("pk")
    with transaction.atomic():
        # One UPDATE of many rows would lock them in any order.
        list(rows.select_for_update(no_key=True).values_list("pk"))
        Participant.objects.bulk_update(participants, fields, batch_size=BATCH_SIZE)
