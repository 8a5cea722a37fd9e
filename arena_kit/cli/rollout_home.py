"""Rollouts of `arena rollout` on this machine's Docker engine, and their judging, which needs none."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import io
import itertools
import os
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from arena_kit.cli.common import LABEL, BadArgument, tell
from arena_kit.cli.rollout_kept import built_once, fresh_read, fresh_write, kept_read
from arena_kit.environment.records import Fault
from arena_kit.errors import PlatformFault
from arena_kit.image.calls import engine, engine_errors
from arena_kit.image.errors import BuilderUnavailable, BuildFailed
from arena_kit.rollout.agents.agent import Agent, ScriptedAgent, null_script
from arena_kit.rollout.agents.meter import Meter
from arena_kit.rollout.attempt import TaskRefused, Worlds, task_accept
from arena_kit.rollout.browser.container import BrowserHost
from arena_kit.rollout.building.images import Bases, untag
from arena_kit.rollout.gateway.endpoint import MISCONFIGURED
from arena_kit.rollout.judge import TaskOutcome
from arena_kit.rollout.loop import BrowserWork, RolloutHost
from arena_kit.rollout.packages.compose import BASES
from arena_kit.rollout.packages.package import TASKS, Package, PackageRefused, package_read
from arena_kit.rollout.play import rollout_replay, rollout_run
from arena_kit.rollout.recording.record import RecordRefused, export_digest, record_judge, record_read
from arena_kit.rollout.recording.recorder import Recorder
from arena_kit.rollout.tasks.file import TasksRefused, tasks_read
from arena_kit.rollout.tasks.task import Task
from arena_kit.rollout.values.strict_json import NotJson
from arena_kit.rollout.worlds.built import BuiltPackage
from arena_kit.rollout.worlds.host import DockerWorlds, base_images
from arena_kit.zips import EARLIEST

PREFIX = "rl-arena-home-"
"""Begins the names of images, before the process that made them."""
MOST_FILES, MOST_TRIES = 20_000, 3


class Home:
    """A built package on this machine, and the tasks that were chosen."""

    def __init__(
        self, options: argparse.Namespace, folder: Path, worlds: Worlds, built: BuiltPackage, tasks: Sequence[Task]
    ) -> None:
        self.tasks = tasks
        self._options, self._folder, self._built = options, folder, built
        browsers = BrowserHost(options.browser_image, folder / "channel")
        self._host = RolloutHost(worlds, browsers, video=not options.no_video)
        self._counter = itertools.count(1)

    def attempt(self, task: Task, number: int) -> dict[str, Any]:
        """Let the agent work at a task once; return the result. What the platform has spoilt is tried again."""
        for tried in range(1, MOST_TRIES + 1):
            folder = self._output(f"{task.key}-{number}" + (f"-try-{tried}" if tried > 1 else ""))
            played = rollout_run(
                dataclasses.replace(self._host, labels=_labels()),
                self._built,
                task,
                self._maker(task, folder),
                folder,
                name=self._options.agent,
                model=self._options.model,
            )
            verdict, facts = played.verdict, played.facts
            if verdict.fault is not Fault.PLATFORM or verdict.code == MISCONFIGURED:
                break
            tell(f"{task.key}: the platform failed ({verdict.code}), so this attempt does not count.")
        if self._options.output:
            fresh_write(folder, self._built)
        return {
            "task": task.key,
            "attempt": number,
            "tries": tried,
            "outcome": verdict.outcome.value,
            "fault": verdict.fault.value,
            "code": verdict.code,
            "sentence": verdict.sentence,
            "score": verdict.score,
            "steps": facts.steps,
            "seconds": round(facts.seconds, 1),
            "tokens": facts.tokens,
            "cost_micros": facts.cost_micros,
            "record_sha256": played.record.get("record_sha256", ""),
            "folder": str(folder) if self._options.output else "",
        }

    def accept(self) -> dict[str, Any]:
        """Try each task with its oracle and with nothing done."""
        lines, refused, spoilt = [], 0, 0
        for task in self.tasks:
            try:
                self._accept(task)
                lines.append(f"{task.key} holds.")
            except TaskRefused as refusal:
                refused += 1
                lines.append(str(refusal))
            except PlatformFault as fault:
                spoilt += 1
                lines.append(f"{task.key} could not be tried ({fault.code}): {fault}")
        return {"lines": lines, "refused": refused, "spoilt": spoilt}

    def _accept(self, task: Task) -> None:
        """Raises TaskRefused, and PlatformFault if trying again does not help."""
        for tried in range(1, MOST_TRIES + 1):
            recorder = Recorder(self._output(f"{task.key}-oracle-{tried}"))
            try:
                work = BrowserWork(self._host, ScriptedAgent(task.oracle), recorder)
                task_accept(self._host.worlds, self._built, task, work, extras=work.extras)
            except PlatformFault as fault:
                if tried == MOST_TRIES:
                    raise
                tell(f"{task.key}: the platform failed ({fault.code}), so this attempt does not count.")
            else:
                return
            finally:
                recorder.close(video=False)

    def replay(self, kept: Path) -> dict[str, Any]:
        """Play a kept rollout again."""
        task = _task_of(self.tasks, kept)
        found = rollout_replay(self._host, self._built, task, kept, self._output(f"{task.key}-replay"))
        lines = [*found.differences] or ["The replay leaves the same state."]
        return {"lines": lines, "equal": found.is_equal, "refused": not found.is_equal}

    def summary(self, results: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Return the figures of all attempts, and lines for people."""
        counted = [each for each in results if each["fault"] != Fault.PLATFORM]
        solved = sum(each["outcome"] == TaskOutcome.SOLVED for each in counted)
        spoilt = len(results) - len(counted)
        made, at = _counted(len(counted), "attempt"), _counted(len(self.tasks), "task")
        line = f"Solved: {solved} of {made} at {at}."
        more = [f"Left out, because the platform failed: {_counted(spoilt, 'attempt')}."] if spoilt else []
        return {"solved": solved, "attempts": len(counted), "spoilt": spoilt, "lines": [line, *more]}

    def _output(self, name: str) -> Path:
        parent = self._options.output or self._folder / "rollouts"
        folder: Path = parent / name
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            raise BadArgument(f"{folder} exists already; name another folder for --output.") from None
        return folder

    def _maker(self, task: Task, folder: Path) -> Callable[[Meter], Agent]:
        return lambda meter: self._agent(task, meter, folder)

    def _agent(self, task: Task, meter: Meter, folder: Path) -> Agent:
        if self._options.agent == "null":
            return null_script()
        if self._options.agent == "scripted":
            return ScriptedAgent(task.oracle)
        # Late: most rollouts have no player.
        from arena_kit.cli.rollout_player import player_agent

        return player_agent(self._options, self._folder, task, meter, folder, next(self._counter))


