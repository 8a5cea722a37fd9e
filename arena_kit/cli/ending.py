"""How every command ends, also when it is interrupted, when its output goes nowhere and when the machine fails.

It imports little, so that even an interruption at the start is met.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

from arena_kit.text import plain_line

FAILED_HERE, BAD_ARGUMENTS, INTERRUPTED, PIPE_CLOSED = 1, 2, 130, 141
MACHINE_FAILED = "machine_failed"
"""The code of trouble with a disk, a file or another part of the machine that a command has no sentence for."""


def end(action: Callable[[], int], *, as_json: bool = False) -> int:
    """Return the exit status of `action`: 130 after Ctrl-C, 141 if the output is no longer read, 1 for an OSError.

    as_json: whether an error is printed as JSON, too.
    """
    try:
        status = action()
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The reader has closed the pipe, as `head` does.
        _discard_output()
        return PIPE_CLOSED
    except KeyboardInterrupt:
        _say("interrupted.")
        return INTERRUPTED
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        sentence = plain_line(f"This machine could not do it ({error.strerror or type(error).__name__}{where}).")
        _say(sentence)
        with contextlib.suppress(OSError):
            if as_json:
                print_error(MACHINE_FAILED, sentence)
            sys.stdout.flush()
            return FAILED_HERE
        _discard_output()
        return FAILED_HERE


def print_error(code: str, sentence: str) -> None:
    """Print an error as a JSON object on standard output."""
    print(json.dumps({"error": sentence, "code": code}, indent=2))


def streams_check() -> None:
    """Replace standard streams that are closed, which Python gives as None, and let none fail at a character.

    What others have written, such as a player's exception, may hold any character; pipes and files on Windows, and the
    locale C, take few.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115  (open until the end)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _say(sentence: str) -> None:
    with contextlib.suppress(OSError):
        print(f"arena: {sentence}", file=sys.stderr, flush=True)


def _discard_output() -> None:
    """Let the rest of the output go nowhere. Otherwise Python would report the failure again at exit."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
