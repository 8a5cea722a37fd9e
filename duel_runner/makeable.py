"""Fails a job at once if this worker cannot make its environment, instead of retrying in vain."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Concatenate, ParamSpec, TypeVar

from arena_kit.environment.availability import Trouble, trouble_of
from arena_kit.environment.registry import get_spec
from core.environments.availability import environment_lost
from core.jobs.worker import Lease
from core.models import Duel, Environment, Evaluation, Validation
from duel_runner.rules import rules

AnyPlayed = TypeVar("AnyPlayed", Duel, Validation, Evaluation)
Rest = ParamSpec("Rest")


def if_makeable(
    action: Callable[Concatenate[AnyPlayed, Lease, Rest], None],
) -> Callable[Concatenate[AnyPlayed, Lease, Rest], None]:
    """Wrap the work of a job: if its environment cannot be made, fail the job and raise an alarm."""

    @wraps(action)
    def guarded(job: AnyPlayed, lease: Lease, /, *arguments: Rest.args, **named: Rest.kwargs) -> None:
        # First, because it raises its own fault for rules that no longer exist.
        spec = rules(job)
        trouble = _trouble(spec.id)
        if trouble is None:
            action(job, lease, *arguments, **named)
        else:
            environment_lost(job=job, environment=_environment(job), trouble=trouble, log=lease.text)

    return guarded


@cache
def _trouble(spec_id: str) -> Trouble | None:
    """Return why an environment cannot be made; cached, because packages do not change while a worker runs."""
    return trouble_of(get_spec(spec_id))


def _environment(job: Duel | Validation | Evaluation) -> Environment:
    submission = job.player_1 if isinstance(job, Duel) else job.submission
    return submission.agent.environment
