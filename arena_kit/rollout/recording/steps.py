"""A step as it stands in the log, and how an element that was acted on is found again in another world."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MOST_TARGET = 300
_LINE = re.compile(r"^\s*- (?P<role>[\w-]+)(?: (?P<name>\"(?:[^\"\\]|\\.)*\"))?(?= |:|$)(?P<rest>.*)$")


@dataclass(frozen=True, slots=True)
class Step:
    """A step of an agent, with its view before it. Its texts may hold words of the agent and of pages.

    at_ms: since the rollout's start. error: what came of the action, as the agent is told. url, title,
    snapshot_sha256, picture: of the page that the agent saw before it acted; the last two name files in pages.zip.
    target: a selector of the element, for a replay. sent: JSON of what the agent has sent; empty if that is `action`
    itself, and not a call of another system or what was refused. requests: first and last number in the HAR, or empty.
    """

    number: int
    at_ms: int
    action: Mapping[str, Any]
    note: str = ""
    error: str = ""
    url: str = ""
    title: str = ""
    snapshot_sha256: str = ""
    picture: str = ""
    agent_ms: int = 0
    act_ms: int = 0
    tokens: int = 0
    cost_micros: int = 0
    requests: tuple[int, ...] = ()
    target: Mapping[str, str] = field(default_factory=dict)
    sent: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the step as a line of steps.jsonl."""
        return {
            "number": self.number, "at_ms": self.at_ms, "action": dict(self.action), "note": self.note,
            "error": self.error, "url": self.url, "title": self.title, "snapshot_sha256": self.snapshot_sha256,
            "picture": self.picture, "agent_ms": self.agent_ms, "act_ms": self.act_ms, "tokens": self.tokens,
            "cost_micros": self.cost_micros, "requests": list(self.requests), "target": dict(self.target),
            "sent": self.sent,
        }  # fmt: skip


def snapshot_sha256(snapshot: str) -> str:
    """Return the name of a snapshot in pages.zip; empty for no snapshot."""
    return hashlib.sha256(snapshot.encode()).hexdigest() if snapshot else ""


def target_of(ref: str, snapshot: str) -> str:
    """Return a selector by role and name of the element that a reference means, or empty if it has no name.

    Where several elements have the same role and name, the selector says which of them it is.
    """
    wanted, same = f"[ref={ref}]", 0
    lines = [found for line in snapshot.splitlines() if (found := _LINE.match(line))]
    element = next((found for found in lines if wanted in found["rest"]), None)
    if element is None or not element["name"]:
        return ""
    for found in lines:
        if found is element:
            break
        same += (found["role"], found["name"]) == (element["role"], element["name"])
    text = f"role={element['role']}[name={element['name']}] >> nth={same}"
    return text if len(text) <= MOST_TARGET else ""
