"""Writes what the containers of a world's pod find in their folders, before any of them starts.

python -m arena_kit.rollout.pods.prepare [--player FOLDER] [--browser FOLDER] [ORIGIN...]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from arena_kit.rollout.browser.folder import channel_fill
from arena_kit.sandbox.startup import PLAYER_SERVER, copy_server


def main(arguments: Sequence[str]) -> None:
    """Fill the folders. Raises SandboxError."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--player", type=Path, help="The folder of the agent's container.")
    parser.add_argument("--browser", type=Path, help="The folder of the browser's container.")
    parser.add_argument("origins", nargs="*", help="The addresses that the browser may open.")
    options = parser.parse_args(arguments)
    if options.player is not None:
        copy_server(PLAYER_SERVER, options.player)
    if options.browser is not None:
        channel_fill(options.browser, options.origins)


if __name__ == "__main__":
    main(sys.argv[1:])
