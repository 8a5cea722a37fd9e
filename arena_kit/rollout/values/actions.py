"""The actions in a browser: their names and arguments, and how a written one is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from arena_kit.errors import Refused
from arena_kit.rollout.values.equality import is_number, shown
from arena_kit.rollout.values.strict_json import flaws

TARGET, SELECTOR = "ref", "selector"
"""An element is named by its reference in the snapshot; a script, which has seen none, names it by a selector."""
ANSWER, GIVE_UP, NOTE = "answer", "give_up", "note"
ENDINGS = (ANSWER, GIVE_UP)
MOST_TEXT = 20_000
MOST_SECONDS = 5
_TYPES: Mapping[str, str] = {
    "x": "number", "y": "number", "dx": "number", "dy": "number", "seconds": "number", "index": "number",
    "scale": "number", "enter": "boolean", "clear": "boolean", "accept": "boolean", "full": "boolean",
    "values": "texts", "modifiers": "texts", "from": "place", "to": "place", "clip": "any", "value": "any",
}  # fmt: skip
"""Types of arguments; all others are texts."""


class ActionRefused(Refused):
    """An action that is not known, or an argument that does not fit. The message is for the agent or the author."""


@dataclass(frozen=True, slots=True)
class ActionForm:
    """The form of an action. order: how arguments stand in a list. needs: one of each group must be there."""

    order: tuple[str, ...] = ()
    further: tuple[str, ...] = ()
    needs: tuple[tuple[str, ...], ...] = ()

    @property
    def arguments(self) -> tuple[str, ...]:
        """All names of arguments."""
        targets = (SELECTOR,) if TARGET in (*self.order, *self.further) else ()
        return (*self.order, *self.further, *targets)


@dataclass(frozen=True, slots=True)
class Action:
    """One action, read and found good. note: reasoning, which is free."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the action as it stands in a log of steps."""
        return {"action": self.name, **self.arguments, **({NOTE: self.note} if self.note else {})}


_AT = ((TARGET, SELECTOR, "x"),)
_ON = ((TARGET, SELECTOR),)
_POINT = ("x", "y", "scale")
_CLICK = ActionForm((TARGET,), (*_POINT, "button", "modifiers"), _AT)
ACTIONS: Mapping[str, ActionForm] = {
    "click": _CLICK,
    "double_click": _CLICK,
    "hover": ActionForm((TARGET,), (*_POINT, "modifiers"), _AT),
    "focus": ActionForm((TARGET,), _POINT, _AT),
    "clear": ActionForm((TARGET,), _POINT, _AT),
    "fill": ActionForm((TARGET, "text"), (), (*_ON, ("text",))),
    "type": ActionForm(("text", TARGET), (*_POINT, "enter", "clear"), (("text",),)),
    "press": ActionForm(("keys",), (TARGET,), (("keys",),)),
    "select_option": ActionForm((TARGET, "values"), (), (*_ON, ("values",))),
    "check": ActionForm((TARGET,), (), _ON),
    "uncheck": ActionForm((TARGET,), (), _ON),
    "drag": ActionForm(("from", "to"), ("scale",), (("from",), ("to",))),
    "scroll": ActionForm(("dx", "dy", TARGET), _POINT, (("dx", "dy"),)),
    "goto": ActionForm(("url",), (), (("url",),)),
    "back": ActionForm(),
    "forward": ActionForm(),
    "reload": ActionForm(),
    "new_tab": ActionForm(("url",)),
    "switch_tab": ActionForm(("index",), (), (("index",),)),
    "close_tab": ActionForm(("index",)),
    "dialog": ActionForm(("accept", "text"), (), (("accept",),)),
    "upload": ActionForm((TARGET, "name"), (), (*_ON, ("name",))),
    "wait": ActionForm(("seconds",), (), (("seconds",),)),
    "screenshot": ActionForm((), ("full", "clip")),
    NOTE: ActionForm(("text",), (), (("text",),)),
    ANSWER: ActionForm(("value",), ("status",), (("value",),)),
    GIVE_UP: ActionForm(("status", "reason"), (), (("status",),)),
}


