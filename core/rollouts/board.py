"""The board of an application: agents ranked by the tasks that they solve, with intervals, pass^3, cost and steps.

Only rollouts for the board count, at the tasks that organisers have chosen for a version of it, of each agent's newest
version that has any. After the choice of other tasks agents work at these on request.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from django.db.models import Max, QuerySet

from arena_kit.ranking.scores import Interval
from arena_kit.rollout.numbers.attempts import Measure, SetFigure, set_figure
from arena_kit.rollout.numbers.summary import EndedAttempt, Summary, counts_by_task, summarise
from core.models import Environment, JobState, Rollout, Submission, Task
from core.rollouts.batches import RANKING_ATTEMPTS
from core.rollouts.figures import ATTEMPT, OVER, attempt_of
from core.rollouts.sets import ranking_tasks, task_set_get

ALL_OF = 3


@dataclass(frozen=True, slots=True)
class TaskBoardRow:
    """An agent on the board. rank: ties share, 1, 1, 3; None before every task has an attempt.

    success: mean over tasks with its interval. all_of_3: pass^3. attempted: tasks with an attempt that counts.
    """

    rank: int | None
    submission: Submission
    success: SetFigure
    all_of_3: SetFigure
    summary: Summary
    attempted: int
    open_count: int

    @property
    def interval(self) -> Interval | None:
        """The 95% interval of the success rate."""
        return self.success.interval


@dataclass(frozen=True, slots=True)
class TaskBoard:
    """A board. version: of its tasks, 0 without any. tasks: those that rank. hidden_count: the hidden ones."""

    rows: tuple[TaskBoardRow, ...]
    version: int
    tasks: tuple[Task, ...]
    hidden_count: int

    @property
    def task_count(self) -> int:
        """The number of tasks that rank."""
        return len(self.tasks)


def board(environment: Environment, version: int | None = None) -> TaskBoard:
    """Return the board of an application, best first, by the newest version of its tasks or another.

    Five queries, whatever its size.
    """
    chosen = task_set_get(environment, version)
    tasks = ranking_tasks(chosen)
    keys = {task.pk: task.key for task in tasks}
    ranked = Rollout.objects.filter(
        environment=environment,
        is_ranked=True,
        task__in=keys,
        submission__deleted_at=None,
        submission__agent__is_disabled=False,
        submission__agent__is_resting=False,
        submission__agent__owner__is_active=True,
    )
    newest = dict(ranked.order_by().values_list("submission__agent").annotate(number=Max("submission__number")))
    submissions = {
        one.pk: one
        for one in Submission.objects.filter(agent__in=newest).select_related("agent__owner", "agent__environment")
        if newest[one.agent_id] == one.number
    }
    attempts, waiting = _attempts(ranked.filter(submission__in=submissions), keys)
    rows = [_row(submission, attempts[pk], waiting[pk], len(tasks)) for pk, submission in submissions.items()]
    hidden = sum(task.split == "HIDDEN" for task in tasks)
    return TaskBoard(_ranked(rows, len(tasks)), chosen.number if chosen else 0, tuple(tasks), hidden)


def _attempts(rows: QuerySet[Rollout], keys: dict[int, str]) -> tuple[dict[int, list[EndedAttempt]], dict[int, int]]:
    """Return by version its attempts that are over, the first RANKING_ATTEMPTS at each task, and how many are open."""
    attempts: dict[int, list[EndedAttempt]] = defaultdict(list)
    waiting: dict[int, int] = defaultdict(int)
    made: dict[tuple[int, int], int] = defaultdict(int)
    for row in rows.order_by("pk").values_list("submission", "task", "state", *ATTEMPT, named=True):
        if row.state not in OVER:
            waiting[row.submission] += row.state != JobState.CANCELLED
            continue
        attempt = attempt_of(row, keys[row.task])
        # Who asks again for the board gets no second chance: the first attempts that count are the result.
        if not attempt.spoilt and made[row.submission, row.task] >= RANKING_ATTEMPTS:
            continue
        made[row.submission, row.task] += not attempt.spoilt
        attempts[row.submission].append(attempt)
    return attempts, waiting


def _row(submission: Submission, attempts: list[EndedAttempt], waiting: int, task_count: int) -> TaskBoardRow:
    counts = counts_by_task(attempts)
    return TaskBoardRow(
        rank=None,
        submission=submission,
        success=set_figure(counts),
        all_of_3=set_figure(counts, ALL_OF, Measure.ALL),
        summary=summarise(attempts),
        attempted=len(counts),
        open_count=waiting,
    )


def _ranked(rows: list[TaskBoardRow], task_count: int) -> tuple[TaskBoardRow, ...]:
    """Return the rows, best first; those that have not attempted every task yet stand below, without a rank."""
    whole = [row for row in rows if row.attempted == task_count and row.success.value is not None]
    whole.sort(key=_key)
    placed: list[TaskBoardRow] = []
    for place, row in enumerate(whole, start=1):
        is_tied = bool(placed) and _key(placed[-1])[:2] == _key(row)[:2]
        placed.append(_with_rank(row, placed[-1].rank if is_tied else place))
    rest = sorted((row for row in rows if row not in whole), key=_key)
    return (*placed, *rest)


def _key(row: TaskBoardRow) -> tuple[float, float, str]:
    """Sort by success, then by the share of tasks that are always solved, then by name."""
    return -(row.success.value or 0.0), -(row.all_of_3.value or 0.0), row.submission.agent.name.lower()


def _with_rank(row: TaskBoardRow, rank: int | None) -> TaskBoardRow:
    return TaskBoardRow(rank, row.submission, row.success, row.all_of_3, row.summary, row.attempted, row.open_count)
