"""Worlds of a shipped package, measured: how fast they start, whether verdicts repeat, and whether anything is left.

Provisioning is from the reservation of memory to healthy services with their data, in turns with `docker-compose up` of
the same services and the load of a dump of the same data. Rollouts are played without a browser, except for the wiki,
which needs one: the oracle's actions are carried out in the pages by a program within the world. Each task has its
oracle played, which must solve it, and nothing done, which must not: one after the other until a hundred have been
played and the host is looked at, then four at a time, whose verdicts must be the same.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from arena_kit.environment.records import Fault
from arena_kit.errors import PlatformFault
from arena_kit.rollout.agents.agent import ScriptedAgent
from arena_kit.rollout.attempt import AtWork, Work, null_agent, task_attempt
from arena_kit.rollout.browser.container import BrowserHost
from arena_kit.rollout.judge import TaskVerdict
from arena_kit.rollout.loop import BrowserWork, RolloutHost
from arena_kit.rollout.packages.package import Package
from arena_kit.rollout.recording.recorder import Recorder
from arena_kit.rollout.tasks.task import Task
from arena_kit.rollout.worlds.leases import NoRoom
from arena_kit.rollout.worlds.world import World
from arena_kit.tests.rollout import form_filler
from benchmarks.common import say, work_folder
from benchmarks.rollout_leftovers import changes, host
from benchmarks.rollout_provisioning import Place, place, provisioning

FILLER = Path(form_filler.__file__).read_text(encoding="utf-8")
AT_ONCE = 4
IN_BROWSER = ("wiki",)
"""Packages whose pages a program without a browser cannot use."""
BROWSER_IMAGE = "rl-arena-browser"
MOST_TRIES, ROOM_SECONDS = 10, 1.0


@dataclass(frozen=True, slots=True)
class Effort:
    """The measurements to make. rounds: of provisioning. times: that each task is played in both ways.

    in_a_row: how many rollouts are played one after the other, at least; the others are played AT_ONCE at a time.
    minutes: after which no further round of all tasks begins.
    """

    rounds: int
    times: int
    in_a_row: int
    minutes: float


def measured(name: str, effort: Effort) -> dict[str, Any]:
    """Return the figures of a package."""
    spoilt = Counter[str]()
    with ending(effort.minutes) as end, work_folder() as folder, place(name, folder) as found:
        report = provisioning(found, effort.rounds)
        jobs = [(task, kind) for task in found.package.tasks.tasks for kind in ("oracle", "null")]
        in_a_row = max(1, min(effort.times, -(-effort.in_a_row // len(jobs))))
        with host(found) as counting:
            before = counting.count()
            serial = played(found, jobs, in_a_row, spoilt, at_once=1, end=end)
            left = changes(before, counting.count())
            parallel = played(found, jobs, max(1, effort.times - in_a_row), spoilt, at_once=AT_ONCE, end=end)
            left |= changes(before, counting.count())
            used = counting.seen()
    ways = [list(zip(itertools.cycle(jobs), each, strict=False)) for each in (serial, parallel)]
    wrong = Counter(
        f"{task.key} {kind}" for (task, kind), verdict in ways[0] + ways[1] if verdict.is_solved != (kind == "oracle")
    )
    first = {(task.key, kind): verdict.as_json() for (task, kind), verdict in ways[0][: len(jobs)]}
    differ = [Counter(f"{task.key} {kind}" for (task, kind), verdict in each
                      if verdict.as_json() != first[task.key, kind]) for each in ways]  # fmt: skip
    return {
        **report, "package": name, "tasks": len(jobs) // 2, "times": (len(serial) + len(parallel)) // len(jobs),
        "rollouts": len(serial) + len(parallel), "in_a_row": len(serial), "wrong": dict(wrong),
        "spoilt": dict(spoilt), "serial_differs": dict(differ[0]),
        "parallel_differs": dict(differ[1]),
        "used": used, "leftovers": sum(abs(count) for count in left.values()), "left": left,
    }  # fmt: skip


class Ending:
    """When no further rollout begins. until: when no further round of all jobs does, monotonic."""

    def __init__(self, until: float) -> None:
        self.until, self.is_asked = until, False

    def ask(self, *_: Any) -> None:
        """Begin no further rollout."""
        self.is_asked = True


@contextlib.contextmanager
def ending(minutes: float) -> Iterator[Ending]:
    """Yield when to end. Ctrl-C ends the rollouts that run and keeps their figures; a second one ends the program."""
    end = Ending(time.monotonic() + 60 * minutes)
    usual = signal.getsignal(signal.SIGINT)

    def asked(*given: Any) -> None:
        signal.signal(signal.SIGINT, usual)
        end.ask(*given)

    signal.signal(signal.SIGINT, asked)
    try:
        yield end
    finally:
        signal.signal(signal.SIGINT, usual)


def played(
    found: Place, jobs: Sequence[tuple[Task, str]], times: int, spoilt: Counter[str], *, at_once: int, end: Ending
) -> list[TaskVerdict]:
    """Play all jobs so many times and print each round; return their verdicts in the same order.

    spoilt: counts the rollouts that the platform has spoilt, by code. end: the first round begins even when the time
    is over, and the last one may be cut short.
    """
    verdicts: list[TaskVerdict] = []
    with ThreadPoolExecutor(at_once) as pool:
        for number in range(times):
            if end.is_asked or (number and time.monotonic() > end.until):
                break
            begun = time.monotonic()
            results = pool.map(lambda job: None if end.is_asked else play(found, job[0], job[1], spoilt), jobs)
            for verdict in itertools.takewhile(lambda each: each is not None, results):
                verdicts.append(cast("TaskVerdict", verdict))
                say(f"{len(verdicts)} of {len(jobs) * times} rollouts are over, {at_once} at a time")
            say("")
            print(f"round {number + 1} of {times}, {at_once} at a time: {len(verdicts)} rollouts are over, "
                  f"{time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)  # fmt: skip
    return verdicts


def play(found: Place, task: Task, kind: str, spoilt: Counter[str]) -> TaskVerdict:
    """Return the verdict of a rollout; one that the platform has spoilt is played again."""
    tried = 0
    while True:
        try:
            verdict = _played(found, task, kind)
        except NoRoom:
            time.sleep(ROOM_SECONDS)
            continue
        tried += 1
        if verdict.fault is not Fault.PLATFORM or tried == MOST_TRIES:
            if verdict.is_solved != (kind == "oracle"):
                say(f"wrong: {task.key} {kind}: {json.dumps(verdict.as_json())}")
            return verdict
        spoilt[verdict.code] += 1
        say(f"spoilt: {verdict.code} {verdict.sentence}")


def _played(found: Place, task: Task, kind: str) -> TaskVerdict:
    if kind == "null":
        return task_attempt(found.worlds, found.built, task, null_agent).verdict
    if found.built.slug not in IN_BROWSER:
        agent: AtWork = functools.partial(oracle, package=found.package)
        return task_attempt(found.worlds, found.built, task, agent).verdict
    with tempfile.TemporaryDirectory(prefix="arena-rollout-") as output:
        recorder = Recorder(Path(output))
        place = BrowserHost(BROWSER_IMAGE, found.leases.parent / "browsers")
        host = RolloutHost(found.worlds, place, video=False, trace=False)
        try:
            work = BrowserWork(host, ScriptedAgent(task.oracle), recorder)
            return task_attempt(found.worlds, found.built, task, work, extras=work.extras).verdict
        finally:
            recorder.close(video=False)


def oracle(world: World, task: Task, package: Package) -> Work:
    """Carry out the actions of the oracle in the pages, from within the world. Raises PlatformFault."""
    begin: list[list[Any]] = []
    if login := next((each for each in package.manifest.logins if each.name == task.login), None):
        begin = [["goto", login.url], *(["fill", *pair] for pair in login.fields.items()), ["click", login.submit]]
    steps = [[action.name, *action.arguments.values()] for action in task.oracle]
    ran = world.run("web", ["python3", "-c", FILLER, json.dumps([package.manifest.home, begin + steps])], seconds=60)
    if ran.status:
        raise PlatformFault(ran.output[-500:], code="oracle_broken")
    last = task.oracle[-1]
    return Work(last.arguments.get("value"), last.arguments.get("status", "SUCCESS"), requests=(),
                actions=tuple(action.name for action in task.oracle))  # fmt: skip


def lines(report: Mapping[str, Any]) -> list[str]:
    """Return the figures in words."""
    faster = f", {report['provision_speedup']} times as fast as Compose" if "provision_speedup" in report else ""
    wrong, differ = report["wrong"] or "none", report["serial_differs"] | report["parallel_differs"] or "none"
    spoilt = report["spoilt"] or "none"
    played = f"{report['rollouts']} rollouts of {report['tasks']} tasks; wrong verdicts: {wrong}"
    differ = f"{report['in_a_row']} one after the other, the others {AT_ONCE} at a time; unlike the first: {differ}"
    return [
        f"{report['package']}: a world is ready after {report['provision_seconds']} s{faster}",
        f"{played}; {differ}; spoilt and played again: {spoilt}; left over: {report['left'] or 'nothing'}",
    ]
