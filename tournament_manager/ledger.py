"""Reads the ledger and has written down what follows from it: standings and ratings."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby, pairwise
from operator import itemgetter

from django.db.models import Count, Exists, F, Max, OuterRef, Q, QuerySet, Sum
from django.db.models.functions import Now

from arena_kit.ranking.elo import START, rate
from arena_kit.ranking.rating import RatingFit, Seating, fit_ratings, pool_of, ranking, within
from arena_kit.ranking.standings import DuelResult, Entry, by_rating, duel_results, standings
from core.models import (
    LADDER,
    Audience,
    Duel,
    Environment,
    LedgerEntry,
    LedgerVoid,
    Participant,
    Rating,
    RatingPool,
    Submission,
    Tournament,
    TournamentState,
)
from core.ratings.services import live_ratings_save, ratings_replace
from core.tournaments.services import STANDING_FIELDS, standings_save
from tournament_manager.lens_rows import lens_follow, lens_try

FIT_EVERY = timedelta(minutes=2)
"""How old the official ratings grow while duels are played: a fit of the largest pools takes seconds."""
FIT_PAUSE = 20
"""Times as long as the last fit took the next one waits at least: fits take a twentieth of a worker's time at most."""
LIVE_DUELS = 10_000
"""With more than this behind them live ratings wait for the next fit: each time all are read, this many in 0.2 s."""
DIGITS = 6
"""Of what is stored: fits of the same results agree to more, whatever order the rows came in."""
COLUMNS = ("duel_id", "submission_id", "opponent_id", "wins", "draws", "opponent_errors", "score")


def counted(environment: Environment) -> QuerySet[LedgerEntry]:
    """The entries of an environment that count for tables: those of duels that were not struck."""
    return LedgerEntry.objects.filter(duel__tournament__environment=environment, duel__void__isnull=True)


def rated(environment: Environment, *, at: datetime | None = None) -> QuerySet[LedgerEntry]:
    """The entries that count for ratings: of tournaments that are rated and whose results everybody sees.

    Those that are held back would tell of themselves there; once they are released they count, as if they always had.
    at: as they were in that moment, strikes that came later undone; which tournaments count is what it is today.
    """
    rows = LedgerEntry.objects.filter(
        duel__tournament__environment=environment,
        duel__tournament__is_rated=True,
        duel__tournament__results=Audience.PUBLIC,
    )
    if at is None:
        return rows.filter(duel__void__isnull=True)
    return rows.filter(Q(duel__void__isnull=True) | Q(duel__void__created_at__gt=at), created_at__lte=at)


def entries(rows: QuerySet[LedgerEntry]) -> list[Entry]:
    """Rows as plain values for the pure functions."""
    return [Entry(*row) for row in rows.order_by("duel_id", "pk").values_list(*COLUMNS)]


def standings_refresh(tournament: Tournament) -> int:
    """Recompute the table of an edition, write what has changed and return in how many rows.

    Who was withdrawn stands below all others, with nothing; what the others did against them counts for nobody. In a
    ladder all that was played counts, and ranks are by rating.
    """
    participants = {row.submission_id: row for row in tournament.participants.all()}
    withdrawn = {key for key, row in participants.items() if row.withdrawn_at is not None}
    rows = counted(tournament.environment).filter(duel__tournament=tournament)
    if tournament.is_ladder:
        table = by_rating(standings(participants, duel_results(entries(rows))), _strengths(participants), withdrawn)
    else:
        if withdrawn:
            rows = rows.exclude(submission__in=withdrawn).exclude(opponent__in=withdrawn)
        table = standings(participants, duel_results(entries(rows)), withdrawn=withdrawn)
    changed = []
    for standing in table:
        row = participants[standing.submission]
        if any(getattr(row, name) != getattr(standing, name) for name in STANDING_FIELDS):
            for name in STANDING_FIELDS:
                setattr(row, name, getattr(standing, name))
            changed.append(row)
    standings_save(participants=changed)
    return len(changed)


def _strengths(participants: dict[int, Participant]) -> dict[int, float]:
    """Ratings by submission: those that were kept with the table, else those of now."""
    now = dict(Rating.objects.filter(submission__in=participants).values_list("submission_id", "value"))
    kept = {key: row.rating for key, row in participants.items() if row.rating is not None}
    return now | kept


@dataclass(frozen=True, slots=True)
class Computed:
    """What follows from the ledger, as rows that are not saved."""

    ratings: list[Rating]
    pool: RatingPool


def ratings_refresh(environment: Environment, *, ended: Tournament | None = None) -> int:
    """Recompute all ratings of an environment from its whole ledger; return how many of them changed.

    ended: an edition that ends with them. A function of the ledger alone: the fit begins cold, because one that begins
    with the last result ends with other last digits.
    """
    started = time.perf_counter()
    found = compute(environment)
    found.pool.fit_seconds = time.perf_counter() - started
    changed = ratings_replace(environment=environment, ratings=found.ratings, pool=found.pool, ended=ended)
    lens_try(environment)
    return changed


