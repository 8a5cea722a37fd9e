"""The seeds of duels: in an environment with openings, the duels of a tournament share their list of openings."""

from __future__ import annotations

from hashlib import sha256

from arena_kit.environment.protocol import UnknownEnvironment
from arena_kit.environment.registry import get_spec


def duel_seed(*, environment_version: str, tournament_seed: int, own: int, encounter: int, period: str = "") -> int:
    """Return the seed of a new duel of a tournament.

    Without openings it is `own`. With openings it follows from the tournament's seed and the encounter, not from who
    the two are. So all pairs of submissions play the same openings, which compares them best, and two submissions that
    meet again play other ones.

    encounter: 0 for the first duel of the two in the tournament, or in the period, and another number for every later
    one. period: the part of a tournament in which openings are shared, where it has no end; "" for the whole of it.
    """
    if not has_openings(environment_version):
        return own
    text = f"openings {tournament_seed} {encounter} {period}".rstrip()
    return int.from_bytes(sha256(text.encode()).digest()[:4]) >> 1


def has_openings(environment_version: str) -> bool:
    """Return whether the matches of these rules begin with an opening; False for rules that are no longer here."""
    try:
        return get_spec(environment_version).openings is not None
    except UnknownEnvironment:
        return False
