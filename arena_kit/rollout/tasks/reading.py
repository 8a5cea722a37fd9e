"""Reads one task of a file; sentences that name the key report what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from arena_kit.rollout.checks.base import Check
from arena_kit.rollout.checks.evidence import STATUSES, SUCCESS
from arena_kit.rollout.checks.kinds import check_read, guard_read
from arena_kit.rollout.checks.values import FormatCheck, answer_equals
from arena_kit.rollout.exports.requests import address_of
from arena_kit.rollout.tasks.task import MOST_COST, WIDEST, Difficulty, RolloutLimits, Split, Task
from arena_kit.rollout.values.actions import ENDINGS, Action, ActionRefused, action_read
from arena_kit.rollout.values.equality import shown
from arena_kit.rollout.values.fields import Fields
from arena_kit.rollout.values.paths import NOTHING
from arena_kit.rollout.values.strict_json import Flaw, NotJson, flaws, parse_json

INSTRUCTION = ("task", "instruction", "intent", "goal")
MOST_INSTRUCTION = 20_000
MOST_CHECKS = 50
MOST_ACTIONS = 200
_KEY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}\Z")
_TAG = re.compile(r"[^\s,][^,\n]{0,39}\Z")


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules that the environment of a file sets.

    limits: the defaults of its tasks, and the most that they may ask for. logins, origins: those of its package. None
    where the package is not known.
    """

    environment: str = ""
    limits: RolloutLimits | None = None
    logins: Sequence[str] | None = None
    origins: Sequence[str] | None = None


def task_read(value: Mapping[str, Any], path: str, rules: Rules) -> tuple[Task | None, list[Flaw]]:
    """Return the task of an object with its key, or None and what is wrong with it."""
    found = list(flaws(value, path))
    if any(flaw.code == "too_deep" for flaw in found):
        return None, found  # What follows may recurse as deep as values lie.
    fields = Fields(value, path, found)
    key = _key(fields)
    instruction = fields.text(*INSTRUCTION, most=MOST_INSTRUCTION, is_needed=True)
    task = Task(
        key=key,
        instruction=instruction.strip(),
        definition=_definition(value),
        environment=rules.environment,
        start_url=_start_url(fields, rules),
        login=_login(fields, rules),
        seed=fields.whole("seed", default=0, least=0, most=2**53),
        answer=_answer(fields),
        guards=tuple(filter(None, _each(fields, "guards", guard_read))),
        expect=fields.choice("expect", STATUSES, default=SUCCESS),
        pass_score=fields.number("pass_score", default=1.0, least=0.0, most=1.0, above=True),
        limits=_limits(fields, rules, key),
        tags=_tags(fields),
        split=Split(fields.choice("split", tuple(Split), default=Split.PRACTICE)),
        oracle=_oracle(fields),
        format=FormatCheck.read(fields),
        tell_score=fields.flag("tell_score", default=False),
    )
    if difficulty := fields.choice("difficulty", tuple(Difficulty)):
        task = replace(task, difficulty=Difficulty(difficulty))
    written = tuple(filter(None, _each(fields, "checks", check_read)))
    fields.finish()
    if found:
        return None, found
    asked = () if task.answer is NOTHING else (Check(answer_equals(task.answer)),)
    return replace(task, checks=(*asked, *written)), []


def task_again(key: str, definition: Mapping[str, Any], *, environment: str = "") -> Task:
    """Return a task from the definition that was kept of it. Raises ValueError if this version cannot read it."""
    task, found = task_read({**definition, "id": key}, "$", Rules(environment))
    if task is None:
        raise ValueError(f"The task {key} can no longer be read: {found[0].path}: {found[0].message}")
    return task


