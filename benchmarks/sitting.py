"""How long people wait for the reply of an agent, at many boards of a demo with one worker while an edition is played.

A demo runs in a folder of its own, on SQLite. People sit down against an agent, think for a while, move, and follow the
board as the page does: by its stream of events, or by looking as often as the page would. A wait is the time from the
click until the page offers the next move; the agent's own milliseconds are in it.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from benchmarks.common import circumstances, say, work_folder, write_json

ROOT = Path(__file__).resolve().parent.parent
PEOPLE = """
from django.test import Client
from core.models import User
for number in range({count}):
    user = User.objects.create(username=f"person-{{number}}", email=f"person-{{number}}@arena.example")
    client = Client()
    client.force_login(user)
    print("cookie", client.cookies["sessionid"].value)
"""
STATE = """
from django.db.models import Sum
from core.duels.challenge_selectors import active_version
from core.models import Agent, Duel
agent = Agent.objects.filter(name="minimax", environment__slug="connect-four").first()
print("ready", agent is not None and active_version(agent) is not None)
print("matches", Duel.objects.aggregate(done=Sum("matches_done"))["done"] or 0)
"""
AGENT = "/environments/connect-four/agents/minimax/"
MEDIAN_MS, P95_MS = 150, 500
"""The longest waits that are good enough."""
Report = dict[str, Any]


class Person(threading.Thread):
    """One person at boards of one agent. waits: seconds from each click to the next move."""

    def __init__(self, port: int, cookie: str, until: float, number: int) -> None:
        super().__init__(daemon=True)
        self._site = HTTPConnection("127.0.0.1", port, timeout=60)
        self._cookie, self._until, self._random = f"sessionid={cookie}", until, random.Random(number)
        self._events: Any = None
        self.waits: list[float] = []

    def run(self) -> None:
        while time.monotonic() < self._until:
            with suppress(HTTPException, OSError):
                self._play()

    def _play(self) -> None:
        page = self._ask("GET", AGENT)[0]
        path = self._ask("POST", f"{AGENT}sit/", {"seat": "first", **_token(page)})[1]
        board = self._ask("GET", path)[0]
        self._events = _stream(found[1]) if (found := re.search(r'data-events="([^"]+)"', board)) else None
        while time.monotonic() < self._until and (actions := re.findall(r'name="action" value="(\d+)"', board)):
            time.sleep(self._random.uniform(1.0, 4.0))
            (step,) = re.findall(r'name="step" value="(\d+)"', board)
            clicked = time.monotonic()
            move = {"step": step, "action": self._random.choice(actions), **_token(board)}
            board = self._ask("POST", f"{path}move/", move, target="board")[0]
            while board and 'name="action"' not in board:
                self._wait(board)
                board = self._ask("GET", path, target="board")[0]
            if board:
                self.waits.append(time.monotonic() - clicked)

    def _wait(self, board: str) -> None:
        """Wait as the page does until it asks again."""
        if self._events is None:
            pause = re.search(r"(?:every |delay:)(\d+)ms", board)
            time.sleep(int(pause[1]) / 1000 if pause else 2.0)
        while self._events and (line := self._events.readline()) and not line.startswith(b"event: "):
            pass

    def _ask(self, method: str, path: str, form: Mapping[str, str] | None = None, target: str = "") -> tuple[str, str]:
        """Return the page, empty when the match is over, and where a redirect leads."""
        headers = {"Cookie": self._cookie, "Content-Type": "application/x-www-form-urlencoded", "HX-Target": target}
        self._site.request(method, path, urlencode(form or {}), headers)
        answer = self._site.getresponse()
        text = "" if answer.getheader("HX-Refresh") else answer.read().decode()
        self._site.close()  # the site ends idle connections, and so does a browser
        if token := re.search(r"csrftoken=\w+", answer.getheader("Set-Cookie", "")):
            self._cookie = f"{self._cookie.partition('; ')[0]}; {token[0]}"
        return text, answer.getheader("Location", "")


def _token(page: str) -> dict[str, str]:
    return {"csrfmiddlewaretoken": re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', page)[0]}


def _stream(address: str) -> Any:
    connection = HTTPConnection(urlsplit(address).netloc, timeout=60)
    connection.request("GET", urlsplit(address).path)
    return connection.getresponse()


@contextmanager
def demo(tree: Path, data: Path, port: int) -> Iterator[dict[str, str]]:
    """Run the demo of a tree until the end; yield the variables that reach its database."""
    own = {"DEBUG": "true", "DATA_DIR": str(data), "DUEL_PARALLELISM": "1", "QUOTAS": "sittings_per_day=10000"}
    command = [sys.executable, "manage.py", "demo", "--sandbox", "process", "--port", str(port), "--matches", "400"]
    with (data.parent / "demo.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=tree, env={**os.environ, **own}, stdout=log, stderr=log)
        try:
            yield {**os.environ, **own, "SANDBOX": "process"}
        finally:
            process.terminate()
            process.wait(90)


def run(options: argparse.Namespace) -> Report:
    """Return the figures."""
    with work_folder() as folder, demo(options.tree, folder / "data", options.port) as variables:

        def shell(code: str) -> list[list[str]]:
            command = [sys.executable, "manage.py", "shell", "-v", "0", "-c", code]
            done = subprocess.run(command, cwd=options.tree, env=variables, capture_output=True, text=True, check=False)
            return [line.split() for line in done.stdout.splitlines()]

        say("waiting for the agent")
        while ["ready", "True"] not in shell(STATE):
            time.sleep(2.0)
        cookies = [words[1] for words in shell(PEOPLE.format(count=options.people)) if words[0] == "cookie"]
        before, until = shell(STATE), time.monotonic() + options.seconds
        people = [Person(options.port, cookie, until, number) for number, cookie in enumerate(cookies)]
        for person in people:
            person.start()
        say(f"{len(people)} people play")
        time.sleep(options.seconds)
        after = shell(STATE)
        say("")
    waits = sorted(wait for person in people for wait in person.waits)
    return {
        "replies": len(waits),
        "median_ms": round(1000 * statistics.median(waits)) if waits else None,
        "p95_ms": round(1000 * waits[int(0.95 * len(waits))]) if waits else None,
        "rated_matches": int(after[-1][1]) - int(before[-1][1]),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the figures and, if asked, write JSON; return 1 if people have waited too long."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sitting", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here")
    parser.add_argument("--people", type=int, default=20, help="at a board each (default 20)")
    parser.add_argument("--seconds", type=float, default=60.0, help="of play (default 60)")
    parser.add_argument("--port", type=int, default=8765, help="of the demo (default 8765)")
    parser.add_argument("--tree", type=Path, default=ROOT, help="of another version, to compare with")
    options = parser.parse_args(arguments)
    report = {**run(options), **circumstances(options)}
    print("\n".join(f"{name}: {value}" for name, value in report.items()))
    write_json(options.json, report)
    return 0 if report["replies"] and report["median_ms"] <= MEDIAN_MS and report["p95_ms"] <= P95_MS else 1


if __name__ == "__main__":
    sys.exit(main())
