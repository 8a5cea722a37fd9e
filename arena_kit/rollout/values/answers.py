"""Finds the answer in what an agent says at its end, for agents that only end with a text. No model extracts anything."""

from __future__ import annotations

import json
import re
from typing import Any

from arena_kit.rollout.strict_json import NotJson, decode_at, is_flawless, parse_json

MOST_CHARACTERS = 100_000
"""Of a longer text only the end is looked at."""
MOST_READ = 4_000_000
"""Characters that are read while JSON is searched for; an honest text needs a few times its length."""
MOST_BLOCKS = 20
FENCE = "```"
_OPENING = re.compile(r"[{\[]")


def answer_in(text: str) -> Any:
    """Return the last fenced block that is JSON, else the last whole JSON object or array, else the trimmed text."""
    text = text[-MOST_CHARACTERS:]
    for block in reversed(_fenced_blocks(text)[-MOST_BLOCKS:]):
        try:
            value = parse_json(block)
        except NotJson:
            continue
        if is_flawless(value):
            return value
    return _last_in(text)


def _fenced_blocks(text: str) -> list[str]:
    """Return the blocks between lines that begin with a fence."""
    blocks: list[str] = []
    inside: list[str] | None = None
    for line in text.splitlines():
        if not line.startswith(FENCE):
            if inside is not None:
                inside.append(line)
        elif inside is None:
            inside = []
        else:
            blocks.append("\n".join(inside))
            inside = None
    return blocks


def _last_in(text: str) -> Any:
    """Return the last object or array that lies in no other one, or the trimmed text without any."""
    found: Any = text.strip()
    position = read = 0
    while read < MOST_READ and (opening := _OPENING.search(text, position)):
        start = position = opening.start()
        try:
            value, position = decode_at(text, start)
        except json.JSONDecodeError as error:
            read += error.pos - start
            position += 1
        except RecursionError:
            # What follows lies as deep: all these brackets are passed over at once.
            position = _behind_brackets(text, start)
        else:
            read += position - start
            found = value if is_flawless(value) else found
    return found


def _behind_brackets(text: str, start: int) -> int:
    while start < len(text) and text[start] in "{[ \t\r\n":
        start += 1
    return start
