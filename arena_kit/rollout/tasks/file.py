"""Reads tasks.json: the older dashboard's list of tasks, or an object with defaults around it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from arena_kit.errors import Refused
from arena_kit.rollout.tasks.reading import INSTRUCTION, Rules, task_read
from arena_kit.rollout.tasks.task import Task
from arena_kit.rollout.values.equality import shown
from arena_kit.rollout.values.fields import Fields
from arena_kit.rollout.values.strict_json import MOST_FLAWS, Flaw, Object, flaws, read_json

MOST_BYTES = 8 << 20
MOST_TASKS = 5_000
SCHEMA = 1
NOT_IN_DEFAULTS = ("id", "answer", "oracle", *INSTRUCTION)


class TasksRefused(Refused):
    """A file of which no task can be read. code: `not_tasks`, `bad_file`, or one of NotJson."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A task that is not taken over. index: its place in the file, from 0. reasons: what is wrong, where."""

    index: int
    key: str
    reasons: tuple[Flaw, ...]

    def as_json(self) -> dict[str, Any]:
        """Return {index, id, reason}, as uploads answer."""
        return {
            "index": self.index,
            "id": self.key,
            "reason": " ".join(f"{each.path}: {each.message}" for each in self.reasons),
        }


@dataclass(frozen=True, slots=True)
class TaskFile:
    """The content of a file. environment: the slug that it names, if it does."""

    tasks: tuple[Task, ...]
    skipped: tuple[Skipped, ...] = ()
    environment: str = ""


def tasks_read(data: bytes, rules: Rules | None = None) -> TaskFile:
    """Return the tasks of a file, and those that are skipped. Raises NotJson and TasksRefused."""
    document = read_json(data, most_bytes=MOST_BYTES)
    rules = rules or Rules()
    listed, defaults, environment = _outline(document, rules)
    if len(listed) > MOST_TASKS:
        raise TasksRefused(
            f"The file has {len(listed):,} tasks; at most {MOST_TASKS:,} are read.", code="too_many_tasks"
        )
    rules = replace(rules, environment=rules.environment or environment)
    tasks: dict[str, Task] = {}
    skipped: list[Skipped] = []
    for index, each in enumerate(listed):
        path = f"$[{index}]" if isinstance(document, list) else f"$.tasks[{index}]"
        if not isinstance(each, dict):
            skipped.append(Skipped(index, "", (Flaw("not_a_task", path, "A task must be an object in braces."),)))
            continue
        task, found = task_read(_with_defaults(each, defaults), path, rules)
        if task is not None and task.key in tasks:
            found = [Flaw("repeated_id", f"{path}.id", f"Another task of the file has the id {task.key}.")]
        elif task is not None:
            tasks[task.key] = task
        if found:
            skipped.append(Skipped(index, _named(each), tuple(found[:MOST_FLAWS])))
    return TaskFile(tuple(tasks.values()), tuple(skipped), rules.environment)


def _outline(document: Any, rules: Rules) -> tuple[list[Any], Mapping[str, Any], str]:
    """Return the list of tasks, their defaults, and the environment."""
    if isinstance(document, list):
        return document, {}, ""
    if not isinstance(document, dict) or not isinstance(document.get("tasks"), list):
        sentence = 'tasks.json is a list of tasks, or an object such as {"schema": 1, "tasks": [...]}.'
        raise TasksRefused(sentence, code="not_tasks")
    outside = {name: value for name, value in document.items() if name != "tasks"}
    fields = Fields(outside, "$", list(flaws(outside)))
    fields.take("$schema")  # for editors
    if fields.take("schema") != SCHEMA:
        fields.flaw("bad_value", "schema", f"This arena reads the schema {SCHEMA}.")
    environment, defaults = fields.text("environment", most=100), fields.object("defaults") or {}
    if rules.environment and environment not in ("", rules.environment):
        sentence = f"The tasks are for {shown(environment)}, and this is {rules.environment}."
        fields.flaw("other_environment", "environment", sentence)
    for name in NOT_IN_DEFAULTS:
        if name in defaults:
            fields.flaw("bad_value", "defaults", f"Give the key {name} in each task; it cannot have a default.")
    fields.finish()
    if fields.flaws:
        sentence = " ".join(f"{each.path}: {each.message}" for each in fields.flaws[:5])
        raise TasksRefused(sentence, code="bad_file")
    return document["tasks"], defaults, environment


def _with_defaults(task: Mapping[str, Any], defaults: Mapping[str, Any]) -> Mapping[str, Any]:
    if not defaults:
        return task
    limits = {**defaults["limits"], **task["limits"]} if _both_have_limits(task, defaults) else None
    merged = Object({**defaults, **task, **({} if limits is None else {"limits": limits})})
    merged.repeated = getattr(task, "repeated", ())
    return merged


def _both_have_limits(task: Mapping[str, Any], defaults: Mapping[str, Any]) -> bool:
    return isinstance(task.get("limits"), dict) and isinstance(defaults.get("limits"), dict)


def _named(task: Mapping[str, Any]) -> str:
    key = task.get("id", "")
    return str(key)[:100] if isinstance(key, str | int) else ""
