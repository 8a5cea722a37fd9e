"""Plays one duel in an ordinary process, on machines without forks and Unix sockets."""

from __future__ import annotations

import argparse
import os
import sys

from arena_kit.machine.loopback import connect

from . import playing, printing, serving
from .site import arena_packages


def main() -> None:
    """Load the player, connect, and answer until the referee hangs up."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--player", required=True, help="Folder of the player's files.")
    parser.add_argument("--packages", default="", help="Folder of the packages that the player requires.")
    options = parser.parse_args(sys.argv[2:])
    printing.install()
    try:
        arena_packages.add(options.packages)
        serving.import_numpy()
        form, make = playing.load_player(options.player)
    except BaseException as error:
        os._exit(playing.report(error))
    # Threads of the player do not hold up its end.
    os._exit(playing.play(connect, form, make))