def judged(options: argparse.Namespace, kept: Path) -> dict[str, Any]:
    """Judge a kept rollout again, by the state of a fresh world that is kept beside it. Raises BadArgument."""
    try:
        package = package_read(_packed(options.package))
        task, manifest = _task_of(_tasks(options, package), kept), package.manifest
        try:
            fresh = fresh_read(kept)
        except (OSError, zipfile.BadZipFile):
            known = kept_read(package, options.seed)
            fresh = {} if known is None else known.fresh
        built = BuiltPackage(
            package.sha256, manifest.slug, (), manifest.exports, manifest.memory_bytes, manifest.origins,
            manifest.volatile, options.seed, fresh=fresh,
        )  # fmt: skip
        if export_digest(built, fresh) != record_read(kept)["package"]["digest"]:
            raise BadArgument(f"{kept} lacks the state of a fresh world: start any rollout of this package once.")
        verdict = record_judge(kept, built, task)
    except (PackageRefused, TasksRefused, NotJson, RecordRefused) as refusal:
        raise BadArgument(str(refusal)) from None
    return {"lines": [f"{verdict.outcome}. {verdict.sentence}".strip()], "verdict": verdict.as_json()}


@contextlib.contextmanager
def opened(options: argparse.Namespace, folder: Path) -> Iterator[Home]:
    """Build the package if it was not; at the end all that was started is removed, and its images stay.

    Raises BadArgument, and PlatformFault if this machine cannot do it now.
    """
    file = _packed(options.package)
    names = {base: f"{options.app_images}-{base.removeprefix('base:')}" for base in BASES}
    bases = Bases(names, f"{PREFIX}kept")
    try:
        package = package_read(file)
        tasks = _tasks(options, package)
        _check_agent(options.agent)
        pause = base_images({"base:python": bases.names["base:python"]})["base:python"]
        # One folder for all commands of this user: they share the memory, and each removes what killed ones have left.
        leases = Path(tempfile.gettempdir()) / f"arena-worlds-{os.getuid()}"
        worlds = DockerWorlds(leases, memory_bytes=options.memory << 30, pause_image=pause)
        worlds.reap()
        _remove_abandoned_images()
        built = built_once(
            file,
            package,
            worlds=worlds,
            bases=bases,
            seed=options.seed,
            on_build=lambda: tell(f"{package.manifest.name} is built, which takes a while ..."),
        )
        yield Home(options, folder, worlds, built, tasks)
    except (PackageRefused, TasksRefused, NotJson, RecordRefused, BuildFailed) as refusal:
        raise BadArgument(str(refusal)) from None
    except BuilderUnavailable as fault:
        raise PlatformFault(str(fault), code=fault.code) from None