def compute(environment: Environment, *, at: datetime | None = None, among: Collection[int] | None = None) -> Computed:
    """All ratings of an environment, of its whole ledger or of what it held at a moment.

    among: who has a rank, if that is known, once it has played. Else whoever has one now; at a moment of the past, of
    which nobody has written down who might play, the newest version of every agent that had played.
    """
    struck = _struck(environment).count()
    rows = rated(environment, at=at)
    clock = Environment.objects.annotate(now=Now()).get(pk=environment.pk).now
    # A worker's clock may be ahead of the database's: what was read is no later than the moment that is told.
    fitted_at = at or max(clock, rows.aggregate(last=Max("created_at"))["last"] or clock)
    results, seatings = _read(rows)
    if among is None:
        among = _ranked(environment, rows) if at is None else _newest(environment, rows)
    # Somebody may have played for the first time meanwhile.
    among = set(among) & {key for _, *both, _, _, _ in seatings for key in both}
    pool = pool_of(seatings, always=among)
    fitted = fit_ratings(within(seatings, pool), submissions=pool, predecessors=_predecessors(environment))
    live = {key: estimate.value for key, estimate in rate(results).items()}
    duels = [result.duel for result in results]
    return Computed(_rows(fitted, live, among), _pool(fitted, duels=duels, struck_count=struck, fitted_at=fitted_at))


def ratings_follow(environment: Environment, *, now: datetime) -> bool:
    """Bring ratings up to date; return whether they were fitted.

    Official ones after a pause since the last fit, where other duels count or others have a rank; at once where a duel
    was struck. Live ones with every duel in between. Who plays for the first time has no rating before the next fit.
    """
    pool = RatingPool.objects.filter(environment=environment).first()
    if pool is None or _is_due(pool, now) or (not pool.failed_at and pool.struck_count != _struck(environment).count()):
        if ratings_are_outdated(environment):
            ratings_refresh(environment)
            return True
    # To count very many takes a while, too.
    elif pool.duel_count <= LIVE_DUELS:
        duels, _ = _duels_behind(environment)
        if duels <= LIVE_DUELS and pool.live_duel_count != duels:
            results, _ = _read(rated(environment))
            values = {key: round(estimate.value, DIGITS) for key, estimate in rate(results).items()}
            live_ratings_save(pool=pool, values=values, duel_count=len(results))
    if pool is not None:
        lens_follow(environment, fitted_at=pool.fitted_at)
    return False


def _is_due(pool: RatingPool, now: datetime) -> bool:
    pause = max(FIT_EVERY, FIT_PAUSE * timedelta(seconds=pool.fit_seconds))
    return now >= max(pool.fitted_at, pool.failed_at or pool.fitted_at) + pause


def _read(rows: QuerySet[LedgerEntry]) -> tuple[list[DuelResult], list[Seating]]:
    """Entries as both ratings want them. One pass, a duel at a time: there may be a million rows."""
    results: list[DuelResult] = []
    seatings: list[Seating] = []
    ordered = rows.order_by("duel_id", "pk").values_list(*COLUMNS, "seat", "losses", "errors")
    for _, duel in groupby(ordered.iterator(), key=itemgetter(0)):
        found = []
        for *columns, seat, losses, errors in duel:
            entry = Entry(*columns)
            found.append(entry)
            if seat == 0:
                wins = entry.wins + entry.opponent_errors
                seatings.append((entry.duel, entry.submission, entry.opponent, wins, entry.draws, losses + errors))
        results += duel_results(found)
    return results, seatings


def _rows(fitted: RatingFit, live: dict[int, float], ranked: Collection[int]) -> list[Rating]:
    """A rating of everybody who has played, with a rank where it has one."""
    places = {place.submission: place for place in ranking(fitted, among=ranked)}
    rows = []
    for index, submission in enumerate(fitted.submissions):
        rating, place = fitted.interval(index), places.get(submission)
        rows.append(
            Rating(
                submission_id=submission,
                value=round(rating.value, DIGITS),
                low=round(rating.low, DIGITS),
                high=round(rating.high, DIGITS),
                rank=place.rank if place else None,
                best_rank=place.best_rank if place else None,
                worst_rank=place.worst_rank if place else None,
                best_chance=place.chance if place else None,
                live=round(live.get(submission, START), DIGITS),
                duel_count=int(fitted.duel_counts[index]),
                match_count=int(fitted.match_counts[index]),
            )
        )
    return rows


def _pool(fitted: RatingFit, *, duels: Sequence[int], struck_count: int, fitted_at: datetime) -> RatingPool:
    assert fitted.first_seat is not None
    return RatingPool(
        spread=round(fitted.pool_spread, DIGITS),
        first_seat=round(fitted.first_seat.value, DIGITS),
        first_seat_low=round(fitted.first_seat.low, DIGITS),
        first_seat_high=round(fitted.first_seat.high, DIGITS),
        is_connected=fitted.is_connected,
        duel_count=len(duels),
        duel_sum=sum(duels),
        struck_count=struck_count,
        live_duel_count=len(duels),
        fitted_at=fitted_at,
    )