def action_read(value: Any, *, scripted: bool = False) -> Action:
    """Return an action of an object such as {"action": "click", "ref": "e7"}. Raises ActionRefused.

    scripted: whether it may be a list such as ["click", "role=button"], in which elements are named by selectors.
    """
    if scripted and isinstance(value, list):
        value = _from_list(value)
    if not isinstance(value, Mapping):
        raise ActionRefused('An action is an object such as {"action": "click", "ref": "e7"}.', code="bad_action")
    if flaw := next(flaws(value), None):
        raise ActionRefused(f"{flaw.path}: {flaw.message}", code="bad_action")
    given = dict(value)
    name, note = given.pop("action", None), ""
    form = ACTIONS.get(name) if isinstance(name, str) else None
    if form is None or not isinstance(name, str):
        raise ActionRefused(f"{shown(name)} is not an action; use {', '.join(ACTIONS)}.", code="unknown_action")
    if name != NOTE:
        note = _checked(NOTE, given.pop(NOTE, ""), name)
    arguments = {key: _checked(key, each, name) for key, each in given.items()}
    allowed = form.arguments if scripted else tuple(each for each in form.arguments if each != SELECTOR)
    if unknown := [key for key in arguments if key not in allowed]:
        sentence = f"The action {name} takes no {shown(unknown[0])}; it takes {', '.join(allowed) or 'nothing'}."
        raise ActionRefused(sentence, code="bad_argument")
    for group in form.needs:
        if not any(key in arguments for key in group):
            options = " or ".join(key for key in group if key in allowed)
            raise ActionRefused(f"The action {name} needs {options}.", code="bad_argument")
    if ("x" in arguments) != ("y" in arguments):
        raise ActionRefused(f"The action {name} needs both x and y, or neither.", code="bad_argument")
    return Action(name, arguments, note)


def _from_list(value: list[Any]) -> dict[str, Any]:
    name = value[0] if value and isinstance(value[0], str) else ""
    form = ACTIONS.get(name)
    if form is None:
        raise ActionRefused(f"{shown(name)} is not an action; use {', '.join(ACTIONS)}.", code="unknown_action")
    if len(value) - 1 > len(form.order):
        sentence = f"The action {name} takes at most {len(form.order)} arguments in a list; write it as an object."
        raise ActionRefused(sentence, code="bad_argument")
    names = [SELECTOR if key == TARGET else key for key in form.order]
    return {"action": name, **dict(zip(names, value[1:], strict=False))}


def _checked(name: str, value: Any, action: str) -> Any:
    kind = _TYPES.get(name, "text")
    if kind == "texts" and isinstance(value, str):
        value = [value]
    if not _fits(kind, value):
        words = {
            "number": "a number",
            "boolean": "true or false",
            "texts": "a list of texts",
            "place": "a reference, a selector or a point [x, y]",
            "text": f"a text of at most {MOST_TEXT:,} characters",
        }
        sentence = f"The argument {name[:40]} of {action} must be {words[kind]}."
        raise ActionRefused(sentence, code="bad_argument")
    if name == "seconds" and not 0 <= value <= MOST_SECONDS:
        raise ActionRefused(f"An agent may wait for 0 to {MOST_SECONDS} seconds at a time.", code="bad_argument")
    return value


def _fits(kind: str, value: Any) -> bool:
    if kind == "any":
        return True
    if kind == "number":
        return is_number(value) and abs(value) <= 1_000_000
    if kind == "boolean":
        return isinstance(value, bool)
    if kind == "texts":
        return isinstance(value, list) and len(value) <= 100 and all(_fits("text", each) for each in value)
    if kind == "place" and isinstance(value, list):
        return len(value) == 2 and all(_fits("number", each) for each in value)
    return isinstance(value, str) and len(value) <= MOST_TEXT
