"""Who meets whom. Pure functions over the indices of participants."""

from __future__ import annotations


def round_robin(count: int) -> list[list[tuple[int, int]]]:
    """Rounds of a full round robin by the circle method; with an odd count one participant rests in each round.

    Returns rounds of (player_1, player_2) pairs of indices 0 .. count-1. Every pair meets once; over the tournament
    each participant is player_1 as often as player_2, or once more or less (with an even count).
    Source: Berger tables / circle method, see https://en.wikipedia.org/wiki/Round-robin_tournament.
    """
    if count < 2:
        return []
    places: list[int | None] = list(range(count))
    if count % 2:
        places.append(None)
    size = len(places)
    rounds = []
    for number in range(size - 1):
        pairs = []
        for index in range(size // 2):
            first, second = places[index], places[size - 1 - index]
            if first is None or second is None:
                continue
            # The fixed place alternates by round, the others by board: this balances who is player_1.
            swap = number % 2 == 1 if index == 0 else index % 2 == 1
            pairs.append((second, first) if swap else (first, second))
        rounds.append(pairs)
        places = [places[0], places[-1], *places[1:-1]]
    return rounds
