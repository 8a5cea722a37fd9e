"""Keeps data derived from the ledger up to date: tables of automatic tournaments, pair totals, live ratings.

Derived data carries the version of the ledger that it was made from, see `LedgerSums`. A refresh reads only the changes
since that version and adds the results among them. What a strike, a release or a withdrawal changes is made anew: rows
of tables here, pair totals and live ratings in `core.editions.sums`. All of it is one transaction that locks the
row of the sums: of several workers the first does the work and the others find it done, and a worker that dies has
changed nothing. Results that come in meanwhile lock the row of the ledger's version alone, so they never wait for a
refresh, however long it reads.

Adding results as they come in gives exactly the same figures as reading the whole ledger: both add them one by one, in
the order of their versions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from django.db import transaction
from django.db.models import F

from arena_kit.ranking.standings import DuelResult, Standing, by_rating, standings
from core.editions.results import LedgerDuel, between, counted, of_players, played, results_of, until
from core.editions.sums import Strike, strikes_followed, struck_in, sums_add, sums_anew, sums_correct
from core.models import (
    Environment,
    LedgerChange,
    LedgerSums,
    Participant,
    Rating,
    Tournament,
    TournamentState,
)
from core.ratings.ledger import ledger_adopt, ledger_change, ledger_version
from core.ratings.ledger_sums import sums_lock, sums_save
from core.tournaments.services import STANDING_FIELDS, standings_save

Kind = LedgerChange.Kind
STRIKES = (Kind.STRIKE, Kind.RECOMPUTE)
CORRECTIONS = (*STRIKES, Kind.RELEASE)
"""The changes that do not only add results to pair totals and live ratings."""
Changes = Collection[tuple[str, int | None]]
"""The kinds of changes other than results, with their tournaments."""


def follow(environment: Environment) -> LedgerSums:
    """Bring an environment up to date with its ledger; without a change that takes three short queries."""
    version = ledger_version(environment.pk)
    with transaction.atomic():
        sums = sums_lock(environment)
        # Another worker may have done this, or more, in the meantime.
        if sums.version < version:
            _follow(environment, sums, version)
    return sums


def rebuild(environment: Environment) -> LedgerSums:
    """Make all tables, pair totals and live ratings anew from the whole ledger, e.g. after their rules changed.

    Results that were inserted without a version get one, and count from then on.
    """
    ledger_adopt(environment_id=environment.pk)
    ledger_change(environment_id=environment.pk, kind=Kind.RECOMPUTE)
    return follow(environment)


def standings_refresh(tournament: Tournament) -> int:
    """Make the table of an automatic tournament anew; return how many of its rows differed."""
    follow(tournament.environment)
    with transaction.atomic():
        sums = sums_lock(tournament.environment)
        return _table_anew(tournament, sums.version)


def ladder_rank(tournament: Tournament) -> int:
    """Rank the table of a ladder by the current ratings and participants; return how many of its rows changed."""
    with transaction.atomic():
        sums_lock(tournament.environment)
        Tournament.objects.filter(pk=tournament.pk).update(table_version=F("ledger_version"))
        return _table_write(tournament, [])


def outdated_ladders(environment: Environment) -> list[Tournament]:
    """The cancelled ladders whose tables have to follow the ratings once more."""
    return list(environment.tournaments.filter(ledger_version__gt=F("table_version"), is_automatic=True))


def _follow(environment: Environment, sums: LedgerSums, version: int) -> None:
    # Its rules may have changed since it was read, and results by other rules count in tables alone.
    environment.refresh_from_db(fields=["version"])
    changes = LedgerChange.objects.filter(environment=environment, version__gt=sums.version, version__lte=version)
    others: Changes = [(row.kind, row.tournament_id) for row in changes.exclude(kind=Kind.RESULT)]
    new = list(played(between(environment, sums.version, version)))
    keys = {row.tournament for row in new} | {key for _, key in others if key}
    tournaments = {row.pk: row for row in _concerned(environment, keys, others)}
    shown = {key for key, row in tournaments.items() if row.counts_for_ratings}
    fresh = [row for row in new if row.tournament in shown and row.rules in environment.rules_ids]
    kinds = {kind for kind, key in others if key is None or key in shown}
    is_anew = any(kind == Kind.RECOMPUTE for kind, _ in others)
    struck = struck_in(None if is_anew else {key for kind, key in others if kind == Kind.STRIKE and key}, environment)
    moments = [sums.last_result_at, *(row.at for row in fresh)]
    if is_anew:
        moments = [sums_anew(environment, sums, version)]
    else:
        if fresh:
            sums_add(environment, sums, fresh, version)
        if kinds.intersection(CORRECTIONS):
            released = {key for kind, key in others if kind == Kind.RELEASE and key in shown}
            counting = [row for row in struck if row.tournament in shown]
            moments.append(sums_correct(environment, sums, version, struck=counting, released=released))
    # Last, because it locks the rows of tournaments, for which organisers and owners would wait in their requests while
    # the whole ledger is read.
    _tables_follow(tournaments, new, others, struck, sums, version)
    strikes_followed(struck)
    sums_save(
        sums=sums,
        version=version,
        is_rated=bool(fresh or kinds.intersection(CORRECTIONS)),
        is_rewritten=bool(kinds.intersection(STRIKES)),
        last_result_at=max((at for at in moments if at is not None), default=None),
    )


def _concerned(environment: Environment, keys: Collection[int], others: Changes) -> Iterable[Tournament]:
    """The tournaments that changes concern."""
    if any(kind == Kind.RECOMPUTE for kind, _ in others):
        return environment.tournaments.exclude(started_at=None)
    return Tournament.objects.filter(pk__in=keys).order_by("pk")


# --- Tables -----------------------------------------------------------------------------------------------


def _tables_follow(
    tournaments: Mapping[int, Tournament],
    new: Iterable[LedgerDuel],
    others: Changes,
    struck: Iterable[Strike],
    sums: LedgerSums,
    version: int,
) -> None:
    """Bring tables up to date; those of organisers' tournaments follow from a plan and are only marked as outdated."""
    added = defaultdict(list)
    for row in new:
        added[row.tournament].append(row.result)
    players = defaultdict[int, set[int]](set)
    for one in struck:
        players[one.tournament] |= one.players
    kinds = defaultdict(set)
    for kind, key in others:
        for one_key in tournaments if key is None else (key,):
            kinds[one_key].add(kind)
    for key, tournament in tournaments.items():
        if not tournament.is_automatic:
            if kinds[key]:
                Tournament.objects.filter(pk=key).update(ledger_version=version)
            continue
        # Results of a participant that leaves still count where ratings rank.
        without = {Kind.STRIKE, Kind.WITHDRAWAL} if tournament.is_ranked_by_rating else {Kind.STRIKE}
        if kinds[key] - without:
            _table_anew(tournament, version)
        else:
            _table_write(tournament, added[key], before=_rows_before(tournament, players[key], sums.version))
        # Ladders that were cancelled are ranked once more, after the ratings.
        is_ranked = not (tournament.is_ranked_by_rating and tournament.state == TournamentState.CANCELLED)
        made_from = version if is_ranked else tournament.table_version
        Tournament.objects.filter(pk=key).update(ledger_version=version, table_version=made_from)


