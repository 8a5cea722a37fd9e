"""Actions on packages of applications and on batches of rollouts."""

from __future__ import annotations

from core.jobs.states import OPEN
from core.models import Batch, JobState, Package
from core.rollouts.acceptance import acceptance_begin
from core.rollouts.batches import batch_cancel, ranking_renew
from core.rollouts.packages import package_build_ensure
from web.organise.action import OrganiserAction, OrganiserAnswer, OrganiserQuestion


def _build(package: Package, answer: OrganiserAnswer) -> str:
    build = package_build_ensure(package=package, seed=0)
    return f"has the build {build.pk}, which {'waits' if build.state == JobState.QUEUED else 'is there already'}."


def _try_tasks(package: Package, answer: OrganiserAnswer) -> str:
    batches = acceptance_begin(package=package, again=True)
    return f"has {len(batches)} new batches that try its tasks."


def _rank(package: Package, answer: OrganiserAnswer) -> str:
    return f"has {len(ranking_renew(environment=package.environment))} agents at work for the board."


def _cancel(batch: Batch, answer: OrganiserAnswer) -> str:
    count = batch_cancel(batch=batch, by_owner=False)
    return f"has {count} cancelled rollouts." if count else "had nothing to cancel."


PACKAGE_ACTIONS: tuple[OrganiserAction[Package], ...] = (
    OrganiserAction(
        name="build",
        label="Build, if no build of it has succeeded",
        button="Build",
        do=_build,
    ),
    OrganiserAction(
        name="try_tasks",
        label="Try all its tasks again",
        button="Try its tasks",
        do=_try_tasks,
        question=OrganiserQuestion(
            title="Try tasks again",
            consequence="The oracles of all current tasks are tried again, e.g. with a new package. Each try is a "
            "rollout that waits in line.",
            button="Try them",
        ),
    ),
    OrganiserAction(
        name="rank",
        label="Let all agents work at tasks of the board that are new to them",
        button="Renew the board",
        do=_rank,
        question=OrganiserQuestion(
            title="Renew boards",
            consequence="The newest version of every agent works at the tasks of the board that are new to it, e.g. "
            "after an upload of tasks.",
            button="Let them work",
        ),
    ),
)
CANCEL_BATCH = OrganiserAction(
    name="cancel",
    label="Cancel what is not over",
    button="Cancel",
    do=_cancel,
    question=OrganiserQuestion(
        title="Cancel batches",
        consequence="Their rollouts that wait or run are cancelled for good. Those that are over stay.",
        button="Cancel them",
    ),
    fits=lambda batch: batch.rollouts.filter(state__in=OPEN).exists(),
)
