"""Helpers of all commands of `arena`."""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from arena_kit.cli.completing import complete
from arena_kit.cli.ending import end, print_error
from arena_kit.client.errors import LATER, SiteError, Trouble
from arena_kit.environment.protocol import ArenaEnvironmentError, MissingExtra
from arena_kit.folders import own_temporary_folder
from arena_kit.machine.processes import ending_signals
from arena_kit.text import plain_text

DONE, TRY_LATER, BAD_ARGUMENTS, NO, LOGIN_NEEDED = 0, 1, 2, 3, 4
"""The exit codes of every command: it worked; the platform, the network or the site failed; the arguments are wrong;
the answer is no; a token is missing or wrong."""
LABEL = "arena.command-line"


class BadArgument(Exception):
    """The arguments are wrong. The message is a sentence for the user."""


class NotInstalled(BadArgument):
    """A package that a submission requires is not there. code: typed reason; empty if it was not tried."""

    def __init__(self, message: str, *, code: str = "") -> None:
        super().__init__(message)
        self.code = code


def run_command(
    parser: argparse.ArgumentParser, arguments: Sequence[str] | None, action: Callable[[argparse.Namespace, Path], int]
) -> int:
    """Run a command with its options and a temporary folder of its own; return its exit status.

    The status is 2 for wrong arguments, and 1, 2, 3 or 4 if a site did not do what was asked; otherwise as `end` says.
    Every command has the option `--json`, with which errors are printed as JSON, too.
    """
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object on standard output")
    complete(parser)
    options = parser.parse_args(arguments)
    with _signals_raise():
        return end(lambda: _run(action, options), as_json=options.json)


@contextlib.contextmanager
def _signals_raise() -> Iterator[None]:
    """Let signals that end a command become exceptions, so that no process of a submission and no folder is left.

    The handlers of before come back, because a notebook goes on; in a thread they stay, because Python sets none there.
    """
    before: dict[signal.Signals, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for number in ending_signals():
            # A command under `nohup` goes on when its terminal is closed.
            if (handler := signal.getsignal(number)) is not signal.SIG_IGN:
                before[number] = handler
                signal.signal(number, lambda received, _: sys.exit(128 + received))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _run(action: Callable[[argparse.Namespace, Path], int], options: argparse.Namespace) -> int:
    try:
        # Submissions run as another user, who must be able to reach their files in it.
        with own_temporary_folder("arena-cli-", mode=0o711) as folder:
            return action(options, folder)
    except (BadArgument, ArenaEnvironmentError) as error:
        hint = f" {error.hint}" if isinstance(error, MissingExtra) else ""
        return _failed(f"{error}{hint}", "bad_arguments", BAD_ARGUMENTS, as_json=options.json)
    except SiteError as error:
        return _failed(str(error), error.code, site_status(error), as_json=options.json)


def _failed(sentence: str, code: str, status: int, *, as_json: bool) -> int:
    print(plain_text(f"arena: {sentence}"), file=sys.stderr)
    if as_json:
        print_error(code, plain_text(sentence))
    return status


def site_status(error: SiteError) -> int:
    """Return the exit status for an error of a site or of the network."""
    if error.trouble is Trouble.LOGIN_NEEDED:
        return LOGIN_NEEDED
    if error.trouble is Trouble.BAD_ADDRESS:
        return BAD_ARGUMENTS
    return TRY_LATER if error.trouble in LATER else NO


def print_json(data: Mapping[str, object]) -> None:
    """Print one JSON object in ASCII, which is harmless to a terminal whatever it holds."""
    print(json.dumps(data, indent=2))


def show(options: argparse.Namespace, data: Mapping[str, object], text: str) -> None:
    """Print a result: with `--json` the object, otherwise the text without control characters."""
    if options.json:
        print_json(data)
    elif text:
        print(plain_text(text))


def tell(sentence: str) -> None:
    """Print a sentence about the progress on standard error, without control characters."""
    print(plain_text(f"arena: {sentence}"), file=sys.stderr)


def positive(text: str) -> int:
    """Return an argument as a whole number of at least 1."""
    return _at_least(1, text)


def not_negative(text: str) -> int:
    """Return an argument as a whole number of at least 0."""
    return _at_least(0, text)


def _at_least(least: int, text: str) -> int:
    number = int(text) if re.fullmatch("-?[0-9]{1,18}", text) else None
    if number is None or number < least:
        raise argparse.ArgumentTypeError(f"must be a whole number of {least} or more")
    return number
