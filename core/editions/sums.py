"""Pair totals and live ratings of an environment: sums of its rated results.

A new result is added. A strike or a release makes anew what it changes: the totals of the pairs concerned, and the live
ratings from the oldest result concerned on, because Elo depends on the order of results. Live ratings are stored at
checkpoints for this, so the cost depends on the results since then and not on the length of the history.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from django.db.models import Min, QuerySet

from arena_kit.ranking.elo import RatingEstimate, rate
from core.editions.results import LedgerDuel, between_players, played, rated, results_of, since, until
from core.models import Environment, FollowedStrike, LedgerEntry, LedgerSums, LedgerVoid, LiveRating, Tournament
from core.ratings.ledger_sums import (
    Live,
    PairSum,
    checkpoint_restore,
    checkpoint_save,
    live_replace,
    live_save,
    pairs_add,
    pairs_replace,
)

DIGITS = 6
"""The digits of stored ratings: fits of the same results agree to more digits, whatever the order of the rows."""
CHECKPOINT_EVERY = 5_000
"""The versions of a ledger from one checkpoint of its live ratings to the next."""


@dataclass(frozen=True, slots=True)
class Strike:
    """A struck duel that the sums still contain.

    version: of the ledger when its result came in; None if it has none, so that no live rating contains it.
    """

    void: int
    tournament: int
    players: frozenset[int]
    version: int | None


def struck_in(tournaments: Collection[int] | None, environment: Environment) -> list[Strike]:
    """The strikes in these tournaments that have not been followed yet; None: in all of the environment."""
    rows = LedgerVoid.objects.filter(duel__tournament__environment=environment, followed=None)
    if tournaments is not None:
        rows = rows.filter(duel__tournament__in=tournaments)
    columns = ("pk", "duel__tournament", "duel__player_1", "duel__player_2", "duel__ledger_change__version")
    return [
        Strike(void, tournament, frozenset((one, other)), version)
        for void, tournament, one, other, version in rows.order_by("pk").values_list(*columns)
    ]


def strikes_followed(struck: Iterable[Strike]) -> None:
    """Note that these strikes have been followed."""
    FollowedStrike.objects.bulk_create([FollowedStrike(void_id=row.void) for row in struck], ignore_conflicts=True)


def sums_add(environment: Environment, sums: LedgerSums, new: Collection[LedgerDuel], version: int) -> None:
    """Add new results, which are all rated ones up to a version."""
    pairs_add(environment=environment, pairs=pair_sums(new))
    players = {player for row in new for player in row.result.submissions}
    before = _estimates(LiveRating.objects.filter(submission__in=players))
    live_save(values=_plain(rate(results_of(new), before)), digits=DIGITS)
    if version - sums.checkpoint_version >= CHECKPOINT_EVERY:
        now = _estimates(LiveRating.objects.filter(submission__agent__environment=environment))
        checkpoint_save(sums=sums, version=version, values=_plain(now))


def sums_correct(
    environment: Environment, sums: LedgerSums, version: int, *, struck: Collection[Strike], released: Collection[int]
) -> datetime | None:
    """Make anew what struck duels and released tournaments change; return when the newest result read was written."""
    duels = Tournament.objects.filter(pk__in=released)
    pairs = {row.players for row in struck}
    pairs |= {frozenset(pair) for pair in duels.values_list("duels__player_1", "duels__player_2") if None not in pair}
    versions = [row.version for row in struck if row.version is not None]
    first = duels.aggregate(first=Min("duels__ledger_change__version"))["first"]
    versions += [] if first is None else [first]
    rows = until(rated(environment), version)
    if pairs:
        players = {player for pair in pairs for player in pair}
        found = [row for row in played(between_players(rows, players)) if frozenset(row.result.submissions) in pairs]
        pairs_replace(environment=environment, pairs=pair_sums(found), among=pairs)
    return _live_anew(environment, sums, rows, before=min(versions)) if versions else None


def sums_anew(environment: Environment, sums: LedgerSums, version: int) -> datetime | None:
    """Make the sums anew from the whole rated ledger; return when its newest result was written."""
    rows = until(rated(environment), version)
    pairs_replace(environment=environment, pairs=pair_sums(played(rows)))
    return _live_anew(environment, sums, rows, before=0)


def pair_sums(found: Iterable[LedgerDuel]) -> dict[tuple[int, int], PairSum]:
    """Return the sums that these duels add to the totals of pairs."""
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


def _live_anew(
    environment: Environment, sums: LedgerSums, rows: QuerySet[LedgerEntry], *, before: int
) -> datetime | None:
    """Make live ratings anew from the newest checkpoint before a version; return when the newest result was written."""
    kept = checkpoint_restore(sums=sums, before=before)
    values = {key: RatingEstimate(*value) for key, value in kept.items()}
    last = None
    # In batches, because there may be a million results.
    found = played(since(rows, sums.checkpoint_version))
    while batch := list(islice(found, CHECKPOINT_EVERY)):
        values = rate(results_of(batch), values)
        last = max(*(row.at for row in batch), last or batch[0].at)
        if batch[-1].version - sums.checkpoint_version >= CHECKPOINT_EVERY:
            checkpoint_save(sums=sums, version=batch[-1].version, values=_plain(values))
    live_replace(environment=environment, values=_plain(values), digits=DIGITS)
    return last


def _estimates(rows: QuerySet[LiveRating]) -> dict[int, RatingEstimate]:
    found = rows.values_list("submission_id", "value", "duel_count")
    return {key: RatingEstimate(value, count) for key, value, count in found}


def _plain(found: Mapping[int, RatingEstimate]) -> Live:
    return {key: (estimate.value, estimate.duel_count) for key, estimate in found.items()}
