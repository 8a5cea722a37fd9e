"""Background tasks of the tournament manager. A message names the row of an environment."""

from __future__ import annotations

import logging

from django.db.models.functions import Now

from core.assignments.deadlines import deadlines_tell
from core.assignments.testing import assignments_advance
from core.duels.challenges import challenges_follow
from core.editions.advance import environment_advance
from core.editions.planned import schedules_run
from core.jobs.apart import apart
from core.jobs.artifacts import artifacts_sweep
from core.models import Environment, EnvironmentKind
from core.operations.reaper import look
from core.submissions.images import duels_delay_rebuilt
from core.submissions.promotions import promotions_decide

logger = logging.getLogger(__name__)


def tournaments_advance(environment_id: int) -> None:
    """Refresh standings, end and start editions of one environment. Safe to call at any time, any number of times."""
    # The clock of the database, because that of this machine may be wrong.
    environment = Environment.objects.annotate(now=Now()).filter(pk=environment_id, kind=EnvironmentKind.RULES).first()
    if environment is not None:
        # First, because promotions decide which versions play next.
        with apart("The promotions"):
            promotions_decide()
        environment_advance(environment, now=environment.now)
        assignments_advance(now=environment.now, environment=environment)


def artifacts_remove_unused(_: int = 0) -> None:
    """Delete files left behind by workers that died or were refused."""
    artifacts_sweep()


def watchdog(_: int = 0) -> None:
    """Advance every environment once a minute, and do the work of reapers once more."""
    # First, so that delays are known before duels go back in line.
    for step in (duels_delay_rebuilt, look, challenges_follow):
        with apart(step.__name__):
            step()
    environments = list(Environment.objects.annotate(now=Now()))
    for task in (schedules_run, assignments_advance, deadlines_tell) if environments else ():
        with apart(task.__name__):
            task(now=environments[0].now)
    for environment in (one for one in environments if not one.is_app):
        with apart(environment):
            environment_advance(environment, now=environment.now)
