"""The classic name of `arena play`, `arena evaluate` and `arena script`: `python -m duel_runner --help`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from arena_kit.cli.main import main as arena

OTHER_VERBS = ("evaluate", "script")
"""Verbs that may be the first word. A player in a folder of the same name is written ./script."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the verb of the first word, by default `play`; return its exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    return arena(words if words[:1] and words[0] in OTHER_VERBS else ["play", *words])


if __name__ == "__main__":
    sys.exit(main())