def _table_anew(tournament: Tournament, version: int) -> int:
    results = results_of(played(until(counted(tournament), version)))
    return _table_write(tournament, results, before={})


def _table_write(
    tournament: Tournament, results: Iterable[DuelResult], *, before: Mapping[int, Standing] | None = None
) -> int:
    """Add results to a table; return how many of its rows changed. before: the rows to add to; None: those stored.

    Withdrawn participants stand below all others without points, and results against them do not count. In a ladder all
    results count, and ranks follow the ratings.
    """
    participants = {row.submission_id: row for row in tournament.participants.all()}
    withdrawn = _withdrawn(participants.values())
    if before is None:
        before = {key: _standing(row) for key, row in participants.items()}
    if tournament.is_ranked_by_rating:
        table = standings(participants, results, before=before)
        table = by_rating(table, _strengths(participants), withdrawn)
    else:
        table = standings(participants, _without(results, withdrawn), withdrawn, before)
    changed = []
    for standing in table:
        row = participants[standing.submission]
        if any(getattr(row, name) != getattr(standing, name) for name in STANDING_FIELDS):
            for name in STANDING_FIELDS:
                setattr(row, name, getattr(standing, name))
            changed.append(row)
    standings_save(participants=changed)
    return len(changed)


def _rows_before(tournament: Tournament, players: Collection[int], version: int) -> dict[int, Standing] | None:
    """The rows of a table, those of `players` made anew from their results up to a version; None: all as stored."""
    if not players:
        return None
    participants = {row.submission_id: row for row in tournament.participants.all()}
    results = results_of(played(until(of_players(counted(tournament), players), version)))
    if not tournament.is_ranked_by_rating:
        results = _without(results, _withdrawn(participants.values()))
    anew = standings(participants.keys() & set(players), results)
    return {key: _standing(row) for key, row in participants.items()} | {row.submission: row for row in anew}


def _withdrawn(participants: Iterable[Participant]) -> set[int]:
    return {row.submission_id for row in participants if row.withdrawn_at is not None}


def _without(results: Iterable[DuelResult], withdrawn: Collection[int]) -> list[DuelResult]:
    """The results that no withdrawn participant has a part in."""
    return [row for row in results if set(withdrawn).isdisjoint(row.submissions)]


def _standing(row: Participant) -> Standing:
    return Standing(row.submission_id, **{name: getattr(row, name) for name in STANDING_FIELDS})


def _strengths(participants: Mapping[int, Participant]) -> dict[int, float]:
    """Ratings by submission: those stored with the table, or current ones."""
    now = dict(Rating.objects.filter(submission__in=participants).values_list("submission_id", "value"))
    kept = {key: row.rating for key, row in participants.items() if row.rating is not None}
    return now | kept
