"""Figures of rollouts: how often tasks were solved, by the formulas of the library."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Q, QuerySet

from arena_kit.rollout.numbers.attempts import Counts, Measure, SetFigure, set_figure
from arena_kit.rollout.numbers.summary import (
    EndedAttempt,
    Often,
    Summary,
    counts_by_task,
    disagreements,
    how_often,
    only_by_oracle,
    summarise,
)
from core.models import Acceptance, BatchPurpose, Environment, JobFault, JobState, Rollout, RolloutOutcome, Task
from core.rollouts.permissions import Viewer, rollouts_visible, tasks_visible

OVER = (JobState.SUCCEEDED, JobState.FAILED)
ATTEMPTS_SHOWN = (1, 2, 3, 5, 8)
"""The numbers k of pass@k and pass^k that pages and the API show."""
COUNTED = Q(outcome__in=[RolloutOutcome.SOLVED, RolloutOutcome.PARTIAL, RolloutOutcome.NOT_SOLVED])
"""Rollouts that are attempts: neither spoilt by the platform nor without anything to judge by."""
SOLVED = Q(outcome=RolloutOutcome.SOLVED)


@dataclass(frozen=True, slots=True)
class BatchFigures:
    """The figures of a batch. any_of, all_of: pass@k and pass^k by k. often: how often each task was solved, by its
    name."""

    summary: Summary
    any_of: Mapping[int, SetFigure]
    all_of: Mapping[int, SetFigure]
    often: Mapping[str, Often]
    counts: Mapping[str, Counts]


@dataclass(frozen=True, slots=True)
class Analytics:
    """The analytics of an application's tasks. often: by task name, over all agents. agents: counts by agent and
    task."""

    often: Mapping[str, Often]
    disagreements: Sequence[tuple[str, float]]
    only_by_oracle: Sequence[str]
    agents: Mapping[str, Mapping[str, Counts]]


ATTEMPT = (
    *("outcome", "score", "fault", "history", "ended_by", "step_count", "seconds"),
    *("tokens_in", "tokens_out", "cost_micros"),
)
"""The columns that `attempt_of` reads."""


def attempt_of(row: Any, task: str) -> EndedAttempt:
    """Return a rollout that is over as the library counts it. row: has the columns of ATTEMPT by name."""
    return EndedAttempt(
        task=task,
        solved=row.outcome == RolloutOutcome.SOLVED,
        score=row.score or 0.0,
        spoilt=row.fault == JobFault.PLATFORM or row.outcome in ("", RolloutOutcome.UNJUDGED),
        retried=bool(row.history),
        ended_by=row.ended_by,
        steps=row.step_count,
        seconds=row.seconds,
        tokens=row.tokens_in + row.tokens_out,
        cost_micros=row.cost_micros,
    )


def attempts_in(rows: QuerySet[Rollout]) -> list[EndedAttempt]:
    """Return rollouts that are over, as the library counts them, with two queries."""
    names = _names(Task.objects.filter(pk__in=rows.order_by().values("task")))
    found = rows.filter(state__in=OVER).values_list("task", *ATTEMPT, named=True)
    return [attempt_of(row, names[row.task]) for row in found]


def _names(tasks: QuerySet[Task]) -> dict[int, str]:
    """Return the names of tasks by their ids."""
    return {task.pk: task.name for task in tasks.select_related("member").only("key", "member__username")}


def batch_figures(rows: QuerySet[Rollout]) -> BatchFigures:
    """Return the figures of a batch or of any other set of rollouts."""
    attempts = attempts_in(rows)
    counts = counts_by_task(attempts)
    most = max((each.attempts for each in counts.values()), default=0)
    shown = [k for k in ATTEMPTS_SHOWN if k <= most]
    return BatchFigures(
        summary=summarise(attempts),
        any_of={k: set_figure(counts, k) for k in shown},
        all_of={k: set_figure(counts, k, Measure.ALL) for k in shown},
        often={name: how_often(each) for name, each in counts.items()},
        counts=counts,
    )


def analytics(environment: Environment, viewer: Viewer) -> Analytics:
    """Return what the rollouts that a viewer sees tell about an application's current tasks, without trials."""
    rows = rollouts_visible(environment.rollouts.filter(COUNTED, task__is_current=True), viewer)
    rows = rows.exclude(batch__purpose=BatchPurpose.ACCEPTANCE)
    columns = ("batch__agent_kind", "submission__agent__name", "batch__model__name")
    names = _names(environment.tasks.filter(is_current=True))
    found = rows.order_by().values_list(*columns, "task")
    agents: dict[str, dict[str, Counts]] = defaultdict(dict)
    together: dict[str, Counts] = {}
    counted = found.annotate(made=Count("pk"), solved=Count("pk", filter=SOLVED))
    for kind, agent, model, task_id, made, solved in counted:
        counts, task = Counts(made, solved), names[task_id]
        agents[" with ".join(filter(None, (agent, model))) or kind.lower()][task] = counts
        known = together.get(task, Counts(0, 0))
        together[task] = Counts(known.attempts + made, known.solved + solved)
    accepted = tasks_visible(environment.tasks.filter(is_current=True, acceptance=Acceptance.ACCEPTED), viewer)
    return Analytics(
        often={name: how_often(each) for name, each in together.items()},
        disagreements=disagreements(agents),
        only_by_oracle=only_by_oracle(agents, _names(accepted).values()),
        agents=agents,
    )
