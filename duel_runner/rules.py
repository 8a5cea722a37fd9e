"""The rules of a job, its limits, and the test that may end a duel early."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from arena_kit.environment.protocol import UnknownEnvironment
from arena_kit.environment.registry import get_spec
from arena_kit.environment.spec import EnvironmentSpec, Limits
from arena_kit.errors import PlatformFault
from arena_kit.ranking.sequential import SequentialTest, pairs_to_decide
from arena_kit.referee.deciding import Decided
from core.models import Branch, Drill, Environment, Evaluation, PlayedJob

RULES_MISSING_CODE = "rules_missing"
"""The code of the platform fault that the rules of a job are not found."""


def rules(job: PlayedJob | Evaluation | Drill) -> EnvironmentSpec:
    """Return the rules in the version that the job was created for, so no edition mixes two. Raises PlatformFault."""
    try:
        return get_spec(job.environment_version)
    except UnknownEnvironment:
        raise PlatformFault(
            f"The rules of this {job.KIND}, {job.environment_version}, are no longer in this arena's code.",
            code=RULES_MISSING_CODE,
        ) from None


def decided_by(test: dict[str, Any] | None) -> Decided | None:
    """Return the function that tells whether a sequential test has ended, by its values; None without a test."""
    return None if test is None else partial(pairs_to_decide, SequentialTest(**test))


def branch_of(job: PlayedJob) -> tuple[int, ...] | None:
    """Return the actions that a job's matches begin with, if they go on from a recorded match."""
    return tuple(job.opening) if isinstance(job, Branch) and job.opening is not None else None


def limits_of(job: PlayedJob, environment: Environment) -> Limits:
    """Return the players' limits in a job. A duel longer than those of tournaments gets more time in proportion."""
    limits = environment.limits
    longer = max(1.0, job.match_count / max(1, environment.matches_per_duel))
    return replace(limits, duel_seconds=limits.duel_seconds * longer)
