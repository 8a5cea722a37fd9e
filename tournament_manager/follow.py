"""Keeps data derived from the ledger up to date: tables of automatic tournaments, pair totals, live ratings.

Derived data carries the version of the ledger that it was made from, see `LedgerSums`. A refresh reads only the changes
since that version and adds the results among them. After a strike, a release or a withdrawal, the tables and sums
concerned are made anew: live ratings depend on the order of all results, so a result cannot be taken out of them. All
of it is one transaction that locks the row of the sums: of several workers the first does the work and the others find
it done, and a worker that dies has changed nothing. Results that come in meanwhile lock the row of the ledger's version
alone, so they never wait for a refresh, however long it reads.

Adding results as they come in gives exactly the same figures as reading the whole ledger: both add them one by one, in
the order of their versions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import F

from arena_kit.ranking.elo import RatingEstimate, rate
from arena_kit.ranking.standings import DuelResult, Standing, by_rating, standings
from core.models import (
    Environment,
    LedgerChange,
    LedgerSums,
    LiveRating,
    Participant,
    Rating,
    Tournament,
    TournamentState,
)
from core.ratings.ledger import ledger_change, ledger_version
from core.ratings.ledger_sums import PairSum, live_replace, live_save, pairs_add, pairs_replace, sums_hold, sums_save
from core.tournaments.services import STANDING_FIELDS, standings_save
from tournament_manager.results import Played, between, counted, played, rated, results_of, until

DIGITS = 6
"""The digits of stored ratings: fits of the same results agree to more digits, whatever the order of the rows."""
Kind = LedgerChange.Kind
STRIKES = (Kind.STRIKE, Kind.RECOMPUTE)
ANEW = (*STRIKES, Kind.RELEASE)
"""The changes after which pair totals and live ratings are made anew."""
Changes = Collection[tuple[str, int | None]]
"""The kinds of changes other than results, with their tournaments."""


def follow(environment: Environment) -> LedgerSums:
    """Bring an environment up to date with its ledger; without a change that takes three short queries."""
    version = ledger_version(environment.pk)
    with transaction.atomic():
        sums = sums_hold(environment)
        # Another worker may have done this, or more, in the meantime.
        if sums.version < version:
            _follow(environment, sums, version)
    return sums


def rebuild(environment: Environment) -> LedgerSums:
    """Make all tables, pair totals and live ratings anew from the whole ledger, e.g. after their rules changed."""
    ledger_change(environment_id=environment.pk, kind=Kind.RECOMPUTE)
    return follow(environment)


def standings_refresh(tournament: Tournament) -> int:
    """Make the table of an automatic tournament anew; return how many of its rows differed."""
    follow(tournament.environment)
    with transaction.atomic():
        sums = sums_hold(tournament.environment)
        return _table_anew(tournament, sums.version)


def ladder_rank(tournament: Tournament) -> int:
    """Rank the table of a ladder by the current ratings and participants; return how many of its rows changed."""
    with transaction.atomic():
        sums_hold(tournament.environment)
        Tournament.objects.filter(pk=tournament.pk).update(table_version=F("ledger_version"))
        return _table_write(tournament, [], is_anew=False)


def outdated_ladders(environment: Environment) -> list[Tournament]:
    """The cancelled ladders whose tables have to follow the ratings once more."""
    return list(environment.tournaments.filter(ledger_version__gt=F("table_version"), is_automatic=True))


def _follow(environment: Environment, sums: LedgerSums, version: int) -> None:
    changes = LedgerChange.objects.filter(environment=environment, version__gt=sums.version, version__lte=version)
    others: Changes = [(row.kind, row.tournament_id) for row in changes.exclude(kind=Kind.RESULT)]
    new = list(played(between(environment, sums.version, version)))
    keys = {row.tournament for row in new} | {key for _, key in others if key}
    tournaments = {row.pk: row for row in _concerned(environment, keys, others)}
    shown = {key for key, row in tournaments.items() if row.counts_for_ratings}
    fresh = [row for row in new if row.tournament in shown]
    kinds = {kind for kind, key in others if key is None or key in shown}
    last = sums.last_result_at
    if kinds.intersection(ANEW):
        last = _sums_anew(environment, version)
    elif fresh:
        _sums_add(environment, fresh)
        last = max(row.at for row in fresh) if last is None else max(last, *(row.at for row in fresh))
    # Last, because it locks the rows of tournaments, for which organisers and owners would wait in their requests while
    # the whole ledger is read.
    _tables_follow(tournaments, new, others, version)
    sums_save(
        sums=sums,
        version=version,
        is_rated=bool(fresh or kinds.intersection(ANEW)),
        is_rewritten=bool(kinds.intersection(STRIKES)),
        last_result_at=last,
    )


def _concerned(environment: Environment, keys: Collection[int], others: Changes) -> Iterable[Tournament]:
    """The tournaments that changes concern."""
    if any(kind == Kind.RECOMPUTE for kind, _ in others):
        return environment.tournaments.exclude(started_at=None)
    return Tournament.objects.filter(pk__in=keys).order_by("pk")


# --- Tables -----------------------------------------------------------------------------------------------


def _tables_follow(tournaments: Mapping[int, Tournament], new: Iterable[Played], others: Changes, version: int) -> None:
    """Bring tables up to date; those of organisers' tournaments follow from a plan and are only marked as outdated."""
    added = defaultdict(list)
    for row in new:
        added[row.tournament].append(row.result)
    kinds = defaultdict(set)
    for kind, key in others:
        for one in tournaments if key is None else (key,):
            kinds[one].add(kind)
    for key, tournament in tournaments.items():
        if not tournament.is_automatic:
            if kinds[key]:
                Tournament.objects.filter(pk=key).update(ledger_version=version)
            continue
        # Results of a participant that leaves a ladder still count.
        if kinds[key].difference((Kind.WITHDRAWAL,) if tournament.is_ladder else ()):
            _table_anew(tournament, version)
        else:
            _table_write(tournament, added[key], is_anew=False)
        # Ladders that were cancelled are ranked once more, after the ratings.
        is_ranked = not (tournament.is_ladder and tournament.state == TournamentState.CANCELLED)
        made_from = version if is_ranked else tournament.table_version
        Tournament.objects.filter(pk=key).update(ledger_version=version, table_version=made_from)


