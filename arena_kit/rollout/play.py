"""One rollout as it is kept: an agent at work in a fresh world, judged, with its record in a folder; and its replay."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from arena_kit.environment.records import Fault
from arena_kit.rollout.agents.agent import Agent, ScriptedAgent
from arena_kit.rollout.agents.meter import Meter, Usage
from arena_kit.rollout.attempt import Attempt, task_attempt
from arena_kit.rollout.exports.diff import state_diff
from arena_kit.rollout.judge import TaskVerdict, platform_verdict
from arena_kit.rollout.loop import BrowserWork, RolloutHost
from arena_kit.rollout.recording.record import (
    EXPORT,
    RecordRefused,
    RolloutFacts,
    export_read,
    record_read,
    record_write,
    steps_in,
    world_log_write,
)
from arena_kit.rollout.recording.recorder import Recorder
from arena_kit.rollout.tasks.task import Task
from arena_kit.rollout.values.actions import ENDINGS, NOTE, Action, ActionRefused, action_read
from arena_kit.rollout.worlds.built import BuiltPackage
from arena_kit.sandbox.base import SandboxError

MOST_DIFFERENCES = 5


@dataclass(frozen=True, slots=True)
class PlayedRollout:
    """A rollout that is over. record: as it is kept; empty if the platform has spoilt it. usage: of models."""

    attempt: Attempt
    facts: RolloutFacts
    record: Mapping[str, Any]
    usage: Usage = field(default_factory=Usage)

    @property
    def verdict(self) -> TaskVerdict:
        """Return the verdict."""
        return self.attempt.verdict


def rollout_run(
    host: RolloutHost,
    package: BuiltPackage,
    task: Task,
    make_agent: Callable[[Meter], Agent],
    folder: Path,
    *,
    name: str,
    model: str = "",
) -> PlayedRollout:
    """Let an agent work at a task, and keep what is left in an empty folder. Raises NoRoom if it has to wait.

    make_agent: called with the meter of the models that the agent may use. A fault of the platform is a verdict.
    """
    meter = Meter(tokens=task.limits.tokens, cost_micros=task.limits.cost_micros, clock=host.clock)
    recorder = Recorder(folder)
    try:
        try:
            agent = make_agent(meter)
        except SandboxError as error:
            return PlayedRollout(Attempt(platform_verdict(error.code, str(error))), RolloutFacts(name, model), {})
        try:
            work = BrowserWork(host, agent, recorder, meter)
            attempt = task_attempt(
                host.worlds, package, task, work, extras=work.extras, labels=host.labels, on_phase=host.on_phase
            )
            work.tell(task, attempt.verdict)
        finally:
            agent.close()
    finally:
        recorder.close(video=host.video)
    world_log_write(folder, attempt.logs)
    usage = meter.usage
    facts = RolloutFacts(name, model, work.steps, work.seconds, work.agent_seconds, usage.tokens, usage.cost_micros)
    spoilt = attempt.verdict.fault is Fault.PLATFORM and not attempt.files
    record = {} if spoilt else record_write(folder, package, task, attempt, facts)
    return PlayedRollout(attempt, facts, record, usage)


@dataclass(frozen=True, slots=True)
class Replayed:
    """The result of playing a record's actions in a fresh world. differences: sentences; none if it is equal."""

    played: PlayedRollout
    differences: tuple[str, ...]

    @property
    def is_equal(self) -> bool:
        """Return whether the second world was left as the first one."""
        return not self.differences


def rollout_replay(host: RolloutHost, package: BuiltPackage, task: Task, kept: Path, folder: Path) -> Replayed:
    """Play the recorded actions of a rollout in a fresh world, and compare what they leave.

    References are followed by role and name, as they stood in the snapshot. kept: the folder of the rollout. folder: an
    empty one, for the replay. Raises RecordRefused and NoRoom.
    """
    record = record_read(kept)
    if record["package"]["sha256"] != package.sha256 or record["package"]["seed"] != package.seed:
        raise RecordRefused("The rollout was one of another package or seed.", code="other_package")
    actions = replay_actions(kept)
    name = f"replay of {record['agent']['name']}"
    played = rollout_run(host, package, task, lambda _: ScriptedAgent(actions), folder, name=name)
    if not played.record:
        return Replayed(played, (f"The platform failed during the replay: {played.verdict.sentence}",))
    if played.record["export_digest"] == record["export_digest"] != "":
        return Replayed(played, ())
    first = export_read(kept / EXPORT, record["export"])
    with package.state(first) as before, package.state(played.attempt.files) as after:
        changes = [change.sentence for change in state_diff(before, after).changes[:MOST_DIFFERENCES]]
    return Replayed(played, tuple(changes) or ("The exported states differ.",))


def replay_actions(folder: Path) -> list[Action]:
    """Return the actions of a kept rollout as a script. Raises RecordRefused for what cannot be followed."""
    actions = []
    for step in steps_in(folder):
        written = dict(step["action"])
        if not written or written["action"] == NOTE:
            continue
        targets = step["target"]
        for key in ("from", "to"):
            written[key] = targets.get(key, written[key]) if key in written else None
        written = {key: value for key, value in written.items() if value is not None or key == "value"}
        if "ref" in written:
            ref = written.pop("ref")
            # Without a name the reference itself is tried: equal worlds give equal snapshots.
            written["selector"] = targets.get("ref", f"aria-ref={ref}")
        try:
            action = action_read(written, scripted=True)
        except ActionRefused as refusal:
            raise RecordRefused(f"Step {step['number']} cannot be replayed: {refusal}", code="bad_record") from None
        actions.append(action)
        if action.name in ENDINGS:
            break
    return actions
