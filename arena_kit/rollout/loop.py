"""An agent at work in the browser of a world, step by step, until it reports or a limit is reached."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from arena_kit.errors import PlatformFault
from arena_kit.rollout.agents.agent import Agent, AgentFault, AgentLate, never
from arena_kit.rollout.agents.meter import Meter
from arena_kit.rollout.attempt import OnPhase, Work, Worlds, phases_ignore
from arena_kit.rollout.browser.browser import Browser
from arena_kit.rollout.browser.container import BrowserHost
from arena_kit.rollout.browser.observation import PageObservation, Seen
from arena_kit.rollout.checks.evidence import STATUSES, SUCCESS
from arena_kit.rollout.exports.requests import NetworkLogRefused, Request, requests_in
from arena_kit.rollout.judge import EndedBy, TaskVerdict
from arena_kit.rollout.progress import RolloutProgress, state_of
from arena_kit.rollout.recording.har import har_bytes
from arena_kit.rollout.recording.recorder import BROWSER_HAR, Recorder
from arena_kit.rollout.recording.steps import Step, target_of
from arena_kit.rollout.tasks.task import Task
from arena_kit.rollout.values.actions import ANSWER, ENDINGS, NOTE, Action, ActionRefused, action_read
from arena_kit.rollout.values.older_actions import action_adapted
from arena_kit.rollout.values.paths import NOTHING
from arena_kit.rollout.worlds.world import Extras, World
from arena_kit.text import plain_text

MOST_INVALID = 10
"""Actions in a row that cannot be carried out; the rollout then ends by the agent's fault."""
FREE_NOTES = 100
"""Notes beyond this number count as steps, so that an agent cannot run forever on notes."""
MOST_NOTE = 4_000
MOST_SENT = 40_000


@dataclass(frozen=True, slots=True)
class RolloutHost:
    """Where and how rollouts are carried out.

    browsers: where they run. video, trace: whether they are kept. is_cancelled: called between steps. labels, on_phase:
    as of `task_attempt`.
    """

    worlds: Worlds
    browsers: BrowserHost
    video: bool = True
    trace: bool = True
    clock: Callable[[], float] = time.monotonic
    is_cancelled: Callable[[], bool] = never
    labels: Mapping[str, str] | None = None
    on_phase: OnPhase = phases_ignore


