"""The command `arena`: it runs the verb that its first argument names."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

VERBS = {
    "play": "Play a duel between two players.",
    "evaluate": "Play episodes of one player, as the arena scores it.",
    "script": "Run a script submission and read the score that it prints.",
    "replay": "Show a match, or write its replay as a page or a document.",
    "recheck": "Check downloaded records by playing them again.",
}
"""Each verb is a module of this package with a function `main(arguments) -> int`."""
DONE, BAD_ARGUMENTS = 0, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a verb and return its exit status, 2 for a verb that does not exist."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words and words[0] in VERBS:
        status: int = import_module(f"arena_kit.cli.{words[0]}").main(words[1:])
        return status
    if words and words[0] in {"-h", "--help"}:
        print(usage())
        return DONE
    problem = f"arena: there is no command {words[0]!r}.\n\n" if words else ""
    print(problem + usage(), file=sys.stderr)
    return BAD_ARGUMENTS


def usage() -> str:
    """Return what `arena --help` prints."""
    lines = [f"  {verb:10} {what}" for verb, what in VERBS.items()]
    return "\n".join(["usage: arena COMMAND ...", "", *lines, "", "Run `arena COMMAND --help` for its options."])


if __name__ == "__main__":
    sys.exit(main())
