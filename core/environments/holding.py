"""Rated duels whose environment fails in every attempt: they are put on hold instead of being void.

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
from core.jobs.waits import HELD_CODE
from core.links import page
from core.models import Duel, Environment, JobState
from core.notices.alarms import alarm_raise, alarm_settle

HOLD = timedelta(days=3650)
"""How long a duel on hold is delayed, if nothing ends it before."""


def is_held_after(duel: Duel) -> bool:
    """Return whether a running duel is put on hold if its environment fails now: a rated one in its last attempt."""
    return duel.tournament_id is not None and duel.attempt >= settings.JOB_MAX_ATTEMPTS


def duel_hold(*, duel: Duel, error: str, seeds: Mapping[int, int], log: str) -> None:
    """Put a running duel on hold because its environment fails, and raise an alarm. No player is blamed.

    error: what failed. seeds: by the numbers of the matches of which one failed; only the alarm shows them, since the
    duel will be played again with the same seeds.
    """
    environment = duel.environment
    job_hold(job=duel, span=HOLD, code=HELD_CODE, error=error, failure=ENVIRONMENT_FAILED, log=log)
    where = ", ".join(f"match {number} (seed {seed})" for number, seed in seeds.items())
    one = f" in {'one of these: ' if len(seeds) > 1 else ''}{where}" if where else ""
    alarm_raise(
        key=failing_key(environment),
        message=f"{environment} failed in every attempt at duel {duel.pk}, {duel}{one}. {error} The duel is on hold: "
        "no player is blamed, and it is not void. Mend the environment, run `sync_environments` and restart the "
        f"workers, or requeue or cancel the duel. Duels on hold there: {_held(environment).count()}.",
        address=page("duel", duel.pk),
    )


def duels_try_again(*, environment: Environment) -> None:
    """End the hold of an environment's duels after it was synced, except those of rules that it no longer has."""
    jobs_go_on(_held(environment).filter(environment_version=environment.spec_id))
    if not _held(environment).exists():
        alarm_settle(key=failing_key(environment))


def _held(environment: Environment) -> QuerySet[Duel]:
    return Duel.objects.filter(**{Duel.ENVIRONMENT: environment}, state=JobState.QUEUED, error_code=HELD_CODE)


def failing_key(environment: Environment) -> str:
    """Return the key of the alarm about an environment whose duels are on hold."""
    return f"environment-{environment.slug}-fails"
