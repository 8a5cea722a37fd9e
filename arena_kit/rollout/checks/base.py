"""The base of all checks and guards, and what comes out of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from arena_kit.rollout.checks.evidence import Evidence
from arena_kit.rollout.values.fields import Fields

MOST_WEIGHT = 1_000.0


@dataclass(frozen=True, slots=True)
class Judged:
    """The result of a check or guard: it holds, or why not. normalised: the value, in the form compared."""

    passed: bool
    sentence: str = ""
    expected: str = ""
    actual: str = ""
    normalised: str = ""


@dataclass(frozen=True)
class Condition(ABC):
    """A check or a guard that was read from a task."""

    KIND: ClassVar[str]
    NEEDS: ClassVar[str] = ""
    """The part of a rollout that it looks at, in words, for the page of a task."""

    @classmethod
    @abstractmethod
    def read(cls, fields: Fields) -> Self | None:
        """Return it from its keys; what is wrong with them is added to the flaws, and then it may be None."""

    @abstractmethod
    def judge(self, evidence: Evidence) -> Judged:
        """Judge a rollout. Raises EvidenceMissing and QueryTooSlow, which are faults of the platform."""


@dataclass(frozen=True, slots=True)
class Check:
    """A condition that gives points. say: a sentence for people, which agents never see."""

    condition: Condition
    weight: float = 1.0
    required: bool = True
    say: str = ""


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition that must hold and gives no points."""

    condition: Condition
    say: str = ""


def exactly_one(fields: Fields, names: tuple[str, ...]) -> str | None:
    """Return which one of these keys is there; another number of them is a flaw."""
    present = [name for name in names if name in fields]
    if len(present) == 1:
        return present[0]
    fields.flaw("bad_check", "", f"It needs exactly one of the keys {', '.join(names)}; it has {len(present)}.")
    for name in names:
        fields.take(name)
    return None


def taken(fields: Fields, name: str, kind: type[Any], words: str) -> Any:
    """Return a member that must be of a type, or None with a flaw."""
    value = fields.take(name)
    if isinstance(value, kind) and not (kind is int and isinstance(value, bool)):
        return value
    fields.flaw("bad_value", name, f"It must be {words}.")
    return None
