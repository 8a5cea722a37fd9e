"""Reads actions as agents of two other systems write them: computer-use calls on a grid, and BrowserGym's texts.

A call is {"name": "click_at", "args": {"x": 500, "y": 20}}, as Gemini's computer-use models answer and the older
dashboard logs; its coordinates lie on a grid of 1,000. A text is BrowserGym's `click("12")`, of which nothing is ever
run. Any other text is an agent's last word, in which its answer is looked for.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from typing import Any

from arena_kit.rollout.values.actions import ACTIONS, ActionRefused
from arena_kit.rollout.values.answers import answer_said

GRID = 1_000
SCROLL_PIXELS = 600
MOST_CALL = 40_000
MOST_OUTSIDE = 400
"""Characters outside of quotation marks: Python's parser could be brought down by what is nested without end."""
_STRINGS = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'")
_SIDES = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}
Arguments = Mapping[str, Any]
Made = dict[str, Any]


def action_adapted(value: Any) -> Any:
    """Return an action of another system as one of ours; everything else as it is. Raises ActionRefused."""
    if isinstance(value, str):
        return _of_text(value)
    if not isinstance(value, Mapping):
        return value
    name = value.get("name", value.get("action"))
    if not isinstance(name, str) or name in ACTIONS or name not in CALLS:
        return value
    given = value.get("args", {key: each for key, each in value.items() if key not in ("name", "action", "note")})
    if not isinstance(given, Mapping):
        raise ActionRefused(f"The arguments of {name} must be an object.", code="bad_argument")
    return _called(CALLS[name], name, given, (value["note"],) if isinstance(value.get("note"), str) else ())


def _called(make: Callable[[Arguments], Made], name: str, given: Arguments, note: tuple[str, ...]) -> Made:
    try:
        made = make(given)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        raise ActionRefused(f"The arguments of {name} do not fit.", code="bad_argument") from None
    return made | ({"note": note[0]} if note else {})


def _at(given: Arguments, x: str = "x", y: str = "y") -> Made:
    return {"x": given[x], "y": given[y], "scale": GRID}


def _scroll(given: Arguments, pixels: float) -> Made:
    across, down = _SIDES[given["direction"]]
    return {"action": "scroll", "dx": across * pixels, "dy": down * pixels}


def _drag(given: Arguments) -> Made:
    start, end = [given["x"], given["y"]], [given["destination_x"], given["destination_y"]]
    return {"action": "drag", "from": start, "to": end, "scale": GRID}


def _typed(given: Arguments) -> Made:
    enter, clear = given.get("press_enter", True), given.get("clear_before_typing", True)
    return {"action": "type", **_at(given), "text": given["text"], "enter": enter, "clear": clear}


CALLS: Mapping[str, Callable[[Arguments], Made]] = {
    "click_at": lambda given: {"action": "click", **_at(given)},
    "hover_at": lambda given: {"action": "hover", **_at(given)},
    "type_text_at": _typed,
    "scroll_document": lambda given: _scroll(given, SCROLL_PIXELS),
    "scroll_at": lambda given: _scroll(given, given.get("magnitude", SCROLL_PIXELS)) | _at(given),
    "navigate": lambda given: {"action": "goto", "url": given["url"]},
    "search": lambda _: {"action": "goto", "url": "/"},
    "key_combination": lambda given: {"action": "press", "keys": _keys(given["keys"])},
    "drag_and_drop": _drag,
    "wait_5_seconds": lambda _: {"action": "wait", "seconds": 5},
    "go_back": lambda _: {"action": "back"},
    "go_forward": lambda _: {"action": "forward"},
    "open_web_browser": lambda _: {"action": "screenshot"},
}
"""Names of computer-use models, which the older dashboard had. There is no web to search, so `search` goes home."""

_NAMED_KEYS = {
    "control": "Control", "ctrl": "Control", "alt": "Alt", "shift": "Shift", "meta": "Meta", "command": "Meta",
    "enter": "Enter", "return": "Enter", "escape": "Escape", "esc": "Escape", "tab": "Tab", "backspace": "Backspace",
    "delete": "Delete", "space": "Space", "home": "Home", "end": "End", "pageup": "PageUp", "pagedown": "PageDown",
    "up": "ArrowUp", "down": "ArrowDown", "left": "ArrowLeft", "right": "ArrowRight",
}  # fmt: skip


