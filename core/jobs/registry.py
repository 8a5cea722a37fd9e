"""Who performs which jobs: rooms register their queues, tasks, schedules and chores when Django starts.

Core names no room. Rooms register dotted paths, as in `INSTALLED_APPS`, which are imported when they are needed: a web
process never loads a sandbox.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from core.models import Job


@dataclass(frozen=True, slots=True)
class Line:
    """One line of waiting jobs, and what a worker does with the job at its head.

    perform: dotted path of a function that takes the claimed job and its lease, and finishes the job.
    where: fields that distinguish the line from others of its kind; they are among the kind's LINES.
    """

    kind: type[Job]
    perform: str
    where: Mapping[str, object] = field(default_factory=dict)

    def holds(self, job: Job) -> bool:
        """Return whether a job waits in this line."""
        return isinstance(job, self.kind) and all(getattr(job, name) == value for name, value in self.where.items())

    def action(self) -> Callable[[Any, Any], None]:
        """Import and return the function that performs its jobs."""
        found: Callable[[Any, Any], None] = import_string(self.perform)
        return found


@dataclass(frozen=True, slots=True)
class QueueService:
    """The lines that the workers of a queue serve.

    first: served in this order, each before all that follow, but for every fourth job. shared: share a worker's time
    when `first` is empty. last: served when nothing else waits. `core.jobs.claims` and `core.jobs.rota` have the rules.
    at_once: how many jobs one process does at the same time.
    """

    first: Sequence[Line] = ()
    shared: Sequence[Line] = ()
    last: Sequence[Line] = ()
    at_once: int = 1

    @property
    def lines(self) -> tuple[Line, ...]:
        """All lines, in the order in which a newly started worker looks at them."""
        return (*self.first, *self.shared, *self.last)


@dataclass(frozen=True, slots=True)
class NamedTask:
    """A task that messages name. run: dotted path of a function that takes one argument, a key or 0."""

    name: str
    run: str

    def __call__(self, argument: int | str) -> None:
        import_string(self.run)(argument)


@dataclass(frozen=True, slots=True)
class Chore:
    """A recurring task of every host that has workers of some queues. run: dotted path, no arguments."""

    queues: tuple[str, ...]
    run: str

    def __call__(self) -> None:
        import_string(self.run)()


@dataclass(frozen=True, slots=True)
class ScheduledTask:
    """A schedule of the arena itself: a task, the queue of the workers that run it, and the interval in minutes."""

    task: str
    queue: str
    minutes: int


SERVICES: dict[str, QueueService] = {}
TASKS: dict[str, NamedTask] = {}
PLANS: dict[str, ScheduledTask] = {}
CHORES: list[Chore] = []
DRIVERS: dict[str, str] = {}
"""By queue: dotted path of a function that does its jobs until the process is asked to stop. Its drivers look at the
rows themselves."""
STEPS: list[str] = []
"""Dotted paths of functions without arguments that the reaper calls every few seconds besides its own work."""
_ON_FAILURE: list[str] = []
_ON_LAST_ATTEMPT: list[str] = []


def queue_serve(
    queue: str,
    *,
    first: Sequence[Line] = (),
    shared: Sequence[Line] = (),
    last: Sequence[Line] = (),
    at_once: int = 1,
) -> None:
    """Register the lines that the workers of a queue serve; the queue is one of the settings."""
    SERVICES[queue] = QueueService(first, shared, last, at_once)


def driver_register(queue: str, *, run: str) -> None:
    """Register what serves a queue in the place of the usual loop. run: dotted path of a function, no arguments."""
    DRIVERS[queue] = run


def task_register(name: str, run: str) -> None:
    """Register a task under the name that messages use."""
    TASKS[name] = NamedTask(name, run)


def work_load(queues: Sequence[str]) -> None:
    """Import what the workers of these queues do, so that their processes can be forked with all of it."""
    work = [line.perform for queue in queues for line in SERVICES.get(queue, QueueService()).lines]
    work += [TASKS[plan.task].run for plan in PLANS.values() if plan.queue in queues]
    work += [chore.run for chore in CHORES if set(chore.queues) & set(queues)]
    for run in (*work, *STEPS):
        import_string(run)


def schedule_register(name: str, *, task: str, queue: str, minutes: int) -> None:
    """Register a schedule for a task. Organisers may change the interval."""
    PLANS[name] = ScheduledTask(task, queue, minutes)


def chore_register(*queues: str, run: str) -> None:
    """Register a function that runs once a minute on every host with workers of one of these queues."""
    CHORES.append(Chore(queues, run))


def step_register(run: str) -> None:
    """Register a function that every reaper calls every few seconds. run: dotted path, no arguments."""
    if run not in STEPS:
        STEPS.append(run)


def failure_listen(run: str) -> None:
    """Register a listener that gets every failed job, in the transaction in which it fails. run: its dotted path."""
    if run not in _ON_FAILURE:
        _ON_FAILURE.append(run)


def failure_pass(job: Job) -> None:
    """Call all failure listeners with a job that has just failed."""
    for run in _ON_FAILURE:
        import_string(run)(job)


def last_attempt_listen(run: str) -> None:
    """Register a listener that may hold a job whose last attempt ends by a platform fault. run: its dotted path.

    It takes the job, and the fault's `code`, `error` and `log`; it returns whether it has put the job on hold.
    """
    if run not in _ON_LAST_ATTEMPT:
        _ON_LAST_ATTEMPT.append(run)


def last_attempt_pass(job: Job, *, code: str, error: str, log: str) -> bool:
    """Call the listeners with a running job that is about to fail; return whether one of them has put it on hold."""
    return any(import_string(run)(job, code=code, error=error, log=log) for run in _ON_LAST_ATTEMPT)


def queues_of(job: Job) -> list[str]:
    """Return the queues whose workers take a job: the standard one, and those for reserved workers."""
    order = (*settings.QUEUES, *settings.EXTRA_QUEUES)
    return [queue for queue in order if any(line.holds(job) for line in SERVICES.get(queue, QueueService()).lines)]


def at_once(queue: str) -> int:
    """Return how many jobs of a queue one process of workers does at the same time."""
    return SERVICES.get(queue, QueueService()).at_once


def queue_of(kind: type[Job]) -> str:
    """Return the standard queue that serves jobs of a kind; empty when no room serves them."""
    served = (queue for queue in settings.QUEUES if any(line.kind is kind for line in _lines(queue)))
    return next(served, "")


def kinds_of(queue: str) -> list[type[Job]]:
    """Return the kinds of jobs whose standard queue this is."""
    return [kind for kind in dict.fromkeys(line.kind for line in _lines(queue)) if queue_of(kind) == queue]


def _lines(queue: str) -> tuple[Line, ...]:
    return SERVICES.get(queue, QueueService()).lines
