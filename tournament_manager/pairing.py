"""Who meets whom. Pure functions over the indices of participants."""

from __future__ import annotations


def round_robin(count: int) -> list[list[tuple[int, int]]]:
    """Rounds of a full round robin by the circle method; with an odd count one participant rests in each round.

    Returns rounds of (player_1, player_2) pairs of indices 0 .. count-1. Every pair meets once. With an odd count each
    participant is player_1 in exactly half of its duels, with an even count in half of them rounded up or down.
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
                # Player 1 against those up to half the circle ahead, player 2 against the others.
                pairs.append((one, other) if other - one <= circle // 2 else (other, one))
            elif one == other and circle < count:
                # Who would rest meets the one outside the circle.
                pairs.append((one, count - 1) if one % 2 == 0 else (count - 1, one))
        rounds.append(pairs)
    return rounds
