"""Reads entries of the ledger as values for the pure functions of `arena_kit.ranking`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import itemgetter

from django.db.models import F, Q, QuerySet

from arena_kit.environment.spec import BARE
from arena_kit.ranking.rating import Seating
from arena_kit.ranking.standings import DuelResult, Entry, duel_results
from core.models import Environment, LedgerEntry, Tournament
from core.ratings.pairs import COUNTED

COLUMNS = ("duel_id", "submission_id", "opponent_id", "wins", "draws", "opponent_errors", "score")
_VERSION = "duel__ledger_change__version"
_RULES = "duel__environment_version"
_MORE = ("seat", "losses", "errors", "duel__player_1", "duel__tournament", "created_at", _VERSION, _RULES)


@dataclass(frozen=True, slots=True)
class LedgerDuel:
    """A duel of the ledger. seatings: one per submission in the first seat. at: when its result came in.

    version: of the ledger when its result came in; 0 for entries without one, see `core.ratings.ledger.ledger_adopt`.
    rules: the id of those that it was played by.
    """

    result: DuelResult
    seatings: tuple[Seating, ...]
    player_1: int
    tournament: int
    at: datetime
    version: int
    rules: str


def counted(tournament: Tournament) -> QuerySet[LedgerEntry]:
    """The entries of a tournament that count for its table, i.e. without struck duels."""
    return LedgerEntry.objects.filter(duel__tournament=tournament, duel__void__isnull=True)


def rated(environment: Environment, *, at: datetime | None = None) -> QuerySet[LedgerEntry]:
    """The entries that count for ratings: of rated tournaments with public results, by today's rules.

    Withheld results would be revealed by ratings; once released they count as if they always had. at: the entries as
    of that moment, by the rules of that time, without later strikes; which tournaments count is decided as of today.
    """
    rows = LedgerEntry.objects.filter(duel__tournament__environment=environment)
    if at is None:
        return rows.filter(COUNTED, duel__environment_version__in=environment.rules_ids)
    shown = Q(duel__tournament__is_rated=True, duel__tournament__results="PUBLIC")
    rows = rows.filter(shown & (Q(duel__void__isnull=True) | Q(duel__void__created_at__gt=at)), created_at__lte=at)
    if environment.version == 1:
        return rows.filter(duel__environment_version__in=environment.rules_ids)
    known = rows.order_by().values_list("duel__environment_version", flat=True).distinct()
    newest = max((rules.removesuffix(BARE) for rules in known), key=_version, default="")
    return rows.filter(duel__environment_version__in=[newest, newest + BARE])


def _version(rules: str) -> int:
    return int(rules.rpartition("-v")[2])


def until(rows: QuerySet[LedgerEntry], version: int) -> QuerySet[LedgerEntry]:
    """The entries up to a version of the ledger; entries without a version count as older."""
    return rows.filter(Q(duel__ledger_change__isnull=True) | Q(**{f"{_VERSION}__lte": version}))


def since(rows: QuerySet[LedgerEntry], version: int) -> QuerySet[LedgerEntry]:
    """The entries after a version of the ledger, without those that have no version."""
    return rows.filter(**{f"{_VERSION}__gt": version})


def between(environment: Environment, after: int, version: int) -> QuerySet[LedgerEntry]:
    """The entries after one version of an environment's ledger, up to and including another, without struck duels."""
    return LedgerEntry.objects.filter(
        duel__void__isnull=True,
        duel__ledger_change__environment=environment,
        duel__ledger_change__version__gt=after,
        duel__ledger_change__version__lte=version,
    )


def played(rows: QuerySet[LedgerEntry]) -> Iterator[LedgerDuel]:
    """Duels in the order of their results. They are read one at a time, because there may be a million rows."""
    in_order = rows.order_by(F(_VERSION).asc(nulls_first=True), "duel_id", "pk").values_list(*COLUMNS, *_MORE)
    for _, duel in groupby(in_order.iterator(), key=itemgetter(0)):
        yield _played(list(duel))


def between_players(rows: QuerySet[LedgerEntry], players: Collection[int]) -> QuerySet[LedgerEntry]:
    """The entries of duels among some submissions."""
    return rows.filter(submission__in=players, opponent__in=players)


def of_players(rows: QuerySet[LedgerEntry], players: Collection[int]) -> QuerySet[LedgerEntry]:
    """The entries of duels that one of some submissions has played."""
    return rows.filter(Q(submission__in=players) | Q(opponent__in=players))


def entries(rows: QuerySet[LedgerEntry]) -> list[Entry]:
    """The rows as plain values, in the order of duels."""
    return [Entry(*row) for row in rows.order_by("duel_id", "pk").values_list(*COLUMNS)]


def results_of(found: Iterable[LedgerDuel]) -> list[DuelResult]:
    return [row.result for row in found]


def _played(rows: list[tuple[object, ...]]) -> LedgerDuel:
    size = len(COLUMNS)
    found = [Entry(*row[:size]) for row in rows]  # type: ignore[arg-type]  # columns in the order of its fields
    seatings = []
    for entry, row in zip(found, rows, strict=True):
        seat, losses, errors, *_ = row[size:]
        if seat == 0:
            wins = entry.wins + entry.opponent_errors
            lost = losses + errors  # type: ignore[operator]  # numbers
            seatings.append((entry.duel, entry.submission, entry.opponent, wins, entry.draws, lost))
    player_1, tournament, at, version, rules = rows[0][size + 3 :]
    (result,) = duel_results(found)
    return LedgerDuel(result, tuple(seatings), player_1, tournament, at, version or 0, rules)  # type: ignore[arg-type]  # columns of its duel
