"""All kinds of checks and guards, and how one is read from a task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arena_kit.rollout.checks.base import MOST_WEIGHT, Check, Condition, Guard
from arena_kit.rollout.checks.exported import FileCheck, SqlCheck
from arena_kit.rollout.checks.guards import NoErrors, StaysOn, Unchanged
from arena_kit.rollout.checks.values import AnswerCheck, JsonCheck
from arena_kit.rollout.checks.visited import PageCheck, RequestCheck, StepsCheck, UrlCheck
from arena_kit.rollout.values.fields import Fields
from arena_kit.rollout.values.strict_json import Flaw

_ALL_CHECKS: tuple[type[Condition], ...] = (
    AnswerCheck, SqlCheck, JsonCheck, FileCheck, RequestCheck, UrlCheck, PageCheck, StepsCheck,
)  # fmt: skip
_ALL_GUARDS: tuple[type[Condition], ...] = (Unchanged, NoErrors, StaysOn)
CHECKS = {kind.KIND: kind for kind in _ALL_CHECKS}
GUARDS = {kind.KIND: kind for kind in _ALL_GUARDS}


def check_read(value: Mapping[str, Any], path: str, flaws: list[Flaw]) -> Check | None:
    """Return a check of an object; what is wrong with it is added to the flaws."""
    fields = Fields(value, path, flaws)
    weight = fields.number("weight", default=1.0, least=0.0, most=MOST_WEIGHT)
    required, say = fields.flag("required", default=True), fields.text("say")
    condition = _condition(fields, CHECKS)
    return None if condition is None else Check(condition, weight, required, say)


def guard_read(value: Mapping[str, Any], path: str, flaws: list[Flaw]) -> Guard | None:
    """Return a guard of an object; what is wrong with it is added to the flaws."""
    fields = Fields(value, path, flaws)
    say = fields.text("say")
    condition = _condition(fields, GUARDS)
    return None if condition is None else Guard(condition, say)


def _condition(fields: Fields, kinds: Mapping[str, type[Condition]]) -> Condition | None:
    if "kind" not in fields:
        fields.flaw("missing_key", "", f"The key kind is missing; use {', '.join(kinds)}.")
        return None
    kind = kinds.get(fields.choice("kind", tuple(kinds)))
    if kind is None:
        return None
    condition = kind.read(fields)
    fields.finish()
    return condition