class BrowserWork:
    """Lets an agent work at a task in a world; for one rollout, as `task_attempt` takes it.

    extras: the browser, and what the agent needs besides the package. `tell` hands the verdict to the agent.
    """

    def __init__(self, host: RolloutHost, agent: Agent, recorder: Recorder, meter: Meter | None = None) -> None:
        """meter: of the gateway that the agent may use."""
        self._host, self._agent, self._recorder = host, agent, recorder
        self.extras = Extras(Browser.memory_bytes + agent.memory_bytes, has_browser=True, player=agent.pod_player)
        self.meter = meter or Meter()
        self._told: Mapping[str, Any] = {}
        self.steps, self.seconds, self.agent_seconds = 0, 0.0, 0.0

    def __call__(self, world: World, task: Task) -> Work:
        """Work until the end; the browser is gone then. Raises PlatformFault."""
        progress = RolloutProgress(self._host.clock())
        if world.has_player:
            self._agent.enter(world)
        with Browser(self._host.browsers, world) as browser:
            seen = browser.open(
                task, picture=self._agent.wants_pictures, trace=self._host.trace, video=self._host.video
            )
            progress.begun = self._host.clock()
            progress.observation, progress.error = seen.observation, seen.observation.error
            progress.requests = self._recorder.begin(seen, round(time.time() * 1000))
            # What was asked for before, such as the login, is in no log.
            passed = len(world.requests()) if world.package.front else 0
            try:
                work = self._work(browser, task, progress)
            finally:
                self.steps, self.agent_seconds = progress.steps, progress.agent_seconds
                self.seconds = self._host.clock() - progress.begun
            self._told = state_of(task, progress, self.meter, self._host.clock())
            if world.has_player:
                # Its container ends with the world, so it does not get its score.
                self._agent.end(self._told, 0.0)
                self._agent.close()
            return self._frozen(world, browser, progress, work, passed)

    def tell(self, task: Task, verdict: TaskVerdict) -> None:
        """Let the agent know that it is over, and its score if the task says so."""
        if self._told:
            self._agent.end(self._told, verdict.score if task.tell_score else 0.0)

    def _work(self, browser: Browser, task: Task, progress: RolloutProgress) -> Work:
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

    def _limit(self, task: Task, progress: RolloutProgress) -> EndedBy | None:
        """Return the limit that is reached. Raises PlatformFault if the model is at fault."""
        if problem := self.meter.problem:
            raise PlatformFault(problem[1], code=problem[0])
        if self._host.is_cancelled():
            return EndedBy.CANCELLED
        if limit := self.meter.limit:
            return EndedBy(limit)
        if progress.steps >= task.limits.steps:
            return EndedBy.STEP_LIMIT
        used = self._host.clock() - progress.begun
        if used >= task.limits.seconds or progress.agent_seconds >= task.limits.agent_seconds:
            return EndedBy.TIME_LIMIT
        return None

    def _is_over(self, task: Task, progress: RolloutProgress) -> bool:
        """Return whether the rollout ends while the agent is at work, for a reason that is not its own time."""
        is_late = self._host.clock() - progress.begun >= task.limits.seconds
        return is_late or self.meter.problem is not None or self._host.is_cancelled()

    def _asked(self, task: Task, progress: RolloutProgress) -> tuple[Any, int]:
        """Return what the agent answers, and milliseconds of its own time."""
        begun, waited = self._host.clock(), self.meter.waited_seconds
        left = task.limits.agent_seconds - progress.agent_seconds
        try:
            value = self._agent.choose(
                state_of(task, progress, self.meter, self._host.clock()),
                progress.observation.picture,
                seconds=max(0.0, left),
                is_over=lambda: self._is_over(task, progress),
            )
        finally:
            seconds = self._host.clock() - begun - (self.meter.waited_seconds - waited)
            progress.agent_seconds += max(0.0, seconds)
        return value, round(max(0.0, seconds) * 1000)

    def _step(self, browser: Browser, progress: RolloutProgress, value: Any, agent_ms: int) -> Work | None:
        """Take one answer of the agent; return its work if that was the last one."""
        before = progress.observation
        action, refused = self._read(value)
        if action is not None and action.name == NOTE and progress.notes < FREE_NOTES:
            progress.notes += 1
        else:
            progress.steps += 1
            progress.names.append(action.name if action else "invalid")
        begun, work = self._host.clock(), None
        progress.requests = ()
        if action is None:
            progress.error = refused
            progress.invalid += 1
        elif action.name in ENDINGS:
            progress.error, work = "", _reported(action)
        elif action.name == NOTE:
            progress.error = ""
        else:
            seen = browser.act(action, picture=self._agent.wants_pictures)
            self._see(progress, seen)
            progress.invalid = 0 if seen.is_done else progress.invalid + 1
        progress.last = action.as_json() if action else None
        self._keep(progress, before, action, agent_ms, round((self._host.clock() - begun) * 1000), _sent(value, action))
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

    def _see(self, progress: RolloutProgress, seen: Seen) -> None:
        progress.observation, progress.error = seen.observation, seen.observation.error
        progress.requests = self._recorder.seen(seen)

    def _keep(
        self,
        progress: RolloutProgress,
        before: PageObservation,
        action: Action | None,
        agent_ms: int,
        act_ms: int,
        sent: str = "",
    ) -> None:
        progress.lines += 1
        sha256, picture = self._recorder.page(before, progress.lines)
        usage = self.meter.usage
        arguments = action.arguments if action else {}
        targets = {
            key: target_of(arguments[key], before.snapshot)
            for key in ("ref", "from", "to")
            if isinstance(arguments.get(key), str)
        }
        self._recorder.step(
            Step(
                number=progress.lines,
                at_ms=round((self._host.clock() - progress.begun) * 1000),
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
                sent=sent,
            )
        )

    def _broken(self, progress: RolloutProgress, code: str, sentence: str) -> Work:
        progress.error = plain_text(sentence)[:MOST_NOTE]
        self._keep(progress, progress.observation, None, 0, 0)
        return Work(ended_by=EndedBy.AGENT_FAULT, fault_code=code)

    def _frozen(self, world: World, browser: Browser, progress: RolloutProgress, work: Work, passed: int) -> Work:
        """Return the work with what the browser has left. That its end fails costs the trace alone.

        passed: how many requests the world's proxy had seen before the agent began.
        """
        last = progress.observation
        try:
            seen = browser.end(picture=self._agent.wants_pictures)
            self._recorder.seen(seen)
            last = seen.observation
        except PlatformFault:
            self._recorder.left_out += 1
        har = self._recorder.har()
        if world.package.front:
            self._recorder.har_write(har, BROWSER_HAR)
            # Requests that the browser itself withheld never came to the proxy, and guards look for them.
            har = har_bytes([*world.requests()[passed:], *self._recorder.outside(world.package.origins)])
        self._recorder.har_write(har)
        return Work(
            answer=work.answer, status=work.status, ended_by=work.ended_by, fault_code=work.fault_code,
            requests=_requests(har), last_url=last.url, last_page=last.snapshot, actions=tuple(progress.names),
        )  # fmt: skip


def _sent(value: Any, action: Action | None) -> str:
    """Return what an agent has sent as JSON, cut; empty if that is the action as it is kept."""
    if action is not None and value == action.as_json():
        return ""
    try:
        return json.dumps(value, ensure_ascii=False, default=str)[:MOST_SENT]
    except (ValueError, RecursionError):
        return ""


def _reported(action: Action) -> Work:
    """Return the work of an agent that answers or gives up."""
    if action.name == ANSWER:
        return Work(action.arguments["value"], action.arguments.get("status", SUCCESS), EndedBy.DONE)
    return Work(NOTHING, action.arguments["status"], EndedBy.GAVE_UP)


def _requests(har: bytes) -> tuple[Request, ...] | None:
    """Return the requests of a log, or None if it cannot be read: a check that needs it cannot be judged then."""
    try:
        return requests_in(har)
    except NetworkLogRefused:
        return None
