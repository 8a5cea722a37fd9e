"""Finds the answer in what an agent says at its end, for agents that end with a text alone. No model extracts it."""

from __future__ import annotations

import json
import re
from typing import Any

from arena_kit.rollout.values.strict_json import NotJson, decode_at, is_flawless, parse_json

MOST_CHARACTERS = 100_000
"""The longest text that is read whole; only the end of a longer one is."""
MOST_READ = 4_000_000
"""Characters that are read while JSON is searched for; an honest text needs a few times its length."""
MOST_BLOCKS = 20
MOST_VALUES = 1_000
"""The last values of a text that are kept."""
WINDOW = 4_096
CUT_OFF = 20
"""Characters at the end of a part within which an error may be due to the cut."""
FENCE = "```"
LEAST_READ = 200
"""The score of an attempt that fails at once."""
_OPENING = re.compile(r'\{(?=[ \t\r\n]{0,200}["}])|\[(?=[ \t\r\n]{0,200}["\[\]{0-9tfnNI-])')
"""A bracket that can begin an object or an array, by what follows."""


def answer_in(text: str) -> Any:
    """Return the last fenced block that is JSON, else the last whole JSON object or array, else the trimmed text."""
    text = text[-MOST_CHARACTERS:]
    found = blocks_in(text) or values_in(text)
    return found[-1] if found else text.strip()


def answer_said(text: str) -> Any:
    """Return the answer in a text where it is plain, else the trimmed text, which a check reads by what it expects.

    Plain is a text that is JSON, and an object that is the only one: sources may stand behind an answer in brackets.
    """
    short = text[-MOST_CHARACTERS:]
    found = [*blocks_in(short), *values_in(short)]
    whole = short.strip().removeprefix(FENCE).removeprefix("json").removesuffix(FENCE).strip()
    is_whole = whole.startswith(("{", "[")) and len(values_in(short)) == 1 and whole.endswith(("}", "]"))
    objects = [value for value in found if isinstance(value, dict)]
    is_alone = len(objects) == len(found) and all(value == objects[0] for value in objects)
    return found[-1] if found and (is_whole or is_alone) else text.strip()


def blocks_in(text: str) -> list[Any]:
    """Return the values of the fenced blocks that are JSON objects or arrays, in their order."""
    found = []
    for block in _fenced_blocks(text)[-MOST_BLOCKS:]:
        try:
            value = parse_json(block)
        except NotJson:
            continue
        if is_flawless(value):
            found.append(value)
    return found


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


def values_in(text: str) -> list[Any]:
    """Return the objects and arrays that lie in no other one, in their order."""
    found: list[Any] = []
    position = read = 0
    while read < MOST_READ and (opening := _OPENING.search(text, position)):
        start = position = opening.start()
        try:
            value, length = _decoded(text, start)
        except json.JSONDecodeError as error:
            read += max(error.pos, LEAST_READ)
            position += 1
        except RecursionError:
            # What follows lies as deep: all these brackets are passed over at once.
            read += WINDOW
            position = _behind_brackets(text, start)
        else:
            read += length
            position += length
            if is_flawless(value):
                found.append(value)
    return found[-MOST_VALUES:]


def _decoded(text: str, start: int) -> tuple[Any, int]:
    """Return the value that begins at a position, and its length; a short part of the text is tried first.

    An error of the decoder counts the lines before it, which would make many errors in a long text slow. Errors of a
    part may be due to its end; then the whole rest is tried, and the error says that at least WINDOW was read.
    """
    part = text[start : start + WINDOW]
    try:
        return decode_at(part, 0)
    except json.JSONDecodeError as error:
        is_cut = len(part) == WINDOW and (error.pos > WINDOW - CUT_OFF or error.msg.startswith("Unterminated"))
        if not is_cut:
            raise
    try:
        return decode_at(text[start:], 0)
    except json.JSONDecodeError as error:
        error.pos = max(error.pos, WINDOW)
        raise


def _behind_brackets(text: str, start: int) -> int:
    while start < len(text) and text[start] in "{[ \t\r\n":
        start += 1
    return start
