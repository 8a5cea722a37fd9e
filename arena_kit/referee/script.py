"""Runs script submissions and reads the scores that they print, as `docs/participant/scripts.md` describes.

The arena has only what a script reports about itself, so leaderboards mark its score as self-reported.
"""

from __future__ import annotations

import json
import math
import re
import signal
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from arena_kit.older import StrEnum
from arena_kit.sandbox.base import Sandbox
from arena_kit.sandbox.ending import Ending
from arena_kit.sandbox.scripts import OnOutput, ScriptEnd, ScriptLaunch, ScriptLimits, plain_output
from arena_kit.text import plain_text

MAX_LINE_CHARACTERS = 256 * 1024
"""Longer lines and objects are not read as a score; it is as much as is kept of an output."""
MAX_OBJECT_LINES, MAX_TRIES = 20_000, 20
MAX_METRICS = 1000
MAX_METRIC_NAME_CHARACTERS = 100
MAX_EPISODES = 2**31 - 1
LARGEST_SCORE = 1e300
"""The largest absolute score that the database can store; see core.models.limits."""
QUOTE_CHARACTERS = 500
MAX_ERROR_CHARACTERS = 2000


class ScriptFault(StrEnum):
    """Why a script submission has no score; it is always the script's fault."""

    FAILED = "script_failed"
    KILLED = "script_killed"
    TIMED_OUT = "script_timed_out"
    OUT_OF_MEMORY = "script_out_of_memory"
    NO_SCORE = "script_printed_no_score"
    NOT_A_NUMBER = "script_score_not_a_number"
    NOT_FINITE = "script_score_not_finite"


@dataclass(frozen=True, slots=True)
class ScriptScore:
    """The score that a script reported about itself.

    metrics: at most MAX_METRICS numbers, as a list or by name; None without any. episodes: the number of episodes
    that it reports; None without a report.
    """

    score: float
    metrics: tuple[float, ...] | Mapping[str, float] | None = None
    episodes: int | None = None


@dataclass(frozen=True, slots=True)
class ScriptFailure:
    """Why there is no score. error: a sentence for the owner and the end of the output, at most 2,000 characters."""

    code: ScriptFault
    error: str


@dataclass(frozen=True, slots=True)
class ScriptRun:
    """How a script ended, and its score or failure."""

    end: ScriptEnd
    verdict: ScriptScore | ScriptFailure


def run_script(sandbox: Sandbox, launch: ScriptLaunch, *, on_output: OnOutput = lambda _: None) -> ScriptRun:
    """Run a script submission to its end and judge it.

    on_output: called about once a second with the end of the output; an exception that it raises ends the script and is
    passed on. Raises SandboxError for a fault of the platform; the run leaves nothing behind then.
    """
    end = sandbox.run_to_end(launch, on_output)
    return ScriptRun(end, judge(end, launch.limits))


def judge(end: ScriptEnd, limits: ScriptLimits) -> ScriptScore | ScriptFailure:
    """Return the score of a script, or why it has none."""
    if end.ending is Ending.TIMED_OUT:
        return _failure(ScriptFault.TIMED_OUT, f"The script had not ended after {limits.seconds:g} s.", end.log)
    if end.ending is Ending.OUT_OF_MEMORY:
        size = f"{limits.memory_limit_bytes / (1 << 20):g} MiB"
        return _failure(ScriptFault.OUT_OF_MEMORY, f"The script used more than {size} of memory.", end.log)
    found = read_score(end.printed or end.log, end.exit_status)
    if isinstance(found, ScriptScore) or not end.printed:
        return found
    # Some programs log all that they print. A fault is quoted from both outputs in either case.
    logged = read_score(end.log, end.exit_status)
    is_told = isinstance(logged, ScriptScore) or found.code in (ScriptFault.NO_SCORE, logged.code)
    return logged if is_told else found


def read_score(log: str, exit_status: int | None) -> ScriptScore | ScriptFailure:
    """Return the score in the output of a script that has ended, or why it has no score.

    The score is in the last JSON object with a finite number as its `score` that ends a line; it may begin behind a
    text such as a progress bar, or go over several lines. Without one, the failure says what is wrong with the last
    object that has a `score` at all. Objects over MAX_LINE_CHARACTERS and with a duplicate key are ignored. `metrics`
    keeps only finite numbers, and `episodes` must be a whole number from 0 to MAX_EPISODES. exit_status: as in
    `subprocess`; None when the script was ended from outside.
    """
    log = plain_output(log)
    if exit_status is None or exit_status < 0:
        return _failure(ScriptFault.KILLED, f"The script was ended{_signal(exit_status)}.", log)
    if exit_status > 0:
        return _failure(ScriptFault.FAILED, f"The script ended with exit status {exit_status}, not 0.", log)
    wrong: tuple[ScriptFault, str] | None = None
    for found in _objects(log.split("\n")):
        if "score" not in found:
            continue
        score = found["score"]
        if isinstance(score, bool) or not isinstance(score, int | float):
            kind = {str: "a text", bool: "a boolean", type(None): "null"}.get(type(score), "not a number")
            wrong = wrong or (ScriptFault.NOT_A_NUMBER, f"The printed score is {kind}; it must be a number.")
        elif not math.isfinite(score):
            wrong = wrong or (ScriptFault.NOT_FINITE, f"The printed score is {score}; it must be finite.")
        elif abs(score) > LARGEST_SCORE:
            sentence = f"The printed score is {score}; it must lie between -{LARGEST_SCORE} and {LARGEST_SCORE}."
            wrong = wrong or (ScriptFault.NOT_FINITE, sentence)
        else:
            return ScriptScore(float(score), _metrics(found.get("metrics")), _episodes(found.get("episodes")))
    if wrong is not None:
        return _failure(*wrong, log)
    sentence = 'The script printed no score: a line such as {"score": 123.4} must be the last one that it prints.'
    if NEARLY.search(log):
        sentence += ' Print it by itself on its line, as json.dumps({"score": float(score)}) writes it.'
    if log.startswith("[") and " bytes cut]" in log[:40]:
        sentence += " Only the end of its output was kept; print a shorter line."
    return _failure(ScriptFault.NO_SCORE, sentence, log)


