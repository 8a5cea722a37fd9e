"""Compares two versions by the duels that a person may see: against the same rivals, and against each other."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from statistics import fmean
from typing import cast

from django.db.models import Q, QuerySet
from django.db.models.fields.files import FieldFile

from arena_kit.environment.record_archive import ArtifactDamaged, DuelArchive
from arena_kit.environment.records import half_points
from arena_kit.ranking.paired import Pair, Paired, against_each_other, against_same
from arena_kit.ranking.verdicts import both_sentences, own_duels_sentence, same_rivals_sentence
from core.courses.sight import challenges_of_others
from core.duels.selectors import NotStored, file_open
from core.models import Duel, JobState, Rating, Submission
from core.tournaments.results import Viewer, withheld_from

MOST_DUELS = 30
"""How many duels of each version are read: a page reads the index of each, and more would hardly narrow an interval."""
MOST_LOOKED_AT = 2000
"""The newest duels of a version among which those are found."""


@dataclass(frozen=True, slots=True)
class RivalRow:
    """A rival that both versions have met: their shares of the matches, 0 to 1, and their matches."""

    rival: Submission
    first: float
    second: float
    first_matches: int
    second_matches: int

    @property
    def difference(self) -> float:
        return self.first - self.second


@dataclass(frozen=True, slots=True)
class DuelComparison:
    """Two versions side by side.

    same: against the rivals of `lines`; None without such a rival. own: against each other, in `duels`, newest first;
    None if they have not met. is_partial: whether older duels were left out. ratings: of those that are ranked.
    """

    first: Submission
    second: Submission
    same: Paired | None
    own: Paired | None
    lines: tuple[RivalRow, ...]
    duels: tuple[Duel, ...]
    is_partial: bool
    ratings: tuple[Rating, ...] = ()

    @property
    def same_sentence(self) -> str:
        return same_rivals_sentence(self.same, *self.names, len(self.lines)) if self.same else ""

    @property
    def own_sentence(self) -> str:
        return own_duels_sentence(self.own, *self.names) if self.own else ""

    @property
    def sentence(self) -> str:
        """The verdict in words: the duels between the two come first, because others may show nothing of them."""
        found = both_sentences(self.own, self.same, *self.names, len(self.lines))
        return found or f"{' and '.join(self.names)} have met neither the same opponents nor each other yet."

    @property
    def ratings_sentence(self) -> str:
        """Where the joint fit of all results puts the two; empty unless both are ranked."""
        if len(self.ratings) < 2:
            return ""
        first, second = (f"{one.value:.0f} ({_error(one)})" for one in self.ratings)
        return f"By all rated matches together, {self.first} has the rating {first}, {self.second} {second}."

    @property
    def names(self) -> tuple[str, str]:
        return str(self.first), str(self.second)


def _error(rating: Rating) -> str:
    return "fixed" if rating.is_reference else f"95% interval {rating.low:.0f} to {rating.high:.0f}"


@dataclass(frozen=True, slots=True)
class _Met:
    """A duel of a version. rival: with the rules. start: also with the seed; duels that share it had equal openings."""

    duel: int
    rival: tuple[int, str]
    start: tuple[int, str, int]


def duels_compare(
    first: Submission, second: Submission, viewer: Viewer, *, until: datetime | None = None
) -> DuelComparison:
    """Compare two versions of an environment with two seats. until: by the duels up to that moment, without ratings.

    Only duels of tournaments count against the same rivals, because owners choose whom they challenge.
    """
    sides = [_tournament_duels(one, viewer, until) for one in (first, second)]
    rivals, shared = ({met.rival for met in side} for side in sides), ({met.start for met in side} for side in sides)
    common, starts = set.intersection(*rivals), set.intersection(*shared)
    common = {rival for rival in common if rival[0] not in (first.pk, second.pk)}
    fitting = [[met for met in side if met.rival in common] for side in sides]
    chosen = [_chosen(side, starts, len(common)) for side in fitting]
    pairs = [_pairs(keys, one.pk) for keys, one in zip(chosen, (first, second), strict=True)]
    between = _visible(first, viewer, until).filter(Q(player_1=second) | Q(player_2=second))
    duels = tuple(
        between.select_related("tournament__environment", "player_1__agent", "player_2__agent").order_by("-pk")[
            :MOST_DUELS
        ]
    )
    return DuelComparison(
        first=first,
        second=second,
        same=against_same(*pairs),
        own=against_each_other(_pairs([duel.pk for duel in duels], first.pk)),
        lines=_lines(*pairs),
        duels=duels,
        is_partial=sum(map(len, fitting)) > sum(map(len, chosen)),
        ratings=_ratings(first, second) if until is None else (),
    )


def _ratings(first: Submission, second: Submission) -> tuple[Rating, ...]:
    rows = Rating.objects.filter(submission__in=(first, second), rank__isnull=False)
    return tuple(sorted(rows, key=lambda row: row.submission_id != first.pk))


def _visible(version: Submission, viewer: Viewer, until: datetime | None) -> QuerySet[Duel]:
    """Return the finished duels of a version that a person may see, without runs and without play from a position."""
    rows = Duel.objects.filter(Q(player_1=version) | Q(player_2=version), state=JobState.SUCCEEDED)
    rows = rows if until is None else rows.filter(ended_at__lte=until)
    rows = rows.filter(void=None, run=None, opening__isnull=True).exclude(records="")
    rows = rows.exclude(challenge__in=challenges_of_others(viewer))
    return rows.exclude(tournament__in=withheld_from(viewer)).defer("log", "history", "verification")


def _tournament_duels(version: Submission, viewer: Viewer, until: datetime | None) -> list[_Met]:
    """Return the newest duels of a version in tournaments, newest first."""
    rows = _visible(version, viewer, until).filter(tournament__isnull=False).order_by("-pk")
    columns = rows.values_list("pk", "player_1", "player_2", "environment_version", "seed")
    found = []
    for key, player_1, player_2, rules, seed in columns[:MOST_LOOKED_AT]:
        rival = player_2 if player_1 == version.pk else player_1
        found.append(_Met(key, (rival, rules), (rival, rules, seed)))
    return found


def _chosen(side: Sequence[_Met], shared: Collection[tuple[int, str, int]], rival_count: int) -> list[int]:
    """Return at most MOST_DUELS duels, as many of each rival; those with openings that both have met come first."""
    counts: dict[tuple[int, str], int] = {}
    kept = []
    for met in sorted(side, key=lambda met: met.start not in shared):
        counts[met.rival] = counts.get(met.rival, 0) + 1
        if counts[met.rival] <= max(1, MOST_DUELS // rival_count):
            kept.append(met.duel)
    return kept[:MOST_DUELS]


def _pairs(duels: Collection[int], player: int) -> list[Pair]:
    """Return the pairs of these duels, seen from one player; without duels whose records are no longer there."""
    found: list[Pair] = []
    for duel in Duel.objects.filter(pk__in=duels).defer("log", "history", "verification"):
        is_first = duel.player_1_id == player
        rival = duel.player_2_id if is_first else duel.player_1_id
        with suppress(NotStored):
            halves = _halves(duel.records)
            # Two players without randomness, in a game without openings, play one pair again and again in any duel.
            is_one = len(halves) > 1 and len({start for start, _ in halves}) == 1
            for start, points in halves:
                beginning: Hashable = (player, rival) if is_one else (duel.environment_version, duel.seed, start)
                share = points / 4
                found.append(Pair((rival, duel.environment_version), beginning, share if is_first else 1 - share))
    return found


@lru_cache(maxsize=2000)
def _halves(records: FieldFile) -> tuple[tuple[int, int], ...]:
    """Return, for each pair of a duel, the first pair that it repeats and the half points of player 1, 0 to 4.

    Cached, because a duel's records never change. Raises NotStored.
    """
    with file_open(records, "The records are") as file:
        try:
            index = DuelArchive(file).index
        except ArtifactDamaged as damage:
            raise NotStored(str(damage)) from None
    first: dict[tuple[int, int], int] = {}
    starts = [
        first.setdefault((one.same_as or one.number, other.same_as or other.number), one.number)
        for one, other in zip(index[::2], index[1::2], strict=False)
    ]
    return tuple(zip(starts, half_points(index), strict=True))


def _lines(first: Sequence[Pair], second: Sequence[Pair]) -> tuple[RivalRow, ...]:
    """Return the rivals of both sides with the shares that each took from them, those met most often first.

    As in `against_same`, pairs count where both sides have met the rival by the same rules.
    """
    both = {pair.rival for pair in first} & {pair.rival for pair in second}
    points: dict[int, tuple[list[float], list[float]]] = {}
    for place, side in enumerate((first, second)):
        for pair in side:
            if pair.rival in both:
                rival, _ = cast(tuple[int, str], pair.rival)
                points.setdefault(rival, ([], []))[place].append(pair.points)
    rows = Submission.objects.select_related("agent__environment", "agent__owner").in_bulk(points)
    lines = [
        RivalRow(rows[key], fmean(one), fmean(other), 2 * len(one), 2 * len(other))
        for key, (one, other) in points.items()
    ]
    return tuple(sorted(lines, key=lambda line: (-line.first_matches - line.second_matches, line.rival.pk)))
