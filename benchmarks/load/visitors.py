"""Visitors of a site: processes with a few connections each that request one page after the other."""

from __future__ import annotations

import http.client
import io
import multiprocessing
import random
import resource
import threading
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, islice
from typing import Any

HOST = "127.0.0.1"
TIMEOUT_SECONDS = 60.0
WEIGHTS_BYTES = 20_000
"""Size in bytes of the file in every uploaded archive."""
BOUNDARY = "arena-benchmark-1f0c"
PLAYER = """# Upload {number} of {path}
class Player:
    def __init__(self, train_mode): ...
    def start(self, state, valid_actions): return valid_actions[0]
    def step(self, state, valid_actions, prev_reward): return valid_actions[0]
    def end(self, state, prev_reward): ...
"""


@dataclass(frozen=True, slots=True)
class Visit:
    """A request. name: the kind of page."""

    name: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer to a visit. at: seconds since the crowd started. problem: empty if the answer is as expected."""

    name: str
    at: float
    seconds: float
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Crowd:
    """All visits of a measure. cpu_seconds: of the visitors themselves."""

    answers: list[Answered]
    seconds: float
    cpu_seconds: float

    @property
    def per_second(self) -> float:
        return sum(not answer.problem for answer in self.answers) / self.seconds


TURNS = 6
Choose = Callable[[random.Random, int], Iterator[Visit]]
"""Yields the visits of one connection, mostly without an end, given its random generator and its number."""


def crowd(port: int, choose: Choose, *, connections: int, processes: int, seconds: float, most: int) -> Crowd:
    """Send requests over this many connections for so long, at most `most` in total."""
    context = multiprocessing.get_context("fork")
    shares = [range(number, connections, processes) for number in range(processes)]
    pipes = [context.Pipe(duplex=False) for _ in shares]
    begun = time.monotonic()

    def work(sender: Any, share: range) -> None:
        sender.send(_visit_all(port, choose, share, begun, seconds, most // connections))

    # A stop from outside does not wait for these processes.
    workers = [
        context.Process(target=work, args=(sender, share), daemon=True)
        for (_, sender), share in zip(pipes, shares, strict=True)
    ]
    for worker in workers:
        worker.start()
    for _, sender in pipes:
        sender.close()
    parts: list[tuple[list[Answered], float]] = [receiver.recv() for receiver, _ in pipes]
    for worker in workers:
        worker.join()
    answers = [answer for part, _ in parts for answer in part]
    ended = max((answer.at + answer.seconds for answer in answers), default=seconds)
    return Crowd(answers, ended, sum(cpu for _, cpu in parts))


def _visit_all(
    port: int, choose: Choose, share: Sequence[int], begun: float, seconds: float, most: int
) -> tuple[list[Answered], float]:
    answers: list[Answered] = []

    def one(number: int) -> None:
        visits = choose(random.Random(f"{number}-{seconds}"), number)
        connection = Connection(port)
        try:
            for visit in islice(visits, most):
                if time.monotonic() - begun >= seconds:
                    break
                answers.append(connection.ask(visit, begun))
        finally:
            connection.close()

    before = _cpu_seconds()
    threads = [threading.Thread(target=one, args=(number,)) for number in share]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers, _cpu_seconds() - before


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


class Connection:
    """A connection that stays open, and takes gzip, as in a browser."""

    def __init__(self, port: int) -> None:
        self._client = http.client.HTTPConnection(HOST, port, timeout=TIMEOUT_SECONDS)

    def close(self) -> None:
        self._client.close()

    def ask(self, visit: Visit, begun: float) -> Answered:
        """Send a request and read the whole answer."""
        asked = time.monotonic()
        try:
            status, problem = self._answer(visit)
        except (OSError, http.client.HTTPException) as error:
            self._client.close()
            status, problem = 0, f"{type(error).__name__}: {error}"
        now = time.monotonic()
        if not problem and status not in (200, 201):
            problem = f"status {status}"
        return Answered(visit.name, asked - begun, now - asked, f"{visit.path}: {problem}" if problem else "")

    def _answer(self, visit: Visit) -> tuple[int, str]:
        is_kept = self._client.sock is not None
        method, headers = "GET" if visit.body is None else "POST", {"Accept-Encoding": "gzip", **visit.headers}
        try:
            self._client.request(method, visit.path, visit.body, headers)
            answer = self._client.getresponse()
        except (ConnectionError, http.client.RemoteDisconnected):
            self._client.close()
            if not is_kept:
                raise
            # The server may close an idle connection at the same moment.
            self._client.request(method, visit.path, visit.body, headers)
            answer = self._client.getresponse()
        text = answer.read()
        return answer.status, "an empty answer" if not text else ""


# --- What is asked for ----------------------------------------------------------------------------------


def only(path: str) -> Choose:
    """Request one address again and again."""

    def choose(chance: random.Random, number: int) -> Iterator[Visit]:
        while True:
            yield Visit(path, path)

    return choose


def watching(plan: Mapping[str, Any]) -> Choose:
    """Request the part of an edition's page that refreshes itself, as the pages of watchers do, without their pause."""
    paths: Sequence[str] = plan["pages"]["edition"]

    def choose(chance: random.Random, number: int) -> Iterator[Visit]:
        while True:
            yield Visit("watched edition", chance.choice(paths), {"HX-Request": "true"})

    return choose


