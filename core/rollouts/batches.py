"""Batches of rollouts: asked for by people, or made by the arena for its boards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.db.models import Count, OuterRef, Subquery
from django.utils import timezone

from arena_kit.text import plain_line
from core.errors import Refused
from core.jobs.control import job_cancel_if_open
from core.jobs.states import OPEN
from core.models import (
    Batch,
    BatchPurpose,
    CancelCode,
    Environment,
    JobFault,
    JobState,
    LanguageModel,
    Package,
    Rollout,
    RolloutAgent,
    Submission,
    SubmissionForm,
    Task,
    User,
)
from core.models.job import PRIORITIES
from core.people.quotas import owner_lock
from core.people.rights import may
from core.rollouts.lining import MOST_ROLLOUTS, rollouts_line_up
from core.rollouts.packages import package_build_ensure
from core.rollouts.permissions import OTHERS, check_may_ask, models_for, task_visible
from core.rollouts.quotas import rollout_quota_check
from core.rollouts.reading import newest_package
from core.rollouts.sets import ranking_tasks, task_set_get

MOST_ATTEMPTS = 50
RANKING_ATTEMPTS = 3
"""Attempts at each task for the board: pass^3 needs three."""
MOST_PROMPT = 4_000
LIMITS = ("steps", "seconds", "agent_seconds", "tokens", "cost_micros")


@dataclass(frozen=True, slots=True)
class AgentChoice:
    """Who works at the tasks of a batch. submission: for SUBMISSION, which may use a model besides.

    vision: whether the agent gets pictures. temperature: of a model; None for the model's own.
    """

    kind: RolloutAgent
    submission: Submission | None = None
    model: LanguageModel | None = None
    vision: bool = False
    temperature: float | None = None
    prompt: str = ""

    def config(self) -> dict[str, Any]:
        """Return what a batch keeps besides submission and model."""
        return {"vision": self.vision, "temperature": self.temperature, "prompt": self.prompt[:MOST_PROMPT]}


@dataclass(frozen=True, slots=True)
class Options:
    """How the rollouts of a batch are made. limits: tighter ones than those of the tasks. priority: by organisers."""

    attempts: int = 1
    limits: Mapping[str, int] = field(default_factory=dict)
    priority: int = 0
    note: str = ""
    task_filter: Mapping[str, str] = field(default_factory=dict)


def batch_create(
    *, owner: User, environment: Environment, tasks: Sequence[Task], agent: AgentChoice, options: Options | None = None
) -> Batch:
    """Let an agent work at tasks, several times at each; return the batch. Raises Refused and QuotaExceeded.

    tasks: current ones of the application, read with their files.
    """
    options = options or Options()
    check_may_ask(owner)
    _check_options(owner, environment, tasks, options)
    _check_agent(owner, environment, agent, tasks)
    package = _package(environment)
    with transaction.atomic():
        locked = owner_lock(owner)
        rollout_quota_check(owner=locked, environment=environment, rollout_count=len(tasks) * options.attempts)
        return _create(locked, package, tasks, agent, options, BatchPurpose.ASKED)


def ranking_begin(*, submission: Submission) -> Batch | None:
    """Let a version work at the tasks that rank its application and that it has not attempted; None without any.

    Call it in a transaction that holds the agent's row.
    """
    environment = submission.agent.environment
    package = newest_package(environment)
    done = _attempted(submission)
    tasks = [task for task in ranking_tasks(task_set_get(environment)) if done.get(task.pk, 0) < RANKING_ATTEMPTS]
    if package is None or not tasks or submission.agent.is_disabled or submission.agent.is_resting:
        return None
    choice = AgentChoice(RolloutAgent.SUBMISSION, submission=submission, vision=True)
    options = Options(attempts=RANKING_ATTEMPTS, note="For the board.")
    return _create(submission.agent.owner, package, tasks, choice, options, BatchPurpose.RANKING)


def ranking_renew(*, environment: Environment) -> list[Batch]:
    """Let the newest version of every agent work at the tasks of the board that are new to it; return the batches."""
    newest = Submission.objects.filter(agent=OuterRef("agent"), deleted_at=None).exclude(image="").order_by("-number")
    rows = Submission.objects.filter(agent__environment=environment, pk=Subquery(newest.values("pk")[:1]))
    rows = rows.filter(agent__is_disabled=False, agent__owner__is_active=True).select_related("agent__environment")
    with transaction.atomic():
        made = [ranking_begin(submission=submission) for submission in rows.order_by("agent_id")]
    return [batch for batch in made if batch is not None]


def batch_cancel(*, batch: Batch, by_owner: bool = True) -> int:
    """Cancel the rollouts of a batch that are not over; return how many."""
    code = CancelCode.BY_OWNER if by_owner else CancelCode.BY_ORGANISER
    return sum(rollout_cancel(rollout=rollout, code=code) for rollout in batch.rollouts.filter(state__in=OPEN))


def batch_hide(*, batch: Batch, by_owner: bool = True) -> None:
    """Cancel what is not over, and take the batch and its rollouts out of all lists. Results that rank stay."""
    batch_cancel(batch=batch, by_owner=by_owner)
    now = timezone.now()
    batch.rollouts.filter(hidden_at=None).update(hidden_at=now)
    Batch.objects.filter(pk=batch.pk, hidden_at=None).update(hidden_at=now)


def rollout_cancel(*, rollout: Rollout, code: CancelCode) -> bool:
    """Cancel a rollout; return False for one that is over. Its worker removes the world within seconds."""
    reason = "Its owner has cancelled it." if code == CancelCode.BY_OWNER else "It was cancelled by the arena."
    return job_cancel_if_open(job=rollout, code=code, reason=reason)


def rollout_hide(*, rollout: Rollout, by_owner: bool = True) -> None:
    """Cancel a rollout if it is not over, and take it out of all lists."""
    rollout_cancel(rollout=rollout, code=CancelCode.BY_OWNER if by_owner else CancelCode.BY_ORGANISER)
    Rollout.objects.filter(pk=rollout.pk, hidden_at=None).update(hidden_at=timezone.now())


def _attempted(submission: Submission) -> dict[int, int]:
    """Return by task the attempts of a version for the board that count or still may."""
    rows = submission.rollouts.filter(is_ranked=True).exclude(state=JobState.CANCELLED)
    rows = rows.exclude(state=JobState.FAILED, fault=JobFault.PLATFORM)
    return dict(rows.order_by().values_list("task").annotate(Count("pk")))


def _create(
    owner: User, package: Package, tasks: Sequence[Task], agent: AgentChoice, options: Options, purpose: BatchPurpose
) -> Batch:
    batch = Batch.objects.create(
        owner=owner,
        environment=package.environment,
        package=package,
        purpose=purpose,
        agent_kind=agent.kind,
        submission=agent.submission,
        model=agent.model,
        agent_config=agent.config(),
        task_filter=dict(options.task_filter),
        attempts=options.attempts,
        limits=dict(options.limits),
        note=plain_line(options.note)[:200],
    )
    for seed in sorted({task.seed for task in tasks}) if package.manifest["seeds"] else ():
        package_build_ensure(package=package, seed=seed)
    rollouts_line_up(batch=batch, tasks=tasks, attempts=options.attempts, priority=options.priority)
    return batch


def _check_options(owner: User, environment: Environment, tasks: Sequence[Task], options: Options) -> None:
    if not environment.is_app:
        raise Refused(f"{environment} is not an application, so it has no rollouts.", code="no_application")
    if not environment.is_active:
        raise Refused(environment.closed_because, code="closed")
    if not 1 <= options.attempts <= MOST_ATTEMPTS:
        raise Refused(f"A batch has 1 to {MOST_ATTEMPTS} attempts at each task.", field="attempts", code="attempts")
    if not tasks:
        raise Refused("Choose at least one task.", field="tasks", code="no_tasks")
    if len(tasks) * options.attempts > MOST_ROLLOUTS:
        raise Refused(f"A batch has at most {MOST_ROLLOUTS:,} rollouts.", field="attempts", code="too_many_rollouts")
    if options.priority and not (may(owner, "core.change_rollout") and -PRIORITIES <= options.priority <= PRIORITIES):
        raise Refused(f"Organisers set priorities, from -{PRIORITIES} to {PRIORITIES}.", field="priority")
    if unknown := sorted(set(options.limits) - set(LIMITS)):
        raise Refused(
            f"There is no limit {unknown[0][:40]}. The limits are {', '.join(LIMITS)}.", field="limits", code="limits"
        )
    if any(value < 1 for value in options.limits.values()):
        raise Refused("A limit is a whole number from 1 on.", field="limits", code="limits")
    for task in tasks:
        if task.environment_id != environment.pk or not task_visible(task, owner):
            raise Refused("Task not found", field="tasks", code="task_not_found")
        if task.archived_at is not None:
            raise Refused(f"The task {task.name} is archived.", field="tasks", code="archived")


def _check_agent(owner: User, environment: Environment, agent: AgentChoice, tasks: Sequence[Task]) -> None:
    if agent.model is not None and not models_for(owner).filter(pk=agent.model.pk).exists():
        raise Refused(f"You may not use the model {agent.model}.", field="model", code="model_not_yours")
    match agent.kind:
        case RolloutAgent.MODEL if agent.model is None:
            raise Refused("Choose a model.", field="model", code="no_model")
        case RolloutAgent.SUBMISSION:
            _check_submission(owner, environment, agent.submission)
        case RolloutAgent.SCRIPTED:
            lost = [task.name for task in tasks if not task.has_oracle]
            if lost:
                raise Refused(f"The task {lost[0]} has no oracle to play.", field="agent", code="no_oracle")


def _check_submission(owner: User, environment: Environment, submission: Submission | None) -> None:
    if submission is None or submission.agent.environment_id != environment.pk:
        raise Refused("Choose a version of an agent of this application.", field="agent", code="no_agent")
    if submission.agent.owner_id != owner.pk and not may(owner, OTHERS):
        raise Refused("You can start rollouts of your own agents only.", field="agent", code="agent_not_yours")
    if submission.deleted_at is not None or not submission.image or submission.form != SubmissionForm.PLAYER:
        raise Refused("This version is not built.", field="agent", code="agent_not_built")
    if submission.agent.is_disabled:
        raise Refused("This agent is disabled.", field="agent", code="agent_disabled")


def _package(environment: Environment) -> Package:
    package = newest_package(environment)
    if package is None:
        raise Refused(f"No package of {environment} has been built yet.", code="no_package")
    return package
