"""Rated duels whose environment fails: they are put on hold after their last attempt instead of being void.

A valid action may crash an environment. If its duel became void, a losing player who knows such an action would escape
its loss. So the duel waits until the environment has changed or an organiser lets it be tried again.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from django.conf import settings
from django.db.models import QuerySet

from arena_kit.referee.faults import ENVIRONMENT_FAILED
from core.jobs.lifecycle import job_hold, jobs_go_on
from core.jobs.selectors import attempts_of
from core.jobs.waits import HELD_CODE, ON_HOLD
from core.links import page
from core.models import Alarm, Duel, Environment, Job
from core.notices.alarms import alarm_raise, alarm_settle

HOLD = timedelta(days=3650)
"""How long a duel on hold is delayed, if nothing ends it before."""
_BEFORE, _AFTER = "environment-", "-fails"


def is_held_after(duel: Duel) -> bool:
    """Return whether a running duel is put on hold if its environment fails now: a rated one in its last attempt."""
    return duel.tournament_id is not None and duel.attempt >= settings.JOB_MAX_ATTEMPTS


def duel_hold(
    *, duel: Duel, error: str, seeds: Mapping[int, int], log: str, code: str = ENVIRONMENT_FAILED, why: str = ""
) -> None:
    """Put a running duel on hold because its environment fails, and raise an alarm. No player is blamed.

    error, code: of the fault that ended its last attempt. why: what failed in the environment, where that was in an
    earlier attempt. seeds: by the numbers of the matches of which one failed; only the alarm shows them, since the duel
    will be played again with the same seeds.
    """
    environment = duel.environment
    job_hold(job=duel, span=HOLD, code=HELD_CODE, error=error, failure=code, log=log)
    where = ", ".join(f"match {number} (seed {seed})" for number, seed in seeds.items())
    one = f" in {'one of these: ' if len(seeds) > 1 else ''}{where}" if where else ""
    last = f" Its last attempt ended by another fault: {error} ({code})." if why else ""
    alarm_raise(
        key=failing_key(environment),
        message=f"{environment} failed at duel {duel.pk}, {duel}{one}. {why or error}{last} The duel is on hold: "
        "no player is blamed, and it is not void. Fix the environment and run `sync_environments`, or "
        f"requeue or cancel the duel. Duels on hold there: {_held(environment).count()}.",
        address=page("duel", duel.pk),
    )


def duel_hold_instead(job: Job, *, code: str, error: str, log: str) -> bool:
    """Put a rated duel on hold that would be void after its last attempt, if its environment failed in another one.

    Return whether it did. Otherwise the last attempt, which e.g. the engine ended, would make a loss void.
    """
    if not isinstance(job, Duel) or not is_held_after(job):
        return False
    failed = [one.error for one in attempts_of(job) if one.code == ENVIRONMENT_FAILED]
    if failed:
        duel_hold(duel=job, error=error, seeds={}, log=log, code=code, why=failed[-1])
    return bool(failed)


def duels_try_again(*, environment: Environment) -> None:
    """End the hold of an environment's duels after it was synced, except those of rules that it no longer has."""
    jobs_go_on(_held(environment).filter(environment_version__in=environment.rules_ids))
    if not _held(environment).exists():
        alarm_settle(key=failing_key(environment))


def alarms_settle_released() -> None:
    """Settle the alarms about environments of which no duel is on hold any more: it was requeued or cancelled."""
    raised = Alarm.objects.filter(key__startswith=_BEFORE, key__endswith=_AFTER, settled_at=None)
    for key in raised.values_list("key", flat=True):
        slug = key.removeprefix(_BEFORE).removesuffix(_AFTER)
        if not Duel.objects.filter(ON_HOLD, **{f"{Duel.ENVIRONMENT}__slug": slug}).exists():
            alarm_settle(key=key)


def _held(environment: Environment) -> QuerySet[Duel]:
    return Duel.objects.filter(ON_HOLD, **{Duel.ENVIRONMENT: environment})


def failing_key(environment: Environment) -> str:
    """Return the key of the alarm about an environment whose duels are on hold."""
    return f"{_BEFORE}{environment.slug}{_AFTER}"
