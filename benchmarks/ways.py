"""The other ways to play Connect Four between two `dummy` players: HTTP, Kaggle's library, no isolation."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import requests

from arena_kit.environment.registry import get_spec
from benchmarks import players
from benchmarks.common import play_bare
from benchmarks.http_baseline.servers import (
    KEPT_CONNECTIONS,
    ONE_CONNECTION_A_REQUEST,
    HttpPlayer,
    container_server,
    process_server,
)
from benchmarks.kaggle_baseline import REQUIREMENTS, play_kaggle
from benchmarks.own_python import CannotInstall, own_python

SPEC = get_spec("connect-four-v1")


@dataclass(frozen=True)
class Way:
    """A way to play. play: plays that many matches and returns the seconds."""

    key: str
    title: str
    matches: int
    play: Callable[[int], float]

    def matches_per_second(self) -> float:
        """One sample."""
        matches = max(2, self.matches)
        return matches / self.play(matches)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for how much is played in the other ways."""
    parser.add_argument("--http-matches", type=int, default=30, help="matches of a sample over HTTP (default 30)")
    parser.add_argument("--kaggle-matches", type=int, default=30, help="matches of a sample of Kaggle's (default 30)")
    parser.add_argument("--without", choices=("kaggle",), help="leave out ways that have to be installed first")


def baselines(options: argparse.Namespace, player: Path, folder: Path, stack: contextlib.ExitStack) -> Iterator[Way]:
    """Return the ways that this machine offers; the stack ends their servers. player: the folder of a `dummy`."""
    where = "containers" if options.sandbox == "docker" else "local processes"

    def servers(worker: Sequence[str]) -> list[str]:
        return [
            stack.enter_context(
                container_server(player, options.base_image, folder, worker)
                if options.sandbox == "docker"
                else process_server(player, worker)
            )
            for _ in range(2)
        ]

    sessions = [stack.enter_context(requests.Session()) for _ in range(2)]
    posted = [HttpPlayer(address, requests.post) for address in servers(ONE_CONNECTION_A_REQUEST)]
    kept_addresses = servers(KEPT_CONNECTIONS)
    kept = [HttpPlayer(address, session.post) for address, session in zip(kept_addresses, sessions, strict=True)]
    bare = [players.load(player), players.load(player)]
    yield Way("http", f"one HTTP POST per move, Flask in {where}", options.http_matches,
              lambda matches: play_bare(SPEC, posted, matches)[0])  # fmt: skip
    yield Way("http_keep_alive", "the same over kept connections", options.http_matches,
              lambda matches: play_bare(SPEC, kept, matches)[0])  # fmt: skip
    if options.without != "kaggle":
        try:
            python = own_python(REQUIREMENTS)
        except CannotInstall as error:
            print(f"Without Kaggle's library. {error}", file=sys.stderr)
        else:
            yield Way("kaggle", "Kaggle's library, both agents in one process", options.kaggle_matches,
                      lambda matches: play_kaggle(python, matches))  # fmt: skip
    yield Way("bare", "no isolation: one process", options.matches // 4,
              lambda matches: play_bare(SPEC, bare, matches)[0])  # fmt: skip
