"""The command `arena`: it runs the verb that its first argument names."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Sequence
from importlib import import_module

from arena_kit.cli.completing import ASKED, SHELLS, script, verb_asked
from arena_kit.cli.ending import BAD_ARGUMENTS, end, print_error, streams_check
from arena_kit.version import kit_version

VERBS = {
    "new": "Make the folder of a new agent from a starter kit.",
    "play": "Play a duel between two players.",
    "evaluate": "Play episodes of one player, as the arena scores it.",
    "script": "Run a script submission and read the score that it prints.",
    "rollout": "Let an agent work at tasks in an application, in a browser.",
    "check": "Check a submission as the arena does: its files, then play against itself.",
    "pack": "Pack a folder into a zip that the arena takes.",
    "ladder": "Play all agents of a folder against each other and write a report.",
    "recheck": "Check downloaded records by playing them again.",
    "login": "Save a token of a site.",
    "submit": "Upload an agent or a new version of one, and follow it.",
    "status": "Show how far a version is.",
    "logs": "Show the logs of a version.",
    "board": "Show the best of an environment.",
    "compare": "Say which of two versions is better, by what both have met.",
    "blunders": "Show where your agent gave something away, and ask your folder for its moves there.",
    "challenge": "Let an agent of yours play against another one, or the top ten.",
    "replay": "Show or write a match of a file or a site, or where your player would move otherwise.",
    "organise": "Plan and run tournaments of a site.",
    "pull": "Fetch the files of a version, or the folder or the matches of an environment.",
}
"""Each verb is a module of this package with a function `main(arguments) -> int`."""
DONE = 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a verb and return its exit status, 2 for a verb that does not exist."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    streams_check()
    if ASKED in os.environ:
        words = [verb_asked(VERBS)]
    as_json = "--json" in words
    return end(lambda: _run(words, as_json), as_json=as_json)


def _run(words: Sequence[str], as_json: bool) -> int:
    if words and words[0] in VERBS:
        try:
            status: int = import_module(f"arena_kit.cli.{words[0]}").main(words[1:])
        except SystemExit as stopped:
            if as_json and stopped.code == BAD_ARGUMENTS:
                # The sentence itself is on standard error already.
                sentence = f"The arguments are wrong. `arena {words[0]} --help` lists them."
                print_error("bad_arguments", sentence)
            raise
        return status
    if words and words[0] == "completion":
        return _completion(words[1:])
    if words and words[0] == "--version":
        print(f"arena-kit {kit_version()} (Python {platform.python_version()}, {platform.system()})")
        return DONE
    if words and words[0] in {"-h", "--help"}:
        print(usage())
        return DONE
    problem = f"arena: there is no command {words[0]!r}.\n\n" if words else ""
    print(problem + usage(), file=sys.stderr)
    return BAD_ARGUMENTS


def _completion(words: Sequence[str]) -> int:
    """Print what a shell has to read to complete lines of `arena`."""
    if len(words) == 1 and words[0] in SHELLS:
        print(script(words[0]))
        return DONE
    print(f"usage: arena completion {{{','.join(SHELLS)}}}", file=sys.stderr)
    return BAD_ARGUMENTS


def usage() -> str:
    """Return what `arena --help` prints."""
    lines = [f"  {verb:10} {what}" for verb, what in VERBS.items()]
    return "\n".join(
        [
            "usage: arena COMMAND ...",
            "",
            *lines,
            "",
            "Run `arena COMMAND --help` for its options.",
            f"`arena completion {'|'.join(SHELLS)}` prints what completes them; `arena --version` prints the version.",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
