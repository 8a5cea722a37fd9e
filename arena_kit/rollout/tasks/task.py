"""A task: an instruction, what is judged of a rollout, and its limits."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from arena_kit.rollout.checks.base import Check, Guard
from arena_kit.rollout.checks.evidence import SUCCESS
from arena_kit.rollout.checks.values import FormatCheck
from arena_kit.rollout.values.actions import Action
from arena_kit.rollout.values.paths import NOTHING
from arena_kit.rollout.values.strict_json import canonical

LABELS = ("tags", "difficulty", "split", "oracle")
"""Keys that change nothing about what an agent sees and how it is judged."""
JUDGED = ("checks", "answer")


class Split(StrEnum):
    """The use of a task."""

    PRACTICE = "PRACTICE"
    RANKING = "RANKING"
    HIDDEN = "HIDDEN"


class Difficulty(StrEnum):
    """How hard its author thinks a task is."""

    EASY = "easy"
    MEDIUM = "medium"
    HARD = "hard"


@dataclass(frozen=True, slots=True)
class RolloutLimits:
    """When a rollout ends without its agent. seconds: by the clock. agent_seconds: the agent's own.

    cost_micros: millionths of the unit that models are paid in; None for none of the task's own.
    """

    steps: int = 50
    seconds: int = 900
    agent_seconds: int = 300
    tokens: int = 500_000
    cost_micros: int | None = None


MOST_COST = 1_000
WIDEST = RolloutLimits(1_000, 7_200, 7_200, 20_000_000, MOST_COST * 1_000_000)
"""The most that a package may allow."""


@dataclass(frozen=True, slots=True)
class Task:
    """A task that was read and found good.

    definition: its keys as they were written, with the file's defaults and without its id, so that it can be read
    again. answer: what is expected, or NOTHING. expect: the status that an agent must report. tell_score: whether the
    agent is told its score at the end.
    """

    key: str
    instruction: str
    definition: Mapping[str, Any]
    environment: str = ""
    start_url: str = ""
    login: str = ""
    seed: int = 0
    answer: Any = NOTHING
    checks: tuple[Check, ...] = ()
    guards: tuple[Guard, ...] = ()
    expect: str = SUCCESS
    pass_score: float = 1.0
    limits: RolloutLimits = field(default_factory=RolloutLimits)
    tags: tuple[str, ...] = ()
    difficulty: Difficulty | None = None
    split: Split = Split.PRACTICE
    oracle: tuple[Action, ...] = ()
    format: FormatCheck | None = None
    tell_score: bool = False

    @property
    def is_judged(self) -> bool:
        """Return whether there is anything to judge a rollout by."""
        return bool(self.checks or self.guards or self.expect != SUCCESS or self.format is not None)

    @property
    def content_sha256(self) -> str:
        """The hash of all that was written; another one under the same key is a new revision."""
        return _sha256(self._content())

    @property
    def work_sha256(self) -> str:
        """The hash of what agents see and are judged by; results under different ones are not comparable."""
        return _sha256({name: value for name, value in self._content().items() if name not in LABELS})

    @property
    def fingerprint(self) -> str:
        """The hash by which duplicates are found: equal work in other letter case and white space, under any key."""
        work = [folded(self.instruction), self.environment, self.start_url, self.login, self.seed, self._judged()]
        return _sha256(work)

    @property
    def judged_sha256(self) -> str:
        """The hash of checks and answer alone."""
        return _sha256(self._judged())

    def _content(self) -> dict[str, Any]:
        """The definition, with an answer that was written as a text of JSON as the value in it."""
        return {**self.definition, **({} if self.answer is NOTHING else {"answer": self.answer})}

    def _judged(self) -> dict[str, Any]:
        return {name: value for name, value in self._content().items() if name in JUDGED}


def folded(instruction: str) -> str:
    """Return an instruction as duplicates are compared: NFC, lower case, white space as one space."""
    return " ".join(unicodedata.normalize("NFC", instruction).lower().split())


def _sha256(value: Any) -> str:
    return hashlib.sha256(canonical(value).encode()).hexdigest()