def _remove_abandoned_images() -> None:
    """Remove the images of commands that were killed. Raises BuilderUnavailable if no engine answers."""
    with engine() as client:
        with engine_errors():
            tags = [tag for each in client.api.images() for tag in each.get("RepoTags") or ()]
        ours = [tag for tag in tags if tag.startswith(PREFIX)]
        untag(client, [tag for tag in ours if not _lives(tag.removeprefix(PREFIX).partition("-")[0])])


def _lives(process: str) -> bool:
    return not process.isdecimal() or Path("/proc", process).exists()


def _packed(path: Path) -> io.BytesIO:
    """Return a package as a zip. Raises BadArgument."""
    try:
        if path.is_file():
            return io.BytesIO(path.read_bytes())
        files = [each for each in sorted(path.rglob("*")) if each.is_file() and "__pycache__" not in each.parts]
        if not files or len(files) > MOST_FILES:
            raise BadArgument(f"{path} is not the folder of a package.")
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for each in files:
                entry = zipfile.ZipInfo.from_file(each, each.relative_to(path).as_posix())
                # A package is known by its content, so by no times.
                entry.date_time, entry.compress_type = EARLIEST, zipfile.ZIP_DEFLATED
                archive.writestr(entry, each.read_bytes())
    except OSError as error:
        raise BadArgument(f"{path} cannot be read: {error.strerror}.") from None
    return packed


def _tasks(options: argparse.Namespace, package: Package) -> Sequence[Task]:
    """Return the chosen tasks. Raises BadArgument, TasksRefused and NotJson."""
    if options.tasks.resolve() in (options.package.resolve(), (options.package / TASKS).resolve()):
        tasks = package.tasks.tasks
    else:
        try:
            found = tasks_read(options.tasks.read_bytes(), package.manifest.rules)
        except OSError as error:
            raise BadArgument(f"{options.tasks} cannot be read: {error.strerror}.") from None
        for each in found.skipped:
            name = f"Task {each.index + 1} ({each.key})" if each.key else f"Task {each.index + 1}"
            tell(f"{name} is skipped. {each.as_json()['reason']}")
        tasks = found.tasks
    if lost := sorted(set(options.only or ()) - {task.key for task in tasks}):
        raise BadArgument(f"There is no task {lost[0]}.")
    return [task for task in tasks if not options.only or task.key in options.only]


def _task_of(tasks: Sequence[Task], kept: Path) -> Task:
    key = record_read(kept)["task"]["key"]
    if (task := next((each for each in tasks if each.key == key), None)) is None:
        raise BadArgument(f"{kept} is a recording of the task {key}, which is not among these tasks.")
    return task


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _check_agent(name: str) -> None:
    """Raise BadArgument for an agent that is neither here nor an image, before a package is built for it."""
    if name in ("null", "scripted", "model") or Path(name).exists():
        return
    try:
        base_images({name: name})
    except PlatformFault as fault:
        if fault.code != "image_missing":
            raise
        raise BadArgument(f"{name} is not a folder or a zip, nor an image of this machine's engine.") from None


def _labels() -> dict[str, str]:
    return {LABEL: str(os.getpid())}
