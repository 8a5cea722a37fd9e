"""Changes of the ledger: each raises the version of its environment, in the transaction that makes the change."""

from __future__ import annotations

from django.db import connection, transaction

from core.jobs.bells import TOURNAMENT_TASK, wake
from core.models import Duel, Ledger, LedgerChange, Tournament

_RAISE = """
WITH before AS (
    SELECT environment_id, is_asked FROM core_ledger WHERE environment_id = %s FOR NO KEY UPDATE
), raised AS (
    UPDATE core_ledger SET version = version + 1, is_asked = true FROM before
    WHERE core_ledger.environment_id = before.environment_id
    RETURNING core_ledger.version, before.is_asked
), written AS (
    INSERT INTO core_ledgerchange (environment_id, version, kind, tournament_id, duel_id)
    SELECT %s, version, %s, %s, %s FROM raised
)
SELECT version, is_asked FROM raised
"""


def ledger_change(
    *, environment_id: int, kind: LedgerChange.Kind, tournament: Tournament | None = None, duel: Duel | None = None
) -> int:
    """Note that an environment's ledger has changed, and have what follows from it refreshed; return the version.

    tournament: the only one that is concerned. duel: whose result came in. Call it within the transaction of the change
    and last of all: the version is held to the end of it, and who holds one must wait for no other row.
    """
    values = (kind, None if tournament is None else tournament.pk, None if duel is None else duel.pk)
    raised = _raise_at_once if connection.vendor == "postgresql" else _raise
    with transaction.atomic():
        found = raised(environment_id, values)
        if found is None:
            # Its first change.
            Ledger.objects.bulk_create([Ledger(environment_id=environment_id)], ignore_conflicts=True)
            found = raised(environment_id, values)
        assert found is not None
        version, was_asked = found
        if not was_asked:
            wake("tournament", TOURNAMENT_TASK, environment_id)
    return version


Values = tuple[str, int | None, int | None]
"""Kind, tournament and duel of a change."""


def _raise(environment_id: int, values: Values) -> tuple[int, bool] | None:
    """Raise the version and write the change; return the version, and whether a message was under way already.

    None where there is no version yet.
    """
    ledger = Ledger.objects.select_for_update(no_key=True).filter(environment=environment_id).first()
    if ledger is None:
        return None
    kind, tournament, duel = values
    version = ledger.version + 1
    Ledger.objects.filter(environment=environment_id).update(version=version, is_asked=True)
    LedgerChange.objects.create(
        environment_id=environment_id, version=version, kind=kind, tournament_id=tournament, duel_id=duel
    )
    return version, ledger.is_asked


def _raise_at_once(environment_id: int, values: Values) -> tuple[int, bool] | None:
    """As `_raise`, in one statement: between it and the commit all other results of the environment wait."""
    with connection.cursor() as cursor:
        cursor.execute(_RAISE, [environment_id, environment_id, *values])
        found: tuple[int, bool] | None = cursor.fetchone()
    return found


def refresh_begin(*, environment_id: int) -> int:
    """The version that a refresh which begins now is to reach; a change from here on asks for another refresh."""
    Ledger.objects.filter(environment=environment_id, is_asked=True).update(is_asked=False)
    return ledger_version(environment_id)


def ledger_version(environment_id: int) -> int:
    """The version of an environment's ledger, 0 before its first change."""
    found: int | None = Ledger.objects.filter(environment=environment_id).values_list("version", flat=True).first()
    return found or 0