def _predecessors(environment: Environment) -> dict[int, int]:
    """The version before, by submission."""
    versions = defaultdict(list)
    rows = Submission.objects.filter(agent__environment=environment).order_by("agent_id", "number")
    for agent, submission in rows.values_list("agent_id", "pk"):
        versions[agent].append(submission)
    return {later: earlier for line in versions.values() for earlier, later in pairwise(line)}


def _ranked(environment: Environment, rows: QuerySet[LedgerEntry]) -> set[int]:
    """Who has a rank: of every agent that may play the newest valid version that is not benched and is in the rows."""
    able = Submission.objects.valid().filter(agent__environment=environment, is_benched=False)
    has_played = Exists(rows.filter(submission=OuterRef("pk")))
    newest = dict(able.filter(has_played).order_by("agent_id", "number").values_list("agent_id", "pk"))
    return set(newest.values())


def _newest(environment: Environment, rows: QuerySet[LedgerEntry]) -> set[int]:
    """Of every agent the newest version that is in the rows."""
    have_played = Submission.objects.filter(
        Exists(rows.filter(submission=OuterRef("pk"))), agent__environment=environment
    )
    return set(dict(have_played.order_by("agent_id", "number").values_list("agent_id", "pk")).values())


def _struck(environment: Environment) -> QuerySet[LedgerVoid]:
    """Strikes of duels that would count for ratings."""
    return LedgerVoid.objects.filter(
        duel__tournament__environment=environment,
        duel__tournament__is_rated=True,
        duel__tournament__results=Audience.PUBLIC,
    )


def _duels_behind(environment: Environment) -> tuple[int, int]:
    """How many duels count for ratings, and the sum of their ids."""
    # Asked of duels: to tell the entries of the ledger apart by duel takes several times as long.
    duels = Duel.objects.filter(
        Exists(LedgerEntry.objects.filter(duel=OuterRef("pk"))),
        tournament__environment=environment,
        tournament__is_rated=True,
        tournament__results=Audience.PUBLIC,
        void__isnull=True,
    )
    found = duels.order_by().aggregate(count=Count("pk"), sum=Sum("pk"))
    return found["count"], found["sum"] or 0


def outdated_editions(environment: Environment) -> list[Tournament]:
    """The arena's ended editions whose tables were computed of other duels than count now, or of which one was struck.

    Once an edition has ended no duel of it is played any more; that one is struck (or the strike taken back) changes
    their number. So nobody needs to be told, and a lost message about a correction does no harm.
    """
    in_tables = counted(environment).exclude(duel__tournament__state=TournamentState.RUNNING)
    withdrawn = Participant.objects.filter(tournament__environment=environment, withdrawn_at__isnull=False)
    withdrawn = withdrawn.exclude(tournament__format=LADDER)
    if withdrawn.exists():
        one_of_them = Q(submission=OuterRef("submission")) | Q(submission=OuterRef("opponent"))
        in_tables = in_tables.exclude(Exists(withdrawn.filter(one_of_them, tournament=OuterRef("duel__tournament"))))
    per_edition = in_tables.order_by().values("duel__tournament")
    duels = {row["duel__tournament"]: row["duels"] for row in per_edition.annotate(duels=Count("duel", distinct=True))}
    # What organisers have planned goes on when something of it is struck, see `progress`.
    ended = environment.tournaments.exclude(state=TournamentState.RUNNING).filter(is_automatic=True)
    tables = ended.order_by("edition").annotate(
        counted=Sum(F("participants__wins") + F("participants__draws") + F("participants__losses"))
    )
    # Each duel is in the tables of both players.
    # Two corrections may leave the number as it was; editions with a struck duel are few, so they are always looked at.
    struck = set(
        LedgerVoid.objects.filter(duel__tournament__environment=environment).values_list("duel__tournament", flat=True)
    )
    return [row for row in tables if row.pk in struck or (row.counted or 0) != 2 * duels.get(row.pk, 0)]


def ratings_are_outdated(environment: Environment) -> bool:
    """Whether the official ratings were computed of other duels than count now, or rank others than have a rank now.

    Duels end, are struck, and come to count once the results of their tournament are released. Their number tells, and
    where as many others came as went the sum of their ids does.
    """
    pool = RatingPool.objects.filter(environment=environment).first()
    duels = _duels_behind(environment)
    if pool is None:
        return duels[0] > 0 or Rating.objects.filter(submission__agent__environment=environment).exists()
    if (pool.duel_count, pool.duel_sum) != duels:
        return True
    stand = Rating.objects.filter(submission__agent__environment=environment, rank__isnull=False)
    return _ranked(environment, rated(environment)) != set(stand.values_list("submission_id", flat=True))
