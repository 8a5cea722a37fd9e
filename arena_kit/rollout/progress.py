"""How far a rollout is, and what its agent is told about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from arena_kit.rollout.agents.meter import Meter
from arena_kit.rollout.browser.browser import VIEWPORT
from arena_kit.rollout.browser.observation import PageObservation
from arena_kit.rollout.tasks.task import Task
from arena_kit.rollout.values.actions import ACTIONS


@dataclass(slots=True)
class RolloutProgress:
    """How far a rollout is. error: what the agent is told about its last action."""

    begun: float
    observation: PageObservation = field(default_factory=PageObservation)
    error: str = ""
    last: Mapping[str, Any] | None = None
    steps: int = 0
    notes: int = 0
    invalid: int = 0
    lines: int = 0
    agent_seconds: float = 0.0
    requests: tuple[int, ...] = ()
    names: list[str] = field(default_factory=list)


def state_of(task: Task, progress: RolloutProgress, meter: Meter, now: float) -> dict[str, Any]:
    """Return what the agent is told. now: by the clock that `progress.begun` is of."""
    seen, limits = progress.observation, task.limits
    used = now - progress.begun
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