def _signal(exit_status: int | None) -> str:
    if exit_status is None:
        return " from outside"
    try:
        return f" by signal {-exit_status} ({signal.Signals(-exit_status).name})"
    except ValueError:
        return f" by signal {-exit_status}"


def _failure(code: ScriptFault, sentence: str, log: str) -> ScriptFailure:
    quote = log.strip()[-QUOTE_CHARACTERS:]
    text = f"{sentence} Its output ends with:\n{quote}" if quote else f"{sentence} It printed nothing."
    return ScriptFailure(code, text[:MAX_ERROR_CHARACTERS])


OBJECT = re.compile(r'\{(?=\s*["}])')
NEARLY = re.compile(r"""\{\s*['"\u2018-\u201d]?score['"\u2018-\u201d]?\s*:""", re.IGNORECASE)
"""Matches an object with a score as Python prints a dict, or as people write it."""
CUT = re.compile(r"\[\d+ bytes cut\]")


class _NotAnObject(ValueError):
    """An object in a line has a duplicate key."""


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _NotAnObject
    return found


def _integer(digits: str) -> int | float:
    """Return a whole number, or infinity for one of more than 300 digits, which no float can hold.

    This also stays below Python's limit on digits.
    """
    return int(digits) if len(digits) <= 300 else float(digits)


DECODER = json.JSONDecoder(object_pairs_hook=_pairs, parse_int=_integer)


def _objects(lines: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects that end a line, from the last one on."""
    tries = 0
    at = len(lines) - 1
    while at >= 0:
        line, begin = lines[at].strip(), at
        found = _object(line) if line.endswith("}") else _leading(line)
        if found is None and line == "}" and tries < MAX_TRIES:
            tries += 1
            begin, found = _block(lines, at)
        if found is not None:
            yield found
        at = begin - 1


def _object(line: str) -> dict[str, Any] | None:
    """Return the JSON object that ends a line, or None. NaN and infinities pass, to be named in errors.

    It is not one within another or within a list, and not in a line whose beginning was cut.
    """
    if len(line) > MAX_LINE_CHARACTERS or CUT.match(line):
        return None
    for tries, found in enumerate(OBJECT.finditer(line)):
        before = line[: found.start()].rstrip()
        if tries >= MAX_TRIES:
            return None
        if before.endswith((":", ",", "[", "{")) and before[:1] in ("{", "["):
            continue
        value = _decoded(line, found.start())
        if value is not None and value[1] == len(line):
            return value[0]
    return None


def _leading(line: str) -> dict[str, Any] | None:
    """Return the JSON object that begins a line on which something else was printed behind it."""
    if not line.startswith("{") or len(line) > MAX_LINE_CHARACTERS:
        return None
    value = _decoded(line, 0)
    return None if value is None or line[value[1] :].lstrip().startswith((",", "]")) else value[0]


def _block(lines: list[str], last: int) -> tuple[int, dict[str, Any] | None]:
    """Return the first line and the object of one over several lines that ends in a line, as `indent` writes it."""
    indent = lines[last][: len(lines[last]) - len(lines[last].lstrip())]
    for first in range(last - 1, max(-1, last - MAX_OBJECT_LINES), -1):
        if lines[first].startswith(indent) and lines[first][len(indent) :].lstrip() != lines[first][len(indent) :]:
            continue
        opened = lines[first].rfind("{")
        if opened >= 0 and lines[first].rstrip().endswith("{") and not CUT.match(lines[first]):
            text = "\n".join([lines[first][opened:], *lines[first + 1 : last + 1]]).strip()
            value = _decoded(text, 0) if len(text) <= MAX_LINE_CHARACTERS else None
            is_item = first > 0 and lines[first - 1].rstrip().endswith(("[", ","))
            whole = value is not None and value[1] == len(text) and not is_item
            return (first, value[0]) if whole and value is not None else (last, None)
    return last, None


def _decoded(text: str, start: int) -> tuple[dict[str, Any], int] | None:
    try:
        found, end = DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return (found, end) if isinstance(found, dict) else None


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def _metrics(value: object) -> tuple[float, ...] | Mapping[str, float] | None:
    """Return the finite numbers in a list or a mapping; None without any."""
    if isinstance(value, list):
        numbers = (_number(item) for item in value)
        return tuple(number for number in numbers if number is not None)[:MAX_METRICS] or None
    if isinstance(value, dict):
        named = ((plain_text(name)[:MAX_METRIC_NAME_CHARACTERS], _number(item)) for name, item in value.items())
        found = [(name, number) for name, number in named if number is not None]
        return dict(found[:MAX_METRICS]) or None
    return None


def _episodes(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_EPISODES:
        return None
    return value
