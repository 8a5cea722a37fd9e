"""An agent at work in the browser of a world, step by step, until it reports or a limit is reached."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from arena_kit.errors import PlatformFault
from arena_kit.rollout.agents.agent import Agent, AgentFault, AgentLate
from arena_kit.rollout.agents.meter import Meter
from arena_kit.rollout.attempt import Work
from arena_kit.rollout.browser.browser import VIEWPORT, Browser
from arena_kit.rollout.browser.container import BrowserPlace
from arena_kit.rollout.browser.observation import Observation, Seen
from arena_kit.rollout.checks.evidence import STATUSES, SUCCESS
from arena_kit.rollout.exports.requests import requests_in
from arena_kit.rollout.judge import EndedBy, Verdict
from arena_kit.rollout.recording.recorder import Recorder
from arena_kit.rollout.recording.steps import Step, target_of
from arena_kit.rollout.tasks.task import Task
from arena_kit.rollout.values.actions import ACTIONS, ANSWER, ENDINGS, NOTE, Action, ActionRefused, action_read
from arena_kit.rollout.values.older_actions import action_adapted
from arena_kit.rollout.values.paths import NOTHING
from arena_kit.rollout.worlds.world import World
from arena_kit.sandbox.base import SandboxError
from arena_kit.text import plain_text

MOST_INVALID = 10
"""Actions in a row that cannot be carried out; the rollout then ends by the agent's fault."""
FREE_NOTES = 100
"""Further notes are steps, or an agent could go on for ever without one."""
MOST_NOTE = 4_000


@dataclass(frozen=True, slots=True)
class Way:
    """How rollouts are carried out. video, trace: whether they are kept. is_cancelled: asked between steps."""

    place: BrowserPlace
    video: bool = True
    trace: bool = True
    clock: Callable[[], float] = time.monotonic
    is_cancelled: Callable[[], bool] = lambda: False


@dataclass(slots=True)
class _Progress:
    """How far a rollout is. error: what the agent is told about its last action."""

    begun: float
    observation: Observation = field(default_factory=Observation)
    error: str = ""
    last: Mapping[str, Any] | None = None
    steps: int = 0
    notes: int = 0
    invalid: int = 0
    lines: int = 0
    agent_seconds: float = 0.0
    requests: tuple[int, ...] = ()
    names: list[str] = field(default_factory=list)


