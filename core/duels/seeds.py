"""The seeds of duels: in an environment with openings, the duels of a tournament share their list of openings."""

from __future__ import annotations

from hashlib import sha256

from django.utils.crypto import salted_hmac

from arena_kit.environment.protocol import UnknownEnvironment
from arena_kit.environment.registry import get_spec
from arena_kit.environment.spec import EnvironmentSpec


def duel_seed(*, environment_version: str, tournament_seed: int, own: int, encounter: int, period: str = "") -> int:
    """Return the seed of a new duel of a tournament.

    Without openings it is `own`. With openings it follows from the tournament's seed and the encounter, not from who
    the two are. So all pairs of submissions play the same openings, which compares them best, and two submissions that
    meet again play other ones. Where chance decides what a player may know, it cannot be told from other seeds: from
    the records of earlier duels a new version could know the cards of all later ones.

    encounter: 0 for the first duel of the two in the tournament, or in the period, and another number for every later
    one. period: the part of a tournament in which openings are shared, where it has no end; "" for the whole of it.
    """
    spec = _spec(environment_version)
    if spec is not None and not spec.pairs_share_chance:
        return int.from_bytes(salted_hmac("seeds of duels", f"{tournament_seed} {own}").digest()[:4]) >> 1
    if spec is None or spec.openings is None:
        return own
    text = f"openings {tournament_seed} {encounter} {period}".rstrip()
    return int.from_bytes(sha256(text.encode()).digest()[:4]) >> 1


def _spec(environment_version: str) -> EnvironmentSpec | None:
    """Return these rules; None where they are no longer here."""
    try:
        return get_spec(environment_version)
    except UnknownEnvironment:
        return None
