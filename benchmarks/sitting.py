"""How soon an agent answers a person's first move in the browser, on a running site such as that of `make demo`.

A visitor sits down in the first seat, waits until a worker is at the board, moves, and asks for the board until the
agent has moved, as the page does. `first_move_ms` is the time from the click to the board with the answer; the page
itself asks every 700 ms, so that people wait for half of that longer. Then the visitor resigns. `cold_first_move_ms` is
that of the first match of all, whose player may have to be loaded.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Sequence
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, Request, build_opener

from benchmarks.common import circumstances, middle, say, write_json

POLL_SECONDS = 0.05
PATIENCE_SECONDS = 120.0
SETTLE_SECONDS = 3.0
"""Time for a worker to come to the board and start the player, as a person looks at it before the first move."""


class NoAnswer(Exception):
    """The site does not play; the message says what it did instead."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the figures and, if asked, write JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sitting", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--site", default="http://127.0.0.1:8000", help="default http://127.0.0.1:8000")
    parser.add_argument("--environment", default="connect-four")
    parser.add_argument("--agent", default="dummy", help="open to everyone; default dummy")
    parser.add_argument("--action", type=int, default=3, help="the first move (default 3)")
    parser.add_argument("--matches", type=int, default=10)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here")
    options = parser.parse_args(arguments)
    try:
        report = run(options)
    except (NoAnswer, OSError) as trouble:
        print(f"Cannot measure: {trouble}", file=sys.stderr)
        return 2
    for name in ("first_move_ms", "first_move_most_ms", "cold_first_move_ms"):
        print(f"{name}: {report[name]:.0f}")
    write_json(options.json, report)
    return 0


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Return the figures. Raises NoAnswer and OSError."""
    visitor = Visitor(options.site)
    found = []
    for number in range(options.matches + 1):
        found.append(1000 * _first_move(visitor, options))
        say(f"match {number}: {found[-1]:.0f} ms")
    cold, *warm = found
    return {
        **circumstances(options),
        "first_move_ms": middle(warm),
        "first_move_most_ms": max(warm),
        "cold_first_move_ms": cold,
    }


class Visitor:
    """A browser without an account."""

    def __init__(self, site: str) -> None:
        self._site = site.rstrip("/")
        self._opener = build_opener(HTTPCookieProcessor(CookieJar()))

    def get(self, path: str) -> str:
        with self._opener.open(f"{self._site}{path}", timeout=PATIENCE_SECONDS) as answer:
            return str(answer.read().decode())

    def post(self, page: str, path: str, **fields: object) -> str:
        """Send a form of a page; return the path that the site leads to."""
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
        data = urlencode({"csrfmiddlewaretoken": "" if token is None else token[1], **fields}).encode()
        request = Request(f"{self._site}{path}", data, {"Referer": self._site})
        with self._opener.open(request, timeout=PATIENCE_SECONDS) as answer:
            return str(answer.url).removeprefix(self._site)


def _first_move(visitor: Visitor, options: argparse.Namespace) -> float:
    """Return the seconds from the first move of a match to the agent's answer."""
    agent = f"/environments/{options.environment}/agents/{options.agent}/"
    page = visitor.post(visitor.get(agent), f"{agent}sit/", seat="first")
    if not page.startswith("/sittings/"):
        raise NoAnswer(f"the site led to {page} instead of a board.")
    time.sleep(SETTLE_SECONDS)
    board = visitor.get(page)
    begun = time.perf_counter()
    visitor.post(board, f"{page}move/", step=0, action=options.action)
    while 'name="step" value="2"' not in (board := visitor.get(page)):
        if time.perf_counter() - begun > PATIENCE_SECONDS:
            raise NoAnswer(f"{options.agent} did not answer in {PATIENCE_SECONDS:.0f} s.")
        time.sleep(POLL_SECONDS)
    seconds = time.perf_counter() - begun
    visitor.post(board, f"{page}resign/")
    # Two matches may be open at once.
    while 'id="seat"' in visitor.get(page):
        time.sleep(POLL_SECONDS)
    return seconds


if __name__ == "__main__":
    sys.exit(main())
