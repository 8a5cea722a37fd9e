"""The report on a folder from outside: lines of a verdict, and a random match to look at.

A process that runs the folder's code writes it (`report_program`), so all of it is text from outside: it says what the
code did here, and proves nothing about code that means harm.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arena_kit.environment.outside.limited import Limited
from arena_kit.text import plain_text

PROGRAM = "arena_kit.environment.outside.report_program"
SECONDS = 30.0
"""Limit on one run of the program, which names the line where it was at its end."""
KILL_SECONDS = 90
"""Limit after which the caller of the program ends it."""
HASH_SEEDS = ("0", "1", "2")
"""The program runs once with each: what depends on the order of a set differs between them."""
FILES, RULES, MATCH, PICTURES, SPEED, REACH = "Files", "Rules", "Match", "Pictures", "Speed", "Reach"
STEPS = (FILES, RULES, MATCH, PICTURES, SPEED)
"""The steps of a whole report without trouble, each with a line, before those about REACH."""
KILLED = (137, 124, -9)
GOOD, LOOK, BAD = "good", "look", "bad"
MOST_LINES, MOST_SHOWN = 40, 30
DIFFERS = (
    "The same seeds and actions gave other matches in another process. Draw by chance from the seed alone, and do not "
    "rely on the order of a set."
)
MOST_CHARACTERS = 4 << 20
"""The most that is read of one run."""
PICTURE_CHARACTERS, TEXT_CHARACTERS, SENTENCE_CHARACTERS = 100_000, 4_000, 600


@dataclass(frozen=True, slots=True)
class VerdictLine:
    """One line of the verdict.

    about: one of STEPS, or what was found beside them. mark: GOOD, LOOK (an organiser should look at it) or BAD.
    """

    about: str
    mark: str
    sentence: str


@dataclass(frozen=True, slots=True)
class ShownState:
    """A state of the match: its text and its picture, which is empty where none was drawn."""

    text: str
    picture: str


@dataclass(frozen=True, slots=True)
class Report:
    """The verdict on a folder, line by line, and states of a random match."""

    lines: tuple[VerdictLine, ...]
    shown: tuple[ShownState, ...] = ()

    @property
    def trouble(self) -> str:
        """The first sentence that keeps the folder from being played; "" if it can be."""
        return next((f"{line.about}: {line.sentence}" for line in self.lines if line.mark == BAD), "")

    def to_json(self) -> str:
        """Return the text that `report_from` reads."""
        lines = [[line.about, line.mark, line.sentence] for line in self.lines]
        return json.dumps({"lines": lines, "shown": [[one.text, one.picture] for one in self.shown]})


def report_from(text: str) -> Report:
    """Return a report that `to_json` wrote. Raises ValueError."""
    try:
        data = json.loads(text)
        return Report(tuple(map(_line, data["lines"])), tuple(map(_shown, data["shown"])))
    except (KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"This is no report: {error!r}") from None


def report_made(run: Callable[[str], tuple[str, int]]) -> Report:
    """Return the report of runs of the program, a further one only after one without trouble.

    run: runs the program with a seed of hashes; returns what it wrote, and its exit status, below 0 a signal.
    """
    output, status = run(HASH_SEEDS[0])
    lines, shown, digests, is_whole = _read(output)
    if not is_whole:
        lines.append(VerdictLine("End", BAD, _ended(status)))
    elif not Report(tuple(lines)).trouble:
        if tuple(line.about for line in lines if line.about != REACH) != STEPS or not digests:
            lines.append(VerdictLine("End", BAD, "The report is not whole."))
        elif all(_read(run(seed)[0])[2] == digests for seed in HASH_SEEDS[1:]):
            lines.append(
                VerdictLine("Same again", GOOD, "Other processes played the same matches from the same seeds.")
            )
        else:
            lines.append(VerdictLine("Same again", BAD, DIFFERS))
    return Report(tuple(lines[:MOST_LINES]), tuple(shown[:MOST_SHOWN]))


def report_here(folder: Path, seconds: float = SECONDS) -> Report:
    """Report on a folder in limited processes of this machine: for folders of one's own. Raises OSError."""

    def run(hash_seed: str) -> tuple[str, int]:
        process, data = Limited(PROGRAM, str(folder.absolute()), f"{seconds:g}", hash_seed=hash_seed), b""
        try:
            while b'"end"' not in data[-64:] and len(data) < MOST_CHARACTERS:
                piece, is_late = process.read_line(KILL_SECONDS, MOST_CHARACTERS)
                data += piece
                if not piece or is_late:
                    break
        finally:
            process.kill()
        return data.decode("utf-8", "replace"), process.status or 0

    return report_made(run)


def _ended(status: int) -> str:
    """Return how a run ended before its report was whole."""
    if status in KILLED:
        return f"The code was ended: it takes more than {SECONDS:g} s, or too much memory."
    how = f"the signal {-status}" if status < 0 else f"the exit status {status}"
    return f"The code ended the process that tried it, with {how}, or wrote too much."


def _read(output: str) -> tuple[list[VerdictLine], list[ShownState], list[str], bool]:
    """Return the lines, the states and the digests in an output, and whether it is whole; what does not fit is lost."""
    lines: list[VerdictLine] = []
    shown: list[ShownState] = []
    digests: list[str] = []
    for text in output[:MOST_CHARACTERS].splitlines():
        try:
            match json.loads(text):
                case {"line": value}:
                    lines.append(_line(value))
                case {"shown": value}:
                    shown.append(_shown(value))
                case {"digest": str(value)}:
                    digests.append(value[:64])
                case {"end": True}:
                    return lines, shown, digests, bool(lines)
        except (ValueError, TypeError, RecursionError):
            continue
    return lines, shown, digests, False


def _line(value: Any) -> VerdictLine:
    about, mark, sentence = value
    if mark not in (GOOD, LOOK, BAD):
        raise ValueError(f"{mark!r} is no mark.")
    return VerdictLine(plain_text(str(about))[:40], mark, plain_text(str(sentence))[:SENTENCE_CHARACTERS])


def _shown(value: Any) -> ShownState:
    text, picture = value
    return ShownState(plain_text(str(text))[:TEXT_CHARACTERS], plain_text(str(picture))[:PICTURE_CHARACTERS])
