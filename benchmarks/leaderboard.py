"""How fast a full arena answers who stands where: latency and throughput of boards, with and without cache.

A private database is filled with current evaluations, on SQLite and, if its server is installed, on PostgreSQL. Then
one run asks for the first page of a board, a filtered page and the rank of one evaluation in four ways: from the
database, from the cache in local memory, from the cache in Redis (if a server can be started), and by reading all rows
of the environment and sorting them in Python, as the system did that this arena follows. Cached answers live for one
second. Pages include the paired differences between rows, except in Python.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.common import circumstances, text_table, work_folder, write_json

ROOT = Path(__file__).resolve().parent.parent
Report = dict[str, Any]
WAYS = {
    "in_python": "sorted in Python",
    "database": "database",
    "local_memory": "cached in local memory",
    "redis": "cached in Redis",
}
QUESTIONS = {"first_page": "first page", "filtered_page": "filtered page", "rank": "rank of one"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table for each database and, if asked, write JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.leaderboard", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here")
    parser.add_argument("--quick", action="store_true", help="end within 60 s, with few rows")
    parser.add_argument("--rounds", type=int, default=200, help="answers of every latency (default 200)")
    parser.add_argument("--rows", type=int, default=1_000_000, help="evaluations on boards (default 1,000,000)")
    parser.add_argument("--environments", type=int, default=100, help="they are spread over (default 100)")
    parser.add_argument("--seconds", type=float, default=3.0, help="of each measure of throughput (default 3)")
    parser.add_argument("--threads", type=int, default=4, help="that ask at once (default 4)")
    parser.add_argument("--database", choices=("both", "sqlite", "postgresql"), default="both")
    parser.add_argument("--measure-here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.quick:
        options.rows, options.environments, options.rounds, options.seconds = 6_000, 3, 40, 0.3
    if options.measure_here:
        print(json.dumps(_measure_here(options)))
        return 0
    report: Report = {"databases": {}, **circumstances(options)}
    for name in ("sqlite", "postgresql") if options.database == "both" else (options.database,):
        with work_folder() as folder, contextlib.ExitStack() as stack:
            try:
                url = stack.enter_context(_database(name, folder))
            except NoServer as reason:
                print(f"Without {name}: {reason}", file=sys.stderr)
                continue
            measured = _measure_in_a_process(options, url, stack.enter_context(_redis(folder)), folder)
        report["databases"][name] = measured
        print(table(name, measured))
    write_json(options.json, report)
    return 0 if report["databases"] else 1


class NoServer(Exception):
    """A database is not available here; the message says why."""


@contextlib.contextmanager
def _database(name: str, folder: Path) -> Iterator[str]:
    """Create an empty database; return its address. Raises NoServer."""
    if name == "sqlite":
        yield f"sqlite:///{folder / 'arena.sqlite3'}"
        return
    from tests.postgres import NoPostgres, postgres_url

    # A server like the tests' own, which does not survive a power cut. This does not make reading faster.
    with contextlib.ExitStack() as stack:
        try:
            url = stack.enter_context(postgres_url())
        except NoPostgres as reason:
            raise NoServer(str(reason)) from None
        yield url


@contextlib.contextmanager
def _redis(folder: Path) -> Iterator[str]:
    """Start a private Redis; return its address, empty if there is no Redis."""
    program = shutil.which("redis-server")
    if program is None:
        print("Without Redis: redis-server is not installed.", file=sys.stderr)
        yield ""
        return
    socket = folder / "redis.sock"
    command = [program, "--port", "0", "--unixsocket", str(socket), "--save", "", "--dir", str(folder)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 10
        while not socket.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        yield f"unix://{socket}?db=0"
    finally:
        server.terminate()
        server.wait(10)


def _measure_in_a_process(options: argparse.Namespace, url: str, redis_url: str, folder: Path) -> Report:
    """Measure in a new process, because Django has one default database per process."""
    variables = {
        "DJANGO_SETTINGS_MODULE": "core.settings",
        "DEBUG": "false",
        "SECRET_KEY": "for-this-benchmark-alone-0123456789-abcdefghijklmnop",
        "DATABASE_URL": url,
        "DATA_DIR": str(folder),
        "LOGS": "level=WARNING",
        "REDIS_URL": redis_url,
    }
    numbers = {
        "--rows": options.rows,
        "--environments": options.environments,
        "--rounds": options.rounds,
        "--seconds": options.seconds,
        "--threads": options.threads,
    }
    words = [str(word) for pair in numbers.items() for word in pair]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.leaderboard", "--measure-here", *words],
        cwd=ROOT, env={**os.environ, **variables}, stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    measured: Report = json.loads(done.stdout.splitlines()[-1])
    return summarise(measured)


def _measure_here(options: argparse.Namespace) -> Report:
    from benchmarks import boards

    begun = time.perf_counter()
    boards.fill(rows=options.rows, environments=options.environments)
    filled = time.perf_counter() - begun
    figures = boards.measure(
        samples=options.rounds,
        seconds=options.seconds,
        threads=options.threads,
        redis_url=os.environ.get("REDIS_URL", ""),
    )
    return {
        "fill_seconds": round(filled, 1),
        "answers": {question: {way: asdict(kept) for way, kept in ways.items()} for question, ways in figures.items()},
    }


def summarise(measured: Mapping[str, Any]) -> Report:
    """Return the figures with ratios: how many times faster than sorting in Python, and than without the cache."""
    answers = measured["answers"]
    return {
        **measured,
        "speedup_database_vs_python": _ratios(answers, "in_python", "database"),
        "speedup_local_memory_vs_database": _ratios(answers, "database", "local_memory"),
        "speedup_redis_vs_database": _ratios(answers, "database", "redis"),
        "speedup_local_memory_vs_python": _ratios(answers, "in_python", "local_memory"),
    }


def _ratios(answers: Mapping[str, Any], slow: str, fast: str) -> dict[str, float | None]:
    """Return ratios of median latencies by question; None if the second was not measured."""
    return {
        question: round(ways[slow]["median_ms"] / ways[fast]["median_ms"], 1) if fast in ways else None
        for question, ways in answers.items()
    }


def table(name: str, measured: Mapping[str, Any]) -> str:
    """Return the figures of one database as a table."""
    header = (name, "median ms", "95% ms", "answers/s, one board", "answers/s, all boards")
    rows = [
        (f"{QUESTIONS[question]}, {WAYS[way]}", *figures.values())
        for question, ways in measured["answers"].items()
        for way, figures in ways.items()
    ]
    return f"\n{text_table(header, rows)}\nFilled in {measured['fill_seconds']} s."


if __name__ == "__main__":
    sys.exit(main())