def each_once(plan: Mapping[str, Any], *, connections: int) -> Choose:
    """Request every address once."""
    visits = [reads(plan, name, path) for name, paths in plan["pages"].items() for path in paths]

    def choose(chance: random.Random, number: int) -> Iterator[Visit]:
        return iter(visits[number::connections])

    return choose


def of_strangers(plan: Mapping[str, Any]) -> Choose:
    """Mix the visits of people who are not logged in."""
    pages = {name: paths for name, paths in plan["pages"].items() if not name.endswith("logged in")}
    return mixed({**plan, "pages": pages}, uploaders=0)


def mixed(plan: Mapping[str, Any], *, uploaders: int) -> Choose:
    """Mix visits: the first connections alternate between an upload and its page, the others read."""

    def choose(chance: random.Random, number: int) -> Iterator[Visit]:
        return _uploads(plan, chance, number) if number < uploaders else _reading(plan, chance)

    return choose


def reads(plan: Mapping[str, Any], name: str, path: str) -> Visit:
    """Return a visit to a page of the plan."""
    return Visit(name, path, {"Cookie": plan["cookie"]} if name.endswith("logged in") else {})


def _reading(plan: Mapping[str, Any], chance: random.Random) -> Iterator[Visit]:
    pages: Mapping[str, Sequence[str]] = plan["pages"]
    names = list(pages)
    while True:
        name = chance.choice(names)
        yield reads(plan, name, chance.choice(pages[name]))


def _uploads(plan: Mapping[str, Any], chance: random.Random, number: int) -> Iterator[Visit]:
    upload = plan["uploads"][number % len(plan["uploads"])]
    for turn in count():
        yield upload_of(upload, chance, turn)
        yield Visit("API own submissions", "/api/v1/submissions/", {"Authorization": f"Bearer {upload['token']}"})


def upload_of(upload: Mapping[str, str], chance: random.Random, turn: int) -> Visit:
    """Return an upload of a new version as a form; every one has a different archive."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("player.py", PLAYER.format(number=f"{turn}-{chance.random()}", path=upload["path"]))
        archive.writestr("weights.bin", chance.randbytes(WEIGHTS_BYTES))
    parts = (
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="algorithm"\r\n\r\nbenchmark\r\n'
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="archive"; filename="player.zip"\r\n'
        "Content-Type: application/zip\r\n\r\n"
    ).encode()
    headers = {
        "Authorization": f"Bearer {upload['token']}",
        "Content-Type": f"multipart/form-data; boundary={BOUNDARY}",
    }
    return Visit("upload", upload["path"], headers, parts + file.getvalue() + f"\r\n--{BOUNDARY}--\r\n".encode())


def turns(let_in: Callable[[Choose, float], Crowd], paths: Sequence[str], seconds: float) -> list[Crowd]:
    """Return a measure of each path. They take turns, so that a busy moment of the machine affects all."""
    rounds = [[let_in(only(path), seconds / TURNS) for path in paths] for _ in range(TURNS)]
    return [
        Crowd(
            [answer for turn in taken for answer in turn.answers],
            sum(turn.seconds for turn in taken),
            sum(turn.cpu_seconds for turn in taken),
        )
        for taken in zip(*rounds, strict=True)
    ]
