"""A duel's matches grouped by result: titles, filter, and the bar of shares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.http import QueryDict
from django.urls import reverse

from arena_kit.environment.record_archive import MatchSummary
from arena_kit.environment.records import Outcome
from core.duels.selectors import GROUPS, MatchFilter, MatchGroup
from core.models import Duel

TITLES = {
    "player_1": "Won by {0}",
    "player_2": "Won by {1}",
    "draw": "Draws",
    "player_1_error": "Forfeited by {0}",
    "player_2_error": "Forfeited by {1}",
}


@dataclass(frozen=True, slots=True)
class GroupView:
    """A kind of result on the page. count: all its matches, including those that the filter hides.

    distinct: the first of the matches that are the same, and how many of the shown ones are.
    """

    key: str
    title: str
    count: int
    matches: Sequence[MatchSummary]
    is_chosen: bool

    @property
    def distinct(self) -> list[tuple[int, int]]:
        return sorted(Counter(match.same_as or match.number for match in self.matches).items())

    @property
    def has_repeats(self) -> bool:
        """Return whether some of its matches only repeat others."""
        return len(self.distinct) < len(self.matches)


@dataclass(frozen=True, slots=True)
class SeatShare:
    """The matches of a duel with a player in the first seat. won, lost: by that player; a forfeit is lost."""

    name: str
    won: int
    drawn: int
    lost: int


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of the bar. start: matches from its left end. length: in matches."""

    key: str
    start: int
    length: int


def group_views(groups: Sequence[MatchGroup], names: tuple[str, str], wanted: MatchFilter) -> list[GroupView]:
    return [
        GroupView(group.key, TITLES[group.key].format(*names), group.count, group.matches, wanted.result == group.key)
        for group in groups
    ]


def segments(duel: Duel) -> Iterator[Segment]:
    """Yield the parts of the bar: points of player 1 on the left, of player 2 on the right, draws between them."""
    counts = {
        "player_1": duel.player_1_wins,
        "player_2_error": duel.player_2_errors,
        "draw": duel.draws,
        "player_1_error": duel.player_1_errors,
        "player_2": duel.player_2_wins,
    }
    start = 0
    for key, count in counts.items():
        if count:
            yield Segment(key, start, count)
        start += count


def won_so_far(duel: Duel, index: Sequence[MatchSummary]) -> tuple[int, int]:
    """Return the matches that the players have won, while a duel runs among those that its page lists (`index`)."""
    if duel.is_over:
        return duel.player_1_wins + duel.player_2_errors, duel.player_2_wins + duel.player_1_errors
    counts = Counter(match.outcome for match in index)
    return counts[Outcome.PLAYER_1], counts[Outcome.PLAYER_2]


def seat_shares(index: Sequence[MatchSummary], names: tuple[str, str]) -> list[SeatShare]:
    """Return the results by who had the first seat, for both players; none without matches."""
    won = (Outcome.PLAYER_1, Outcome.PLAYER_2)
    counts = [Counter(match.outcome for match in index if match.first_player == place) for place in (0, 1)]
    found = [SeatShare(names[k], counts[k][won[k]], counts[k][Outcome.DRAW], counts[k][won[1 - k]]) for k in (0, 1)]
    return found if index else []


def match_filter(query: QueryDict) -> MatchFilter:
    """Read the filter from an address. Unknown values are ignored."""
    result, first = query.get("result", ""), query.get("first", "")
    return MatchFilter(
        result=result if result in GROUPS else "",
        first=int(first) if first in ("1", "2") else 0,
        order={"moves": -1, "fewest": 1}.get(query.get("sort", ""), 0),
    )


def origin_crumbs(row: Duel) -> list[tuple[str, str]]:
    """Return the breadcrumbs to what the duel belongs to: a tournament, the agent of a promotion, or a challenge."""
    if row.tournament is not None:
        place = [row.environment.slug, row.tournament.edition]
        return [(reverse("web:edition", args=place), row.tournament.in_words)]
    if row.promotion is not None:
        agent = row.player_1.agent
        page = reverse("web:agent", args=[row.environment.slug, agent.name])
        return [(f"{page}?version={row.player_1.number}#v{row.player_1.number}", agent.name)]
    if row.challenge_id is not None:
        return [(reverse("web:challenge", args=[row.challenge_id]), "challenge")]
    return []
