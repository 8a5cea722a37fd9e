"""The sequential tests that end duels as soon as they are decided."""

from __future__ import annotations

from dataclasses import replace

from arena_kit.ranking.sequential import SequentialTest
from core.models import Environment, Tournament


def version_test(environment: Environment) -> SequentialTest:
    """Return the test of whether one version of an agent is better than another one."""
    return SequentialTest(
        environment.test_elo0,
        environment.test_elo1,
        environment.test_alpha,
        environment.test_beta,
        environment.test_cap,
    )


def duel_test(*, environment: Environment, match_count: int) -> SequentialTest | None:
    """Return the test for duels that the arena creates itself, where the environment stops early; otherwise None."""
    return _which_is_stronger(environment, match_count) if environment.stops_early else None


def tournament_test(*, tournament: Tournament, match_count: int) -> SequentialTest | None:
    """Return the test for duels of an organiser's tournament, where its settings stop early; otherwise None.

    The bounds are those of its first duel: like the rules of the game, they stay the same during a tournament.
    """
    if not tournament.settings.get("stops_early"):
        return None
    test = _which_is_stronger(tournament.environment, match_count)
    first = tournament.duels.filter(test__isnull=False).order_by("number").values_list("test", flat=True).first()
    return test if test is None or first is None else replace(SequentialTest(**first), cap=test.cap)


def _which_is_stronger(environment: Environment, match_count: int) -> SequentialTest | None:
    """Return a symmetric test, in which neither player has to prove more; None for fewer than two matches."""
    if match_count < 2:
        return None
    bound = max(abs(environment.test_elo0), abs(environment.test_elo1))
    return SequentialTest(-bound, bound, environment.test_alpha, environment.test_alpha, match_count // 2)
