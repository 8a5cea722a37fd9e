"""The classic name of `arena play`, `arena evaluate` and `arena script`: `python -m duel_runner --help`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from arena_kit.cli.main import main as arena

OTHER_VERBS = ("evaluate", "script")
"""As the first word; a player in a folder of such a name is called ./script."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Play a duel, or do what the first word says; return the exit status of the verb."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    return arena(words if words[:1] and words[0] in OTHER_VERBS else ["play", *words])


if __name__ == "__main__":
    sys.exit(main())
