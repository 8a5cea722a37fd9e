"""Pairings of participants. Pure functions over their indices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from itertools import groupby


def round_robin(count: int) -> list[list[tuple[int, int]]]:
    """Rounds of a full round robin by the circle method; with an odd count one participant has a bye in each round.

    Returns rounds of (player_1, player_2) pairs of indices 0 .. count-1. Every pair meets once. With an odd count each
    participant is player_1 in exactly half of its duels; with an even count, in half of them rounded up or down.
    Source: Berger tables, i and j meet in round (i + j) modulo the size of the circle; see
    https://en.wikipedia.org/wiki/Round-robin_tournament#Circle_method.
    """
    if count < 2:
        return []
    circle = count if count % 2 else count - 1
    rounds = []
    for number in range(circle):
        pairs = []
        for one in range(circle):
            other = (number - one) % circle
            if one < other:
                # Player 1 against participants up to half the circle ahead, player 2 against the others.
                pairs.append((one, other) if other - one <= circle // 2 else (other, one))
            elif one == other and circle < count:
                # The participant who would have a bye meets the one outside the circle.
                pairs.append((one, count - 1) if one % 2 == 0 else (count - 1, one))
        rounds.append(pairs)
    return rounds


def seed_order(size: int) -> list[int]:
    """The seeds of a bracket from top to bottom, 0-based, so that the best meet last: 0, 7, 3, 4, 1, 6, 2, 5.

    size: a power of two. In round 1 seed s meets size - 1 - s; while better seeds win, the same holds in every later
    round with half the size. Source: standard seeding, https://en.wikipedia.org/wiki/Seed_(sports).
    """
    order = [0]
    while len(order) < size:
        whole = 2 * len(order)
        order = [seed for better in order for seed in (better, whole - 1 - better)]
    return order


def snake(count: int, groups: int) -> list[list[int]]:
    """Seeds 0 .. count-1 dealt to groups there and back again (0 1 2, 5 4 3, 6 7 8), so that their strength is even."""
    dealt: list[list[int]] = [[] for _ in range(groups)]
    for seed in range(count):
        lap, place = divmod(seed, groups)
        dealt[place if lap % 2 == 0 else groups - 1 - place].append(seed)
    return dealt


@dataclass(frozen=True, slots=True)
class SwissPlayer:
    """A player as the next Swiss pairing sees it; the seed is the place in the list.

    balance: duels played as player_1 minus those as player_2. opponents: places of all opponents so far. floated: 1 if
    the opponent of the last round had fewer points, -1 if it had more, else 0.
    """

    points: int = 0
    balance: int = 0
    byes: int = 0
    opponents: frozenset[int] = frozenset()
    floated: int = 0


BALANCE_LIMIT = 2
REACH = 8
"""How far, in ranks, opponents in a large field may first be from the ideal one."""
WHOLE_FIELD = 64
"""In fields of up to this many players every pair is considered."""


@lru_cache(maxsize=32)
def swiss_round(players: tuple[SwissPlayer, ...]) -> tuple[tuple[int, int | None], ...] | None:
    """The pairs (player_1, player_2) of the next round, best first, and (player, None) for a bye; None if impossible.

    Two players never meet twice, and with an odd count the bye goes to a player with the fewest byes; if that leaves no
    pairing, the round cannot be paired. Among all pairings left, these aims decide, the most important first: the
    lowest in rank has the bye; no player is player_1 more than two times oftener than player_2, or the other way round;
    the sum of squared differences in points is as small as possible, so neighbouring groups of points meet; players who
    are due for the same seat do not meet; no player floats in the same direction twice in a row; within a group of
    equal points the upper half meets the lower half in order, so in round 1 the first meets the one after the middle.
    The aims are those of the FIDE (Dutch) system, Handbook C.04.3; the method is one maximum-weight matching
    (J. Edmonds, 1965), as in https://networkx.org/documentation/stable/reference/algorithms/matching.html.

    In round r a pairing exists while r is at most half the number of players, rounded down: whichever player has
    the bye, every other player still has at least half of the others left to meet (G. A. Dirac, 1952). In fields of
    more than 64, only pairs close to the ideal or close in rank are considered; the search widens until all can be
    paired, up to the whole field.
    """
    ranked = sorted(range(len(players)), key=lambda place: (-players[place].points, place))
    reach = len(ranked) if len(ranked) <= WHOLE_FIELD else REACH
    while True:
        matched = _match([players[place] for place in ranked], ranked, reach)
        if matched is not None or reach >= len(ranked):
            break
        reach *= 4
    if matched is None:
        return None
    pairs: list[tuple[int, int | None]] = []
    for board, (upper, lower) in enumerate(matched):
        if lower is None:
            pairs.append((ranked[upper], None))
            continue
        balances = players[ranked[upper]].balance, players[ranked[lower]].balance
        # Player 1 is the one who was it less often; between equals, the better one on every other board.
        upper_first = balances[0] < balances[1] if balances[0] != balances[1] else board % 2 == 0
        pairs.append((ranked[upper], ranked[lower]) if upper_first else (ranked[lower], ranked[upper]))
    return tuple(pairs)


def _match(players: Sequence[SwissPlayer], places: Sequence[int], reach: int) -> list[tuple[int, int | None]] | None:
    """Pairs of ranks, the better one first, and (rank, None) for a bye; None when not all can be paired within reach.

    players: in the order of their ranks. places: of these players, as `opponents` names them.
    """
    # Imported here, because only pairing needs its twenty megabytes.
    import networkx as nx

    count = len(players)
    costs = {}
    for upper, lower, apart in _candidates([player.points for player in players], reach):
        if places[lower] not in players[upper].opponents:
            costs[upper, lower] = _pair_cost(players[upper], players[lower], apart)
    if count % 2:
        fewest = min(player.byes for player in players)
        resting = [rank for rank in reversed(range(count)) if players[rank].byes == fewest]
        for rank in resting[: 2 * reach]:
            costs[rank, count] = (count - rank, 0, 0, 0, 0, 0)
    if not costs:
        return None
    # Combine the costs into one integer in which no sum of minor costs outweighs the smallest major one.
    tops = [max(cost[level] for cost in costs.values()) for level in range(6)]
    units = [1]
    for top in reversed(tops[1:]):
        units.insert(0, units[0] * (top * (count // 2 + 1) + 1))
    sums = {pair: sum(unit * part for unit, part in zip(units, cost, strict=True)) for pair, cost in costs.items()}
    most = max(sums.values()) + 1
    graph = nx.Graph()
    graph.add_weighted_edges_from((one, other, most - cost) for (one, other), cost in sums.items())
    matching = nx.max_weight_matching(graph, maxcardinality=True)
    if 2 * len(matching) < count:
        return None
    pairs = sorted((min(pair), max(pair)) for pair in matching)
    paired: list[tuple[int, int | None]] = [(one, other) for one, other in pairs if other < count]
    return paired + [(one, None) for one, other in pairs if other == count]


def _candidates(points: Sequence[int], reach: int) -> Iterator[tuple[int, int, int]]:
    """(upper rank, lower rank, distance from the ideal) of the pairs to consider."""
    ends = {}
    for _, group in groupby(range(len(points)), key=lambda rank: points[rank]):
        ranks = list(group)
        ends.update(dict.fromkeys(ranks, (ranks[0], ranks[-1] + 1)))
    for upper, (start, end) in ends.items():
        half = (end - start) // 2
        near = range(upper + 1, min(len(points), upper + 1 + reach))
        ideal = range(max(upper + 1, upper + half - reach), min(end, upper + half + reach + 1))
        for lower in sorted({*near, *ideal}):
            # Between two groups, the ideal is that neighbouring ranks meet.
            yield upper, lower, abs(lower - upper - half) if lower < end else lower - upper - 1


def _pair_cost(upper: SwissPlayer, lower: SwissPlayer, apart: int) -> tuple[int, int, int, int, int, int]:
    """The costs of a pair, the most important first; see `swiss_round`."""
    same_seat = upper.balance * lower.balance > 0
    surplus = min(abs(upper.balance), abs(lower.balance)) if same_seat else 0
    differs = upper.points != lower.points
    return (
        0,
        int(surplus >= BALANCE_LIMIT),
        (upper.points - lower.points) ** 2,
        surplus**2,
        differs * ((upper.floated == 1) + (lower.floated == -1)),
        apart**2,
    )


def lot(seed: int, name: str) -> bytes:
    """Return the lot of a participant: those with seeds by lot are seeded in the order of these."""
    return sha256(f"{seed} {name}".encode()).digest()
