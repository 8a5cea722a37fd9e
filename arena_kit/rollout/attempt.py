"""One rollout from its world to its verdict, and whether a task is good: its oracle passes and doing nothing fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from arena_kit.environment.records import Fault
from arena_kit.errors import PlatformFault, Refused
from arena_kit.rollout.checks.evidence import SUCCESS, Evidence
from arena_kit.rollout.exports.requests import Request
from arena_kit.rollout.exports.state import ExportRefused
from arena_kit.rollout.judge import EndedBy, TaskVerdict, platform_verdict, rollout_verdict
from arena_kit.rollout.tasks.task import Task
from arena_kit.rollout.values.paths import NOTHING
from arena_kit.rollout.worlds.built import BuiltPackage
from arena_kit.rollout.worlds.leases import NoRoom
from arena_kit.rollout.worlds.world import NOTHING as NO_EXTRAS
from arena_kit.rollout.worlds.world import Extras, World

FRESH_ONE_IN = 20
"""One of so many worlds is exported before its agent begins, and must hold what the package held when it was built."""
SPARE_SECONDS = 600.0
"""Added to a task's own time: after both a world may be removed, whatever its worker does."""


@dataclass(frozen=True, slots=True)
class Work:
    """The work of an agent in a world, apart from the state it has left there; as in Evidence.

    fault_code: what the agent's fault was, if one has ended its work.
    """

    answer: Any = NOTHING
    status: str = ""
    ended_by: EndedBy = EndedBy.DONE
    fault_code: str = ""
    requests: Sequence[Request] | None = None
    last_url: str | None = None
    last_page: str | None = None
    actions: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """The remains of a rollout. files: the exported state; by these and `work` it can be judged again.

    logs: the end of what each service has printed, also of a rollout that the platform has spoilt.
    """

    verdict: TaskVerdict
    work: Work = field(default_factory=Work)
    files: Mapping[str, bytes] = field(default_factory=dict)
    logs: Mapping[str, str] = field(default_factory=dict)


class TaskRefused(Refused):
    """A task that is not accepted: its oracle fails, or doing nothing passes. verdict: of that rollout."""

    def __init__(self, message: str, *, code: str, verdict: TaskVerdict) -> None:
        super().__init__(message, code=code)
        self.verdict = verdict


AtWork = Callable[[World, Task], Work]
"""Works at a task in a world that is ready, and returns when its work is over. It may raise PlatformFault."""
OnPhase = Callable[["Phase", World | None], object]
"""Called when a phase of a rollout begins, with the world while there is one."""


class Worlds(Protocol):
    """Where worlds come from: an engine of this host, or a cluster."""

    def open(
        self, package: BuiltPackage, *, seconds: float, labels: Mapping[str, str] | None = None, extras: Extras = ...
    ) -> World:
        """Return a world whose services are healthy. Raises NoRoom if it has to wait, and PlatformFault.

        seconds: after this time the world may be removed by any reaper. labels: further ones of its containers.
        extras: what joins the world later, such as a browser.
        """


def null_agent(_world: World, _task: Task) -> Work:
    """Do nothing, and answer with nothing."""
    return Work(None, SUCCESS, actions=("answer",), requests=())


class Phase(StrEnum):
    """How far a rollout is. CLEANING: its world is removed."""

    PROVISIONING = "PROVISIONING"
    WORKING = "WORKING"
    EXPORTING = "EXPORTING"
    CLEANING = "CLEANING"
    JUDGING = "JUDGING"


def phases_ignore(phase: Phase, world: World | None) -> None:
    """Ignore the phases of a rollout."""


def task_attempt(
    worlds: Worlds,
    package: BuiltPackage,
    task: Task,
    work_at: AtWork,
    *,
    extras: Extras = NO_EXTRAS,
    labels: Mapping[str, str] | None = None,
    on_phase: OnPhase = phases_ignore,
) -> Attempt:
    """Return a rollout's verdict, judged when its world is gone.

    extras: what the work needs beside the services, such as a browser. labels: of the world's containers.
    The platform's faults are verdicts, too. Raises NoRoom while the host has no memory for the world.
    """
    logs: dict[str, str] = {}
    try:
        seconds = task.limits.seconds + SPARE_SECONDS
        on_phase(Phase.PROVISIONING, None)
        with worlds.open(package, seconds=seconds, labels=labels, extras=extras) as world:
            try:
                if package.digest and int(world.token, 16) % FRESH_ONE_IN == 0:
                    world.check_fresh()
                on_phase(Phase.WORKING, world)
                work = work_at(world, task)
                on_phase(Phase.EXPORTING, world)
                files = world.export()
            finally:
                logs = world.logs()
                on_phase(Phase.CLEANING, world)
    except NoRoom:
        raise
    except (PlatformFault, ExportRefused) as fault:
        return Attempt(platform_verdict(fault.code, str(fault)), logs=logs)
    on_phase(Phase.JUDGING, None)
    return Attempt(attempt_judge(package, task, work, files), work, files, logs)


def attempt_judge(package: BuiltPackage, task: Task, work: Work, files: Mapping[str, bytes]) -> TaskVerdict:
    """Return the verdict about what a rollout has left. Pure: it can be repeated at any time."""
    try:
        with package.state(package.fresh) as before, package.state(files) as after:
            evidence = Evidence(
                work.answer, work.status, before, after, work.requests, work.last_url, work.last_page, work.actions,
                package.origins,
            )  # fmt: skip
            return rollout_verdict(task, evidence, work.ended_by, fault_code=work.fault_code)
    except ExportRefused as refusal:
        return platform_verdict(refusal.code, str(refusal))


def task_accept(
    worlds: Worlds, package: BuiltPackage, task: Task, oracle: AtWork, *, extras: Extras = NO_EXTRAS
) -> None:
    """Try a task with its oracle and with an agent that does nothing, each in a world of its own.

    Raises TaskRefused, PlatformFault for what says nothing about the task, and NoRoom.
    """
    solved = task_attempt(worlds, package, task, oracle, extras=extras).verdict
    _raise_platform_fault(solved)
    if not solved.is_solved:
        raise TaskRefused(f"The oracle of {task.key} fails: {solved.sentence}", code="oracle_failed", verdict=solved)
    idle = task_attempt(worlds, package, task, null_agent).verdict
    _raise_platform_fault(idle)
    if idle.is_solved:
        sentence = f"Doing nothing solves {task.key}; add a check that only the work itself meets."
        raise TaskRefused(sentence, code="null_passed", verdict=idle)


def _raise_platform_fault(verdict: TaskVerdict) -> None:
    if verdict.fault is Fault.PLATFORM:
        raise PlatformFault(verdict.sentence, code=verdict.code)