def _keys(keys: str) -> str:
    """Return keys such as `control+a` by the names that browsers use."""
    return "+".join(_NAMED_KEYS.get(key.strip().lower(), key.strip()) for key in keys.split("+"))


def _ref(bid: Any) -> str:
    """Return the reference that a BrowserGym text means: `12` is e12 of our snapshots."""
    return f"e{bid}" if str(bid).isdecimal() else str(bid)


def _on(action: str, *further: str) -> Callable[..., Made]:
    return lambda bid, *values, **_: {
        "action": action,
        "ref": _ref(bid),
        **dict(zip(further, values, strict=False)),
    }


def _answered(text: Any) -> Made:
    return {"action": "answer", "value": answer_said(text) if isinstance(text, str) else text}


TEXTS: Mapping[str, Callable[..., Made]] = {
    "click": _on("click", "button", "modifiers"),
    "dblclick": _on("double_click", "button", "modifiers"),
    "hover": _on("hover"),
    "focus": _on("focus"),
    "clear": _on("clear"),
    "fill": _on("fill", "text"),
    "check": _on("check"),
    "uncheck": _on("uncheck"),
    "select_option": _on("select_option", "values"),
    "press": lambda bid, keys: {"action": "press", "ref": _ref(bid), "keys": keys},
    "upload_file": _on("upload", "name"),
    "drag_and_drop": lambda start, end: {"action": "drag", "from": _ref(start), "to": _ref(end)},
    "mouse_click": lambda x, y, button="left": {"action": "click", "x": x, "y": y, "button": button},
    "mouse_dblclick": lambda x, y, button="left": {"action": "double_click", "x": x, "y": y, "button": button},
    "mouse_move": lambda x, y: {"action": "hover", "x": x, "y": y},
    "mouse_drag_and_drop": lambda a, b, c, d: {"action": "drag", "from": [a, b], "to": [c, d]},
    "keyboard_press": lambda key: {"action": "press", "keys": key},
    "keyboard_type": lambda text: {"action": "type", "text": text},
    "keyboard_insert_text": lambda text: {"action": "type", "text": text},
    "scroll": lambda dx, dy: {"action": "scroll", "dx": dx, "dy": dy},
    "goto": lambda url: {"action": "goto", "url": url},
    "go_back": lambda: {"action": "back"},
    "go_forward": lambda: {"action": "forward"},
    "new_tab": lambda: {"action": "new_tab"},
    "tab_focus": lambda index: {"action": "switch_tab", "index": index},
    "tab_close": lambda: {"action": "close_tab"},
    "noop": lambda ms=1_000: {"action": "wait", "seconds": min(ms / 1_000, 5)},
    "send_msg_to_user": _answered,
    "report_infeasible": lambda reason="": {"action": "give_up", "status": "UNKNOWN", "reason": str(reason)},
}
"""BrowserGym's functions. A text that names none of them, or more than one call, is not an action of its form."""


def _of_text(text: str) -> Made:
    call = _call_in(text)
    if call is None:
        return {"action": "answer", "value": answer_said(text)}
    name, values, named = call
    try:
        return TEXTS[name](*values, **named)
    except (TypeError, ValueError, AttributeError):
        raise ActionRefused(f"The arguments of {name} do not fit.", code="bad_argument") from None


def _call_in(text: str) -> tuple[str, list[Any], dict[str, Any]] | None:
    """Return name and arguments if a text is one call of BrowserGym with plain values, else None."""
    if len(text) > MOST_CALL or text.strip().partition("(")[0] not in TEXTS:
        return None
    if len(_STRINGS.sub("", text)) > MOST_OUTSIDE:
        return None
    try:
        node = ast.parse(text.strip().strip("`"), mode="eval").body
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            return None
        values = [ast.literal_eval(each) for each in node.args]
        if not all(each.arg for each in node.keywords):
            return None
        named = {each.arg: ast.literal_eval(each.value) for each in node.keywords if each.arg}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return node.func.id, values, named