def _table_anew(tournament: Tournament, version: int) -> int:
    results = results_of(played(until(counted(tournament), version)))
    return _table_write(tournament, results, is_anew=True)


def _table_write(tournament: Tournament, results: Sequence[DuelResult], *, is_anew: bool) -> int:
    """Add results to a table, or make it from these alone; return how many of its rows changed.

    Withdrawn participants stand below all others without points, and results against them do not count. In a ladder all
    results count, and ranks follow the ratings.
    """
    participants = {row.submission_id: row for row in tournament.participants.all()}
    withdrawn = {key for key, row in participants.items() if row.withdrawn_at is not None}
    before = {} if is_anew else {key: _standing(row) for key, row in participants.items()}
    if tournament.is_ladder:
        table = standings(participants, results, before=before)
        table = by_rating(table, _strengths(participants), withdrawn)
    else:
        results = [row for row in results if withdrawn.isdisjoint(row.submissions)]
        table = standings(participants, results, withdrawn, before)
    changed = []
    for standing in table:
        row = participants[standing.submission]
        if any(getattr(row, name) != getattr(standing, name) for name in STANDING_FIELDS):
            for name in STANDING_FIELDS:
                setattr(row, name, getattr(standing, name))
            changed.append(row)
    standings_save(participants=changed)
    return len(changed)


def _standing(row: Participant) -> Standing:
    return Standing(row.submission_id, **{name: getattr(row, name) for name in STANDING_FIELDS})


def _strengths(participants: Mapping[int, Participant]) -> dict[int, float]:
    """Ratings by submission: those stored with the table, or current ones."""
    now = dict(Rating.objects.filter(submission__in=participants).values_list("submission_id", "value"))
    kept = {key: row.rating for key, row in participants.items() if row.rating is not None}
    return now | kept


# --- Pair totals and live ratings -------------------------------------------------------------------------


def _sums_add(environment: Environment, new: Collection[Played]) -> None:
    pairs_add(environment=environment, pairs=pair_sums(new))
    players = {player for row in new for player in row.result.submissions}
    rows = LiveRating.objects.filter(submission__in=players).values_list("submission_id", "value", "duel_count")
    before = {key: RatingEstimate(value, count) for key, value, count in rows}
    live_save(values=_plain(rate(results_of(new), before)), digits=DIGITS)


def _sums_anew(environment: Environment, version: int) -> datetime | None:
    """Make the sums anew from the whole rated ledger; return when its newest result was written."""
    found = list(played(until(rated(environment), version)))
    pairs_replace(environment=environment, pairs=pair_sums(found))
    live_replace(environment=environment, values=_plain(rate(results_of(found))), digits=DIGITS)
    return max((row.at for row in found), default=None)


def pair_sums(found: Iterable[Played]) -> dict[tuple[int, int], PairSum]:
    """What these duels add to the totals of pairs."""
    pairs: dict[tuple[int, int], PairSum] = defaultdict(PairSum)
    for row in found:
        one, other = row.result.submissions
        for duel, first, second, wins, draws, losses in row.seatings:
            total = pairs[first, second]
            total.wins += wins
            total.draws += draws
            total.losses += losses
            total.latest_duel = max(total.latest_duel, duel)
        pairs[row.player_1, other if row.player_1 == one else one].duel_count += 1
    return pairs


def _plain(found: Mapping[int, RatingEstimate]) -> dict[int, tuple[float, int]]:
    return {key: (estimate.value, estimate.duel_count) for key, estimate in found.items()}
