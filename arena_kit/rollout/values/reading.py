"""The grammar of an answer: what of a text is read as the kind of value that a check expects.

1. A text is the answer itself where a text is expected.
2. An object or a list is the last one in the text that lies in no other one; one in a fenced block goes first.
3. A number, true, false or null (Python's None) is the whole text, or its last line, or what stands behind the last
   colon, `=` or `is` of that line, or in its boxed{} of TeX; marks of Markdown, fences, quotes and a full stop around
   it do not count, and numbers may have thousands in groups.
4. Typographic quotes count as plain ones and spaces that do not break as spaces where the text is not JSON as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from typing import Any

from arena_kit.rollout.values.answers import FENCE, MOST_CHARACTERS, blocks_in, values_in
from arena_kit.rollout.values.equality import folded, is_number
from arena_kit.rollout.values.paths import NOTHING

MOST_SCALAR = 1_000
"""The characters within which a number or a word stands."""
KINDS = ("object", "array", "string", "number", "boolean", "null")
_WRAPPED = re.compile(r"[\s*_`\"'$#]*(.*?)[\s*_`\"']*[.\u3002]?[\s*_`\"']*", re.DOTALL)
_FENCED = re.compile(r"```(?:json)?[ \t]*\n([^\n]*)\n```", re.IGNORECASE)
_BOXED = re.compile(r".*\\boxed\{([^{}]*)\}[$.\s]*", re.DOTALL)
_NUMBER = re.compile(
    r"[+-]?(?:[0-9]{1,3}(?:(?:,[0-9]{3})+|(?: [0-9]{3})+)|[0-9]{1,18})(?:\.[0-9]{1,18})?(?:[eE][+-]?[0-9]{1,2})?"
)
_WORDS = {"true": True, "false": False, "null": None, "none": None}


def kind_of(value: Any) -> str:
    """Return the kind of a JSON value, as JSON Schema names it."""
    if isinstance(value, bool):
        return "boolean"
    if is_number(value):
        return "number"
    names = ((dict, "object"), ((list, tuple), "array"), (str, "string"), (type(None), "null"))
    return next((name for kind, name in names if isinstance(value, kind)), "")


def read_as(answer: Any, kinds: Collection[str]) -> Any:
    """Return what an answer says as a value of one of the kinds, or the answer itself if it says none.

    An answer that is no text is taken as it is, and so is a text where texts are expected.
    """
    if not isinstance(answer, str) or "string" in kinds or not kinds:
        return answer
    text = answer[-MOST_CHARACTERS:]
    for written in dict.fromkeys((text, folded(text))):
        for value in _values(written, kinds):
            if kind_of(value) in kinds:
                return value
    return answer


def texts_of(answer: Any) -> Iterator[str]:
    """Yield the texts that an answer may mean where a text is expected: itself, and without quotes around it."""
    if isinstance(answer, str):
        yield answer
        if (bare := _bare(folded(answer))) != answer:
            yield bare


def _values(text: str, kinds: Collection[str]) -> Iterator[Any]:
    """Yield the values in a text, the one that counts most first."""
    if not {"object", "array"}.isdisjoint(kinds):
        yield from reversed(blocks_in(text))
        yield from reversed(values_in(text))
    short = text[-MOST_SCALAR:].strip()
    fence = _FENCED.search(short, max(0, short[:-3].rfind(FENCE)))
    last = (fence[1] if fence and fence.end() == len(short) else short).rpartition("\n")[2]
    boxed = _BOXED.fullmatch(last)
    for part in (text, boxed[1] if boxed else last, *(last.rpartition(mark)[2] for mark in (":", " = ", " is "))):
        if (value := _scalar(part)) is not NOTHING:
            yield value


def _scalar(text: str) -> Any:
    bare = _bare(text)
    if bare.casefold() in _WORDS:
        return _WORDS[bare.casefold()]
    number = bare.replace("\u2212", "-")
    return json.loads(number.replace(",", "").replace(" ", "").removeprefix("+")) if _is_number(number) else NOTHING


def _is_number(text: str) -> bool:
    # JSON has no leading zeros: 007 is a name, not a number.
    return _NUMBER.fullmatch(text) is not None and re.match(r"[+-]?0[0-9]", text) is None


def _bare(text: str) -> str:
    found = _WRAPPED.fullmatch(text) if len(text) <= MOST_SCALAR else None
    return text.strip() if found is None else found[1].strip()
