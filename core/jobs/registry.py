"""Who performs which jobs: rooms register their queues, tasks, schedules and chores when Django starts.

Core names no room. What a room registers is named by its dotted path, as in `INSTALLED_APPS`, and imported when it is
needed: a web process never loads a sandbox.
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
    """One line of waiting jobs and what a worker does with the job at its head.

    perform: dotted path of a function that takes the claimed job and its heartbeat, and finishes the job.
    where: fields that set the line apart from others of its kind, which are among the kind's LINES.
    """

    kind: type[Job]
    perform: str
    where: Mapping[str, object] = field(default_factory=dict)

    def holds(self, job: Job) -> bool:
        """Whether a job stands in this line while it waits."""
        return isinstance(job, self.kind) and all(getattr(job, name) == value for name, value in self.where.items())

    def action(self) -> Callable[[Any, Any], None]:
        """What performs its jobs, imported."""
        found: Callable[[Any, Any], None] = import_string(self.perform)
        return found


@dataclass(frozen=True, slots=True)
class Service:
    """The lines that the workers of a queue serve.

    first: in this order, each before all that come after it. by_turns: taken in rotation where none of those waits.
    """

    first: Sequence[Line] = ()
    by_turns: Sequence[Line] = ()

    @property
    def lines(self) -> tuple[Line, ...]:
        """All lines, in the order in which a worker that has just started looks at them."""
        return (*self.first, *self.by_turns)


@dataclass(frozen=True, slots=True)
class Task:
    """Something that a message has done. run: dotted path of a function that takes one argument, a key or 0."""

    name: str
    run: str

    def __call__(self, argument: int | str) -> None:
        import_string(self.run)(argument)


@dataclass(frozen=True, slots=True)
class Chore:
    """What every host with workers of some queues does for itself, again and again. run: dotted path, no arguments."""

    queues: tuple[str, ...]
    run: str

    def __call__(self) -> None:
        import_string(self.run)()


@dataclass(frozen=True, slots=True)
class Plan:
    """A schedule that the arena itself needs: a task, the queue of the workers that do it, and the minutes between."""

    task: str
    queue: str
    minutes: int


SERVICES: dict[str, Service] = {}
TASKS: dict[str, Task] = {}
PLANS: dict[str, Plan] = {}
CHORES: list[Chore] = []
STEPS: list[str] = []
"""Dotted paths of functions without arguments that the reaper calls every few seconds, beside its own work."""
_ON_FAILURE: list[str] = []


def queue_serve(queue: str, *, first: Sequence[Line] = (), by_turns: Sequence[Line] = ()) -> None:
    """Have the workers of a queue of the settings serve these lines."""
    SERVICES[queue] = Service(first, by_turns)


def task_register(name: str, run: str) -> None:
    """Give a task a name by which messages ask for it."""
    TASKS[name] = Task(name, run)


def schedule_register(name: str, *, task: str, queue: str, minutes: int) -> None:
    """Have a registered task done again and again. Organisers may change how often."""
    PLANS[name] = Plan(task, queue, minutes)


def chore_register(*queues: str, run: str) -> None:
    """Have something done once a minute on every host with workers of one of these queues."""
    CHORES.append(Chore(queues, run))


def step_register(run: str) -> None:
    """Have something done by every reaper every few seconds. run: dotted path of a function without arguments."""
    if run not in STEPS:
        STEPS.append(run)


def failure_listen(run: str) -> None:
    """Have every failed job told to a function, in the transaction in which it fails. run: its dotted path."""
    if run not in _ON_FAILURE:
        _ON_FAILURE.append(run)


def failure_tell(job: Job) -> None:
    """Tell all that listen of a job that has just failed."""
    for run in _ON_FAILURE:
        import_string(run)(job)


def queues_of(job: Job) -> list[str]:
    """The queues whose workers take a job: one that everybody runs, and those that an operator reserves workers for."""
    order = (*settings.QUEUES, *settings.EXTRA_QUEUES)
    return [queue for queue in order if any(line.holds(job) for line in SERVICES.get(queue, Service()).lines)]


def queue_of(kind: type[Job]) -> str:
    """The queue that every arena has workers of and that serves jobs of a kind; empty where no room does."""
    served = (queue for queue in settings.QUEUES if any(line.kind is kind for line in _lines(queue)))
    return next(served, "")


def kinds_of(queue: str) -> list[type[Job]]:
    """The kinds of jobs whose home is a queue of the settings."""
    return [kind for kind in dict.fromkeys(line.kind for line in _lines(queue)) if queue_of(kind) == queue]


def _lines(queue: str) -> tuple[Line, ...]:
    return SERVICES.get(queue, Service()).lines
