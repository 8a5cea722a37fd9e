"""Tags and filters of rollouts: badges, money, and what an agent did in words. Texts of agents are escaped as ever."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from django import template
from django.utils.safestring import SafeString

from core.models import EndedBy, Rollout
from web.rollouts.task_parts import rollout_words
from web.templatetags.arena import badge
from web.templatetags.scores import signed

register = template.Library()

MOST_WORDS = 300
ELEMENTS = ("ref", "selector", "from", "to")
"""Arguments of actions that name an element."""
_ROLE = re.compile(r"role=(?P<role>[\w-]+)\[name=(?P<name>.+)\](?: >> nth=\d+)?\Z", re.DOTALL)


@register.simple_tag
def rollout_badge(rollout: Rollout) -> SafeString:
    """Return where a rollout is or what became of it, as a small coloured label."""
    return badge(*rollout_words(rollout))


@register.filter
def money(micros: float | None) -> str:
    """Write a cost, given in millionths of the unit of prices."""
    return "–" if micros is None else f"{micros / 1e6:.4f}".rstrip("0").rstrip(".")


@register.filter
def price(units: float | None) -> str:
    """Write a cost, given in the unit of prices."""
    return "–" if units is None else f"{units:.4f}".rstrip("0").rstrip(".")


@register.filter
def step_words(step: Mapping[str, Any] | None) -> str:
    """Write what was done in a step in a line, with elements as people know them: fill textbox "Name" text "Anna"."""
    action = (step or {}).get("action")
    if step is None or not action:
        return "looked"
    words = [str(action.get("action", "")).replace("_", " ")]
    for name, value in action.items():
        if name in ELEMENTS:
            words.append(_element((step.get("target") or {}).get(name) or str(value)))
        elif name not in ("action", "note"):
            words.append(f"{name} {_short(value)}")
    return " ".join(words)[:MOST_WORDS]


def _element(selector: str) -> str:
    """Return an element as people know it, button "Save" for role=button[name="Save"]; other texts as they are."""
    found = _ROLE.match(selector)
    return f"{found['role']} {found['name']}" if found else selector


@register.filter
def as_json(value: Any) -> str:
    """Write a value as JSON that people can read."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def _short(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


@register.filter
def rollout_label(rollout: Rollout) -> str:
    """Return where a rollout is, for a screen reader."""
    return f"The rollout: {rollout_words(rollout)[0]}"


@register.filter
def get_k(figures: Mapping[int, Any], k: int) -> Any:
    """Return the figure of k attempts."""
    return figures.get(k)


@register.filter
def ended_words(name: str) -> str:
    """Write why rollouts ended."""
    return str(EndedBy(name).label)


@register.filter
def limit_words(limits: Mapping[str, float]) -> str:
    """Write the limits of a task as its file has them: 20 steps, 60 s of the agent's own time, a cost of 0.5."""
    words = []
    for name, value in limits.items():
        match name:
            case "seconds":
                words.append(f"{value:,} s in all")
            case "agent_seconds":
                words.append(f"{value:,} s of the agent’s own time")
            case "cost":
                words.append(f"a cost of {price(value)}")
            case _:
                words.append(f"{value:,} {name.removesuffix('s') if value == 1 else name}")
    return ", ".join(words)


@register.filter
def points(share: float) -> str:
    """Write a difference of shares in points of a hundred, with its sign."""
    return signed(round(100 * share))


@register.filter
def unlocal(value: float) -> str:
    """Write a number of pixels as SVG reads it."""
    return f"{value:g}"


@register.filter
def began_ms(step: Mapping[str, Any]) -> int:
    """Return when the action of a step began, in milliseconds since the rollout's start."""
    return max(0, int(step["at_ms"]) - int(step["act_ms"]))