class BrowserWork:
    """Lets an agent work at a task in a world; it is called as an Agent of `task_attempt`. For one rollout.

    beside_bytes: memory that the browser needs beside the package. After the verdict, `tell` lets the agent know.
    """

    beside_bytes = Browser.memory_bytes

    def __init__(self, way: Way, agent: Agent, recorder: Recorder, meter: Meter | None = None) -> None:
        """meter: of the gateway that the agent may use."""
        self._way, self._agent, self._recorder = way, agent, recorder
        self.meter = meter or Meter()
        self._told: Mapping[str, Any] = {}
        self.steps, self.seconds, self.agent_seconds = 0, 0.0, 0.0

    def __call__(self, world: World, task: Task) -> Work:
        """Work until the end; the browser is gone then. Raises PlatformFault."""
        progress = _Progress(self._way.clock())
        with Browser(self._way.place, world) as browser:
            seen = browser.open(task, picture=self._agent.wants_pictures, trace=self._way.trace, video=self._way.video)
            progress.begun = self._way.clock()
            self._see(progress, seen)
            try:
                work = self._work(browser, task, progress)
            except SandboxError as error:
                raise PlatformFault(str(error), code=error.code) from None
            finally:
                self.steps, self.agent_seconds = progress.steps, progress.agent_seconds
                self.seconds = self._way.clock() - progress.begun
            self._told = self._state(task, progress)
            return self._frozen(browser, progress, work)

    def tell(self, task: Task, verdict: Verdict) -> None:
        """Let the agent know that it is over, and its score if the task says so."""
        if self._told:
            self._agent.end(self._told, verdict.score if task.tell_score else 0.0)

    def _work(self, browser: Browser, task: Task, progress: _Progress) -> Work:
        while True:
            if ended := self._limit(task, progress):
                return Work(ended_by=ended)
            try:
                value, agent_ms = self._asked(task, progress)
            except AgentLate:
                return Work(ended_by=self._limit(task, progress) or EndedBy.TIME_LIMIT)
            except AgentFault as fault:
                # What has failed at the model, or a limit of it, may be why the agent broke.
                if ended := self._limit(task, progress):
                    return Work(ended_by=ended)
                return self._broken(progress, fault.code, str(fault))
            if (work := self._step(browser, progress, value, agent_ms)) is not None:
                return work
            if progress.invalid >= MOST_INVALID:
                return self._broken(
                    progress, "too_many_invalid_actions", f"{MOST_INVALID} actions in a row did not work."
                )

    def _limit(self, task: Task, progress: _Progress) -> EndedBy | None:
        """Return the limit that is reached. Raises PlatformFault if the model is at fault."""
        if problem := self.meter.problem:
            raise PlatformFault(problem[1], code=problem[0])
        if self._way.is_cancelled():
            return EndedBy.CANCELLED
        if limit := self.meter.limit:
            return EndedBy(limit)
        if progress.steps >= task.limits.steps:
            return EndedBy.STEP_LIMIT
        used = self._way.clock() - progress.begun
        if used >= task.limits.seconds or progress.agent_seconds >= task.limits.agent_seconds:
            return EndedBy.TIME_LIMIT
        return None

    def _is_over(self, task: Task, progress: _Progress) -> bool:
        """Return whether the rollout ends while the agent is at work, for a reason that is not its own time."""
        is_late = self._way.clock() - progress.begun >= task.limits.seconds
        return is_late or self.meter.problem is not None or self._way.is_cancelled()

    def _asked(self, task: Task, progress: _Progress) -> tuple[Any, int]:
        """Return what the agent answers, and milliseconds of its own time."""
        begun, waited = self._way.clock(), self.meter.waited_seconds
        left = task.limits.agent_seconds - progress.agent_seconds
        try:
            value = self._agent.choose(
                self._state(task, progress),
                progress.observation.picture,
                seconds=max(0.0, left),
                is_over=lambda: self._is_over(task, progress),
            )
        finally:
            seconds = self._way.clock() - begun - (self.meter.waited_seconds - waited)
            progress.agent_seconds += max(0.0, seconds)
        return value, round(max(0.0, seconds) * 1000)

    def _step(self, browser: Browser, progress: _Progress, value: Any, agent_ms: int) -> Work | None:
        """Take one answer of the agent; return its work if that was the last one."""
        before = progress.observation
        action, refused = self._read(value)
        if action is not None and action.name == NOTE and progress.notes < FREE_NOTES:
            progress.notes += 1
        else:
            progress.steps += 1
            progress.names.append(action.name if action else "invalid")
        begun, work = self._way.clock(), None
        progress.requests = ()
        if action is None:
            progress.error = refused
            progress.invalid += 1
        elif action.name in ENDINGS:
            work = _reported(action)
        elif action.name == NOTE:
            progress.error = ""
        else:
            seen = browser.act(action, picture=self._agent.wants_pictures)
            self._see(progress, seen)
            progress.invalid = 0 if seen.is_done else progress.invalid + 1
        progress.last = action.as_json() if action else None
        self._keep(progress, before, action, agent_ms, round((self._way.clock() - begun) * 1000))
        return work

    def _read(self, value: Any) -> tuple[Action | None, str]:
        """Return an action, or why it is none."""
        try:
            action = action_read(action_adapted(value), scripted=self._agent.is_scripted)
        except ActionRefused as refusal:
            return None, str(refusal)
        if action.name in ENDINGS and action.arguments.get("status", SUCCESS) not in STATUSES:
            return None, f"The status must be one of {', '.join(STATUSES)}."
        return action, ""

    def _see(self, progress: _Progress, seen: Seen) -> None:
        progress.observation, progress.error = seen.observation, seen.observation.error
        progress.requests = self._recorder.seen(seen)

    def _keep(
        self, progress: _Progress, before: Observation, action: Action | None, agent_ms: int, act_ms: int
    ) -> None:
        progress.lines += 1
        sha256, picture = self._recorder.page(before, progress.lines)
        usage = self.meter.usage
        arguments = action.arguments if action else {}
        targets = {key: target_of(arguments[key], before.snapshot) for key in ("ref", "from", "to")
                   if isinstance(arguments.get(key), str)}  # fmt: skip
        self._recorder.step(
            Step(
                number=progress.lines,
                at_ms=round((self._way.clock() - progress.begun) * 1000),
                action=Action(action.name, arguments).as_json() if action else {},
                note=plain_text(action.note)[:MOST_NOTE] if action else "",
                error=progress.error,
                url=before.url,
                title=before.title,
                snapshot_sha256=sha256,
                picture=picture,
                agent_ms=agent_ms,
                act_ms=act_ms,
                tokens=usage.tokens,
                cost_micros=usage.cost_micros,
                requests=progress.requests,
                target={key: target for key, target in targets.items() if target},
            )
        )

    def _broken(self, progress: _Progress, code: str, sentence: str) -> Work:
        progress.error = plain_text(sentence)[:MOST_NOTE]
        self._keep(progress, progress.observation, None, 0, 0)
        return Work(ended_by=EndedBy.AGENT_FAULT, fault_code=code)

    def _frozen(self, browser: Browser, progress: _Progress, work: Work) -> Work:
        """Return the work with what the browser has left. That its end fails costs the trace alone."""
        last = progress.observation
        try:
            seen = browser.end(picture=self._agent.wants_pictures)
            self._recorder.seen(seen)
            last = seen.observation
        except PlatformFault:
            self._recorder.left_out += 1
        har = self._recorder.har()
        self._recorder.har_write(har)
        return Work(
            answer=work.answer, status=work.status, ended_by=work.ended_by, fault_code=work.fault_code,
            requests=requests_in(har), last_url=last.url, last_page=last.snapshot, actions=tuple(progress.names),
        )  # fmt: skip

    def _state(self, task: Task, progress: _Progress) -> dict[str, Any]:
        """Return what the agent is told."""
        seen, limits = progress.observation, task.limits
        used, meter = self._way.clock() - progress.begun, self.meter
        return {
            "goal": task.instruction,
            "format": task.definition.get("format"),
            "step": progress.steps,
            "steps_left": limits.steps - progress.steps,
            "seconds_left": round(max(0.0, limits.seconds - used), 3),
            "agent_seconds_left": round(max(0.0, limits.agent_seconds - progress.agent_seconds), 3),
            "tokens_left": max(0, limits.tokens - meter.usage.tokens),
            "url": seen.url,
            "title": seen.title,
            "tabs": [{"url": tab.url, "title": tab.title, "active": tab.active} for tab in seen.tabs],
            "snapshot": seen.snapshot,
            "viewport": list(VIEWPORT),
            "last_action": progress.last,
            "last_error": progress.error,
            "dialog": seen.dialog,
            "actions": list(ACTIONS),
        }


def _reported(action: Action) -> Work:
    """Return the work of an agent that answers or gives up."""
    if action.name == ANSWER:
        return Work(action.arguments["value"], action.arguments.get("status", SUCCESS), EndedBy.DONE)
    return Work(NOTHING, action.arguments["status"], EndedBy.GAVE_UP)