def _definition(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys that were written, the instruction under its first name; an answer of null is left out."""
    kept = {name: each for name, each in value.items() if name != "id" and (name, each) != ("answer", None)}
    for name in INSTRUCTION[1:]:
        if name in kept and INSTRUCTION[0] not in kept:
            kept[INSTRUCTION[0]] = kept.pop(name)
    return kept


def _key(fields: Fields) -> str:
    value = fields.take("id")
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if value is NOTHING:
        fields.flaw("missing_key", "", "The key id is missing.")
    elif not isinstance(value, str) or not _KEY.match(value):
        fields.flaw("bad_id", "id", "It must be 1 to 100 letters, digits, dots, dashes and underscores.")
    else:
        return value
    return ""


def _answer(fields: Fields) -> Any:
    """Return the expected answer, or NOTHING.

    As on the older dashboard, a text that is JSON stands for the value in it, any other one for itself, and null for no
    answer.
    """
    value = fields.take("answer")
    if value is None:
        return NOTHING
    if not isinstance(value, str):
        return value
    try:
        read = parse_json(value)
    except NotJson:
        return value
    fields.flaws.extend(flaws(read, f"{fields.path}.answer"))
    return read


def _start_url(fields: Fields, rules: Rules) -> str:
    url = fields.text("start_url", most=2_000)
    if not url or (url.startswith("/") and not url.startswith("//")):
        return url
    origin = address_of(url).origin
    if not origin.startswith(("http://", "https://")):
        fields.flaw("bad_value", "start_url", "It must be a path such as /orders, or an address of the package.")
    elif rules.origins is not None and origin not in {address_of(each).origin for each in rules.origins}:
        fields.flaw(
            "bad_value", "start_url", f"{shown(origin)} is not an origin of the package; use a path such as /orders."
        )
    return url


def _login(fields: Fields, rules: Rules) -> str:
    login = fields.text("login", most=100)
    if login and rules.logins is not None and login not in rules.logins:
        known = ", ".join(rules.logins) or "the package has none"
        fields.flaw("bad_value", "login", f"{shown(login)} is not a login of the package ({known}).")
    return login


def _limits(fields: Fields, rules: Rules, key: str) -> RolloutLimits:
    usual = rules.limits or RolloutLimits()
    value = fields.object("limits")
    if value is None:
        return usual
    inner = Fields(value, f"{fields.path}.limits", fields.flaws)
    cost = inner.number("cost", default=MOST_COST, least=0.0, most=MOST_COST, above=True) if "cost" in inner else None
    found = RolloutLimits(
        steps=inner.whole("steps", default=usual.steps, least=1, most=WIDEST.steps),
        seconds=inner.whole("seconds", default=usual.seconds, least=10, most=WIDEST.seconds),
        agent_seconds=inner.whole("agent_seconds", default=usual.agent_seconds, least=1, most=WIDEST.agent_seconds),
        tokens=inner.whole("tokens", default=usual.tokens, least=1, most=WIDEST.tokens),
        cost_micros=usual.cost_micros if cost is None else round(cost * 1e6),
    )
    inner.finish()
    if rules.limits is not None:
        _check_limits(inner, found, rules.limits, key)
    return found


def _check_limits(fields: Fields, asked: RolloutLimits, allowed: RolloutLimits, key: str) -> None:
    """Add a flaw for each limit that is wider than that of the package."""
    values, most = asdict(asked), asdict(allowed)
    for name, value in values.items():
        if most[name] is None or value is None or value <= most[name]:
            continue
        wide, wanted, given = name, f"{value:,}", f"{most[name]:,}"
        if name == "cost_micros":
            wide, wanted, given = "cost", f"{value / 1e6:g}", f"{most[name] / 1e6:g}"
        sentence = f"The task {key} asks for {wanted}, and its package allows {given}."
        fields.flaw("limit_too_wide", wide, f"{sentence} Lower it here, or raise limits.{wide} in environment.yml.")


def _tags(fields: Fields) -> tuple[str, ...]:
    tags = fields.texts("tags", most=20, most_characters=40)
    for tag in tags:
        if not _TAG.match(tag) or tag != tag.strip():
            fields.flaw(
                "bad_value", "tags", f"{shown(tag)} is not a tag. A tag has no commas and no white space at its ends."
            )
    return tuple(dict.fromkeys(tags))


def _oracle(fields: Fields) -> tuple[Action, ...]:
    value = fields.take("oracle")
    if value is NOTHING:
        return ()
    if not isinstance(value, list) or not 1 <= len(value) <= MOST_ACTIONS:
        fields.flaw("bad_value", "oracle", f"It must be a list of 1 to {MOST_ACTIONS} actions.")
        return ()
    actions = []
    for place, each in enumerate(value):
        try:
            actions.append(action_read(each, scripted=True))
        except ActionRefused as refusal:
            fields.flaws.append(Flaw(refusal.code, f"{fields.path}.oracle[{place}]", str(refusal)))
    ends = [place for place, action in enumerate(actions) if action.name in ENDINGS]
    if len(actions) == len(value) and ends != [len(value) - 1]:
        fields.flaw("bad_value", "oracle", "Its last action, and no other one, is answer or give_up.")
    return tuple(actions)


def _each(fields: Fields, name: str, read: Callable[[Mapping[str, Any], str, list[Flaw]], Any]) -> list[Any]:
    return [read(value, path, fields.flaws) for path, value in fields.objects(name, most=MOST_CHECKS)]
