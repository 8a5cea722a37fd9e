"""The parts of a task's page besides its fields: attempts by agent, and what a revision has changed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from django.http import QueryDict

from core.models import JobFault, JobState, Rollout, RolloutOutcome, RolloutPhase, Task
from core.rollouts.permissions import Viewer, answers_visible
from web.submissions.changes import Line, changes

TONES: Mapping[str, str] = {
    RolloutOutcome.SOLVED: "good",
    RolloutOutcome.PARTIAL: "busy",
    RolloutOutcome.NOT_SOLVED: "bad",
    RolloutOutcome.UNJUDGED: "calm",
}

SIGNS = {"good": "✓", "busy": "½", "bad": "✗"}
"""The sign of a mark besides its colour; a dot for attempts that are not over or do not count."""
JUDGED = (RolloutOutcome.SOLVED, RolloutOutcome.PARTIAL, RolloutOutcome.NOT_SOLVED)


@dataclass(frozen=True, slots=True)
class AttemptMark:
    """An attempt in a strip. words: what became of it."""

    rollout: Rollout
    sign: str
    tone: str
    words: str


@dataclass(frozen=True, slots=True)
class Strip:
    """The attempts of one agent at a task, the oldest first.

    judged: how many count. elsewhere: how many were at a revision that asked for something else.
    """

    agent: str
    marks: tuple[AttemptMark, ...]
    solved: int
    judged: int
    elsewhere: int


@dataclass(frozen=True, slots=True)
class RevisionChanges:
    """The changes of a task's revision. lines: None where the texts are too long to compare."""

    before: Task
    after: Task
    lines: tuple[Line, ...] | None


def strips(task: Task, rollouts: Iterable[Rollout]) -> list[Strip]:
    """Return the attempts by agent, the agent with the newest attempt first. rollouts: of all revisions, newest first.

    Attempts at a revision that asks for something else than this one have a mark, but are not counted.
    """
    by_agent: dict[str, list[Rollout]] = {}
    for row in rollouts:
        by_agent.setdefault(row.batch.agent_name, []).insert(0, row)
    found = []
    for agent, rows in by_agent.items():
        outcomes = [row.outcome for row in rows if row.task.work_sha256 == task.work_sha256]
        judged = sum(outcome in JUDGED for outcome in outcomes)
        marks = tuple(_mark(task, row) for row in rows)
        solved = outcomes.count(RolloutOutcome.SOLVED)
        found.append(Strip(agent, marks, solved, judged, len(rows) - len(outcomes)))
    return found


def _mark(task: Task, row: Rollout) -> AttemptMark:
    words, tone = rollout_words(row)
    if row.task.work_sha256 != task.work_sha256:
        words = f"{words} at revision {row.task.revision}, which asked for something else"
    return AttemptMark(row, SIGNS.get(tone, "·") if row.is_over else "·", tone, words)


def revision_changes(revisions: Sequence[Task], query: QueryDict, viewer: Viewer) -> RevisionChanges | None:
    """Return what the revision that an address names, as `?changes=3`, has changed; None without one to show.

    revisions: those that the viewer sees, the newest first. The whole definition is compared, so only people who see
    the answers of both are shown it.
    """
    asked = query.get("changes", "")
    for after, before in pairwise(revisions):
        if str(after.revision) == asked and answers_visible(after, viewer) and answers_visible(before, viewer):
            return RevisionChanges(before, after, changes(_text(before), _text(after)))
    return None


def _text(task: Task) -> str:
    return json.dumps(task.definition, indent=2, sort_keys=True, ensure_ascii=False)


def rollout_words(rollout: Rollout) -> tuple[str, str]:
    """Return where a rollout is or what became of it, and the tone of that."""
    match rollout.state:
        case JobState.QUEUED:
            return "Waiting", "calm"
        case JobState.RUNNING:
            return str(RolloutPhase(rollout.phase or RolloutPhase.PROVISIONING).label).capitalize(), "busy"
        case JobState.CANCELLED:
            return "Cancelled", "calm"
        case JobState.FAILED:
            return ("Agent broke", "bad") if rollout.fault == JobFault.PLAYER else ("Spoilt by the arena", "calm")
    return str(rollout.get_outcome_display()).capitalize(), TONES.get(rollout.outcome, "calm")
