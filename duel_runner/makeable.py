"""Work whose environment this worker cannot make: where the whole site lacks it, duels wait and other jobs end at once.

What one worker finds proves nothing about the site: it may be out of memory, or lack a package that others have. It
gives the job back and leaves those of this environment to other workers until it can make the environment again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Concatenate, ParamSpec, TypeVar

from arena_kit.environment.availability import Unavailability, trouble_of
from arena_kit.environment.protocol import UnknownEnvironment
from arena_kit.environment.registry import get_spec
from arena_kit.errors import PlatformFault
from core.duels.pausing import job_pause, paused_because
from core.environments.availability import (
    PAUSE,
    job_delay_unavailable,
    job_fail_unavailable,
    unmakeable_note,
    unmakeable_remind,
    unmakeable_settle,
)
from core.jobs.claims import leave_out
from core.jobs.lease import Lease
from core.jobs.lifecycle import job_delay
from core.models import Drill, Duel, Environment, Evaluation, Job, Sitting, Validation
from duel_runner.rules import RULES_MISSING_CODE, rules

AnyPlayed = TypeVar("AnyPlayed", Duel, Validation, Evaluation, Sitting, Drill)
Rest = ParamSpec("Rest")
UNMAKEABLE_CODE = "environment_unmakeable"
NO_RULES = Unavailability("Its rules are not there.", hint="Give it the same ENVIRONMENTS_DIR as the site.")

_known: dict[str, Unavailability | None] = {}
"""By spec id: what does not change in the life of a worker, namely that a trial succeeded or a package is missing."""


def if_makeable(
    action: Callable[Concatenate[AnyPlayed, Lease, Rest], None],
) -> Callable[Concatenate[AnyPlayed, Lease, Rest], None]:
    """Do the work of a job only where its environment can be made; else fail it or raise PlatformFault."""

    @wraps(action)
    def guarded(job: AnyPlayed, lease: Lease, /, *arguments: Rest.args, **named: Rest.kwargs) -> None:
        environment = _environment(job)
        played: Job = job
        if isinstance(played, Duel | Evaluation) and (because := paused_because(played)):
            job_pause(job=played, because=because, log=lease.text)
            return
        waiting: Duel | Evaluation | None = None
        if isinstance(played, Duel) or (isinstance(played, Evaluation) and played.tournament_id is not None):
            waiting = None if environment.is_available else played
        try:
            # First, because it raises its own fault for rules that no longer exist.
            rules(job)
        except PlatformFault:
            if waiting is None and job.environment_version not in environment.rules_ids:
                raise
        trouble = trouble_here(job.environment_version)
        if trouble is None:
            action(job, lease, *arguments, **named)
            return
        if waiting is not None:
            job_delay_unavailable(job=waiting, environment=environment, log=lease.text)
            return
        if not environment.is_available:
            job_fail_unavailable(job=job, environment=environment, log=lease.text)
            return
        unmakeable_note(environment=environment, trouble=trouble)
        leave_out(environment.pk, while_true=partial(_is_unmakeable, environment.pk, job.environment_version))
        if trouble is NO_RULES:
            # Rules of today are only late, so this was no attempt.
            job_delay(job=played, span=PAUSE, code=RULES_MISSING_CODE, error=trouble.because, log=lease.text)
            return
        raise PlatformFault(f"The worker could not load {environment}.", code=UNMAKEABLE_CODE)

    return guarded


def trouble_here(spec_id: str) -> Unavailability | None:
    """Return why this worker cannot make an environment; None when it can."""
    if spec_id in _known:
        return _known[spec_id]
    try:
        trouble = trouble_of(get_spec(spec_id))
    except UnknownEnvironment:
        return NO_RULES
    if trouble is None or trouble.is_missing:
        _known[spec_id] = trouble
    return trouble


def _is_unmakeable(environment_id: int, spec_id: str) -> bool:
    """Return whether this worker still cannot make an environment that the site takes for available."""
    environment = Environment.objects.filter(pk=environment_id).first()
    if environment is None or not environment.is_available:
        # The site's row has it by now, so its waiting jobs end with a sentence.
        return False
    if (trouble := trouble_here(spec_id)) is not None:
        unmakeable_remind(environment=environment, trouble=trouble)
        return True
    unmakeable_settle(environment=environment)
    return False


def _environment(job: Duel | Validation | Evaluation | Sitting | Drill) -> Environment:
    submission = job.player_1 if isinstance(job, Duel) else job.submission
    return submission.agent.environment
