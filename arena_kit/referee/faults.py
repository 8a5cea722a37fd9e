"""The typed causes of failures, each with a sentence for people."""

from __future__ import annotations

import re

from arena_kit.older import StrEnum
from arena_kit.referee.advice import advice
from arena_kit.referee.tracebacks import own_line, without_folders
from arena_kit.text import plain_text


class PlayerFault(StrEnum):
    """A fault of a player."""

    RAISED = "player_raised"
    TIMED_OUT = "player_timed_out"
    ILLEGAL_ACTION = "illegal_action"
    BAD_ACTION = "malformed_answer"
    OVERSIZED_ANSWER = "oversized_answer"
    UNEXPECTED_ANSWER = "unexpected_answer"
    DIED = "player_died"
    OUT_OF_MEMORY = "player_out_of_memory"
    DID_NOT_START = "player_failed_to_start"
    START_TIMED_OUT = "player_start_timed_out"
    TOO_MANY_RESTARTS = "too_many_restarts"
    DUEL_TIME = "duel_time_exhausted"
    EVALUATION_TIME = "evaluation_time_exhausted"
    RESIGNED = "person_resigned"
    LEFT = "left_the_board"


SENTENCES: dict[PlayerFault, str] = {
    PlayerFault.RAISED: "The player raised an exception",
    PlayerFault.TIMED_OUT: "The player did not answer in time.",
    PlayerFault.ILLEGAL_ACTION: "The player chose an action that is not valid here",
    PlayerFault.BAD_ACTION: "The player's answer does not follow the protocol",
    PlayerFault.OVERSIZED_ANSWER: "The player's answer is too large",
    PlayerFault.UNEXPECTED_ANSWER: "The player sent an unexpected answer",
    PlayerFault.DIED: "The player's process ended in the middle of its play.",
    PlayerFault.OUT_OF_MEMORY: "The player used more memory than allowed and was ended.",
    PlayerFault.DID_NOT_START: "The player could not be started.",
    PlayerFault.START_TIMED_OUT: "The player could not be started.",
    PlayerFault.TOO_MANY_RESTARTS: "The player had to be restarted too often; it forfeits the remaining matches.",
    PlayerFault.DUEL_TIME: "The time of the duel was used up, and this player thought longer.",
    PlayerFault.EVALUATION_TIME: "The time of the evaluation was used up, most of it by this player.",
    PlayerFault.RESIGNED: "The person resigned.",
    PlayerFault.LEFT: "The person left the board.",
}

LAST_LINE_CHARACTERS, TAIL_CHARACTERS = 700, 4000
LAST_LINES = 10
"""A terminal shows this many lines of the end of a player's output, where a traceback has its message."""
SAYS_LITTLE = (PlayerFault.DID_NOT_START, PlayerFault.START_TIMED_OUT, PlayerFault.DIED)


def sentence(fault: PlayerFault, detail: str = "") -> str:
    """Return the fault's sentence, with further details if there are any."""
    text = SENTENCES[fault]
    if text.endswith("."):
        return f"{text} {detail}".strip()
    return f"{text}: {detail}" if detail else f"{text}."


def time_allowed(move_seconds: float, bank_seconds: float, used: float | None = None) -> str:
    """Return the limits of a player that did not answer in time; used: seconds that its last move took, if known."""
    took = "" if used is None else f" The last one took {used:.2f} s."
    return f"A move may take {move_seconds:g} s, and all moves together {bank_seconds:g} s beyond that.{took}"


def first_line(text: str) -> str:
    """Return the first line of an error from a player's server."""
    return text.partition("\n")[0][:300]


def with_output(fault: str, text: str, log: str) -> str:
    """Return a sentence for the player's owner: with the log's last line where the fault alone says little, and advice.

    Of an exception it names the line of the player's own files.
    """
    said = plain_text(log).strip()
    last_line = said.rpartition("\n")[2][:LAST_LINE_CHARACTERS]
    if fault in SAYS_LITTLE and last_line and last_line not in text:
        text = f"{text} Its output ends with: {last_line}"
    if fault == PlayerFault.RAISED and (own := own_line(_first_trace(said))):
        text = f"{text} ({own.place}{f': {own.code}' if own.code else ''})"
    explains = fault in (*SAYS_LITTLE, PlayerFault.RAISED)
    more = advice(f"{said[-TAIL_CHARACTERS:]}\n{text}") if explains else ""
    return f"{text}{'' if text.endswith('.') else '.'} {more}" if more else text


def last_words(fault: str, log: str) -> list[str]:
    """Return the last lines of a player's output for a terminal, where the fault alone says little."""
    if fault not in (*SAYS_LITTLE, PlayerFault.RAISED):
        return []
    text = without_folders(plain_text(log)).strip()
    lines = (_first_trace(text) if fault == PlayerFault.RAISED else text).strip().split("\n")
    return [f"  | {line}" for line in lines[-LAST_LINES:] if line]


def _first_trace(log: str) -> str:
    """Return the traceback of the first match that a log has one of; the referee writes them below all output."""
    found = re.search(r"^\[match \d+\] (.*?)(?=^\[match \d+\] |\Z)", log, re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


ENVIRONMENT_FAILED = "environment_failed"
"""The code of the platform fault that an environment broke its promises, raised or died."""
