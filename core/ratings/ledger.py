"""Changes of the ledger: each raises the version of its environment, in the transaction that makes the change."""

from __future__ import annotations

from django.db import transaction

from core.jobs.bells import TOURNAMENT_TASK, wake
from core.models import Duel, Ledger, LedgerChange, Tournament


def ledger_change(
    *, environment_id: int, kind: LedgerChange.Kind, tournament: Tournament | None = None, duel: Duel | None = None
) -> int:
    """Note that an environment's ledger has changed, and have what follows from it refreshed; return the version.

    tournament: the only one that is concerned. duel: whose result came in. Call it within the transaction of the change
    and last of all: the version is held to the end of it, and who holds one must wait for no other row.
    """
    with transaction.atomic():
        rows = Ledger.objects.select_for_update(no_key=True)
        ledger = rows.filter(environment=environment_id).first()
        if ledger is None:
            Ledger.objects.bulk_create([Ledger(environment_id=environment_id)], ignore_conflicts=True)
            ledger = rows.get(environment=environment_id)
        version = ledger.version + 1
        Ledger.objects.filter(environment=environment_id).update(version=version, is_asked=True)
        LedgerChange.objects.create(
            environment_id=environment_id, version=version, kind=kind, tournament=tournament, duel=duel
        )
        if not ledger.is_asked:
            wake("tournament", TOURNAMENT_TASK, environment_id)
    return version


def refresh_begin(*, environment_id: int) -> int:
    """The version that a refresh which begins now is to reach; a change from here on asks for another refresh."""
    Ledger.objects.filter(environment=environment_id, is_asked=True).update(is_asked=False)
    return ledger_version(environment_id)


def ledger_version(environment_id: int) -> int:
    """The version of an environment's ledger, 0 before its first change."""
    found: int | None = Ledger.objects.filter(environment=environment_id).values_list("version", flat=True).first()
    return found or 0
