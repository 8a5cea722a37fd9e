"""Work whose environment this worker cannot make ends at once, instead of failing again and again."""

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
    """Do the work of a job only where its environment can be made; else the job fails, and organisers are called."""

    @wraps(action)
    def guarded(job: AnyPlayed, lease: Lease, /, *arguments: Rest.args, **named: Rest.kwargs) -> None:
        # First: rules that are gone are another matter.
        spec = rules(job)
        trouble = _trouble(spec.id)
        if trouble is None:
            action(job, lease, *arguments, **named)
        else:
            environment_lost(job=job, environment=_environment(job), trouble=trouble, log=lease.text)

    return guarded


@cache
def _trouble(spec_id: str) -> Trouble | None:
    """Tried once in the life of a worker: what is installed does not change under it."""
    return trouble_of(get_spec(spec_id))


def _environment(job: Duel | Validation | Evaluation) -> Environment:
    submission = job.player_1 if isinstance(job, Duel) else job.submission
    return submission.agent.environment
