"""Blocks: duels of one tournament that are played in one pod, because they share its submissions."""

from __future__ import annotations

from collections.abc import Mapping

from core.jobs.claims import waiting
from core.jobs.lifecycle import job_claim
from core.jobs.registry import SERVICES
from core.models import Duel

LOOKED_AT = 1000
"""How many duels at the head of the line are looked at for a block."""
Pair = frozenset[int]


def duels_take(duel: Duel, *, size: int, worker: str) -> list[Duel]:
    """Claim more duels of a claimed duel's tournament for a worker, so that at most `size` submissions play."""
    if size <= 2 or duel.player_1.agent.environment.gpu_count:
        # In a block, all its players would hold their graphics cards while two of them play.
        return []
    waits = waiting(next(line for service in SERVICES.values() for line in service.lines if line.holds(duel)))
    rows = Duel.objects.filter(tournament=duel.tournament, pk__in=waits.values("pk")).order_by("sort_key", "pk")
    found = rows.values_list("pk", "player_1", "player_2")[:LOOKED_AT]
    pairs = {number: frozenset(players) for number, *players in found}
    block = block_of(frozenset((duel.player_1_id, duel.player_2_id)), pairs, size)
    # Another driver may have been quicker.
    claimed = (job_claim(kind=Duel, job_id=number, worker=worker) for number in block)
    return [duel for duel in claimed if duel is not None]


def block_of(first: Pair, pairs: Mapping[int, Pair], size: int) -> list[int]:
    """Return the duels that a block plays besides the first: as many as `size` submissions have among themselves.

    pairs: the submissions of each waiting duel, in line. One submission after the other is added that has the most
    duels with those of the block; of equal ones, the one with the earliest duel.
    """
    chosen = set(first)
    while len(chosen) < size:
        gains: dict[int, int] = {}
        for pair in pairs.values():
            if len(outside := pair - chosen) == 1:
                (player,) = outside
                gains[player] = gains.get(player, 0) + 1
        if not gains:
            break
        chosen.add(max(gains, key=gains.__getitem__))
    return [number for number, pair in pairs.items() if pair <= chosen]
