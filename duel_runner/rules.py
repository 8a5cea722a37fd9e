"""The rules that a job is played with, and what ends a duel early."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from arena_kit.environment.protocol import UnknownEnvironment
from arena_kit.environment.registry import get_spec
from arena_kit.environment.spec import EnvironmentSpec, Limits
from arena_kit.ranking.sequential import SequentialTest, pairs_to_decide
from arena_kit.referee.duel import Decided
from core.jobs.worker import PlatformFault
from core.models import Duel, Environment, Evaluation, PlayedJob


def rules(job: PlayedJob | Evaluation) -> EnvironmentSpec:
    """The very version of the rules that a job was created for: an edition never mixes two. Raises PlatformFault."""
    try:
        return get_spec(job.environment_version)
    except UnknownEnvironment:
        raise PlatformFault(
            f"The rules of this {job.KIND}, {job.environment_version}, are not in this arena's code any more.",
            code="rules_missing",
        ) from None


def decided_by(duel: Duel) -> Decided | None:
    """What tells that a duel's sequential test has come to its end; None for a duel without one."""
    return None if duel.test is None else partial(pairs_to_decide, SequentialTest(**duel.test))


def limits_of(job: PlayedJob, environment: Environment) -> Limits:
    """What players may use in a job: for a duel that is longer than those of tournaments, more time in proportion."""
    limits = environment.limits
    longer = max(1.0, job.match_count / max(1, environment.matches_per_duel))
    return replace(limits, duel_seconds=limits.duel_seconds * longer)
