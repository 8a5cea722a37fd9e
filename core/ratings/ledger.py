"""Changes of the ledger: each raises the ledger's version, in the transaction that makes the change."""

from __future__ import annotations

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, QuerySet

from core.jobs.messages import TOURNAMENT_TASK, task_request
from core.models import Duel, Ledger, LedgerChange, LedgerEntry, Tournament

_RAISE = """
WITH raised AS (
    UPDATE core_ledger SET version = version + 1 WHERE environment_id = %s RETURNING version
), written AS (
    INSERT INTO core_ledgerchange (environment_id, version, kind, tournament_id, duel_id)
    SELECT %s, version, %s, %s, %s FROM raised
)
SELECT version FROM raised
"""


ADOPTED_AT_ONCE = 1_000
"""The rows of one statement that adopts results."""


def ledger_change(
    *, environment_id: int, kind: LedgerChange.Kind, tournament: Tournament | None = None, duel: Duel | None = None
) -> int:
    """Note a change of an environment's ledger, and wake the worker that refreshes derived data; return the version.

    tournament: the only one concerned, or None. duel: the one whose result came in. Call it last in the transaction of
    the change: it locks the version until the end, and the holder of that lock must not wait for another row.
    """
    values = (kind, None if tournament is None else tournament.pk, None if duel is None else duel.pk)
    raised = _raise_at_once if connection.vendor == "postgresql" else _raise
    with transaction.atomic():
        version = raised(environment_id, values)
        if version is None:
            # This is the first change of this ledger.
            Ledger.objects.bulk_create([Ledger(environment_id=environment_id)], ignore_conflicts=True)
            version = raised(environment_id, values)
        assert version is not None
        task_request("tournament", TOURNAMENT_TASK, environment_id)
    return version


Values = tuple[str, int | None, int | None]
"""Kind, tournament and duel of a change."""


def _raise(environment_id: int, values: Values) -> int | None:
    """Raise the version and write the change; return the version, or None without a ledger row."""
    ledger = Ledger.objects.select_for_update(no_key=True).filter(environment=environment_id).first()
    if ledger is None:
        return None
    kind, tournament, duel = values
    version = ledger.version + 1
    Ledger.objects.filter(environment=environment_id).update(version=version)
    LedgerChange.objects.create(
        environment_id=environment_id, version=version, kind=kind, tournament_id=tournament, duel_id=duel
    )
    return version


def _raise_at_once(environment_id: int, values: Values) -> int | None:
    """`_raise` in one statement, because all other results of the environment wait until the commit."""
    with connection.cursor() as cursor:
        cursor.execute(_RAISE, [environment_id, environment_id, *values])
        found: tuple[int] | None = cursor.fetchone()
    return found[0] if found else None


def ledger_adopt(*, environment_id: int) -> int:
    """Give a version to every result that was inserted without one, e.g. by SQL; return how many there were.

    The arena writes a result and its version together. Until a result has a version it counts for no live rating, and a
    strike cannot tell from where on to make these anew. Results are adopted in the order of their duels.
    """
    if not _without_version(environment_id).exists():
        return 0
    with transaction.atomic():
        Ledger.objects.bulk_create([Ledger(environment_id=environment_id)], ignore_conflicts=True)
        ledger = Ledger.objects.select_for_update(no_key=True).get(environment=environment_id)
        found = _without_version(environment_id).order_by("pk").values_list("pk", "tournament_id")
        changes = [
            LedgerChange(
                environment_id=environment_id,
                version=version,
                kind=LedgerChange.Kind.RESULT,
                tournament_id=tournament,
                duel_id=duel,
            )
            for version, (duel, tournament) in enumerate(found, start=ledger.version + 1)
        ]
        LedgerChange.objects.bulk_create(changes, batch_size=ADOPTED_AT_ONCE)
        Ledger.objects.filter(environment=environment_id).update(version=ledger.version + len(changes))
        task_request("tournament", TOURNAMENT_TASK, environment_id)
    return len(changes)


def _without_version(environment_id: int) -> QuerySet[Duel]:
    has_entries = Exists(LedgerEntry.objects.filter(duel=OuterRef("pk")))
    return Duel.objects.filter(has_entries, tournament__environment=environment_id, ledger_change=None)


def ledger_version(environment_id: int) -> int:
    """The version of an environment's ledger, 0 before its first change."""
    found: int | None = Ledger.objects.filter(environment=environment_id).values_list("version", flat=True).first()
    return found or 0
