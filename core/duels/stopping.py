"""Which duels end as soon as they are decided."""

from __future__ import annotations

from dataclasses import replace

from arena_kit.ranking.sequential import SequentialTest
from core.models import Environment, Tournament


def duel_test(*, environment: Environment, match_count: int) -> SequentialTest | None:
    """The test that ends duels which the arena makes by itself, where the environment says so; None without."""
    return _which_is_stronger(environment, match_count) if environment.stops_early else None


def tournament_test(*, tournament: Tournament, match_count: int) -> SequentialTest | None:
    """The test that ends duels of an organisers' tournament, where its settings say so; None without.

    Its bounds are those that the first duel was drawn with: like the rules of the game they stay while it is played.
    """
    if not tournament.settings.get("stops_early"):
        return None
    test = _which_is_stronger(tournament.environment, match_count)
    first = tournament.duels.filter(test__isnull=False).order_by("number").values_list("test", flat=True).first()
    return test if test is None or first is None else replace(SequentialTest(**first), cap=test.cap)


def _which_is_stronger(environment: Environment, match_count: int) -> SequentialTest | None:
    """Symmetric: neither of the two is the one that has to show something. None for less than a pair of matches."""
    if match_count < 2:
        return None
    bound = max(abs(environment.test_elo0), abs(environment.test_elo1))
    return SequentialTest(-bound, bound, environment.test_alpha, environment.test_alpha, match_count // 2)
