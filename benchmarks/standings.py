"""The cost of one result, from the end of a duel to the page that shows it, over short and very long histories.

A private PostgreSQL gets a database for each length of history: one environment, 100 agents, half of the ledger in
finished editions and half in the running ladder. Then duels are finished one at a time in the ladder, in an edition
and in a round of a Swiss tournament. The time of a result is that of `duel_succeed`, the handling of the message that
it sends, and the page; afterwards the table and the live ratings are compared with ones computed from nothing.
`growth_100x` is the time over the longest history divided by that over the shortest, for the kind of tournament in
which it is largest.

Finally many processes finish duels of one edition as fast as possible, while one process handles the messages like the
only worker of that queue. For comparison the same processes insert the same ledger entries into a bare table.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg2  # type: ignore[import-untyped]  # it has no types

from benchmarks.common import circumstances, say, text_table, work_folder, write_json

ROOT = Path(__file__).resolve().parent.parent
Report = dict[str, Any]
KINDS = ("ladder", "swiss", "edition")
"""The kinds of tournaments in the order of measuring, because one needs the state that the previous one leaves."""
TURN = 5
"""Number of results of a history before the next history takes its turn."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print tables and, if asked, write JSON; return 1 if a page contradicted the ledger."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.standings", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here")
    parser.add_argument("--quick", action="store_true", help="end within 60 s, over short histories")
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000, 1_000_000],
                        help="of the ledger, by history (default 10,000 100,000 1,000,000)")  # fmt: skip
    parser.add_argument("--agents", type=int, default=100, help="default 100")
    parser.add_argument("--results", type=int, default=40, help="timed in every kind of tournament (default 40)")
    parser.add_argument("--workers", type=int, default=32, help="that finish duels at once (default 32)")
    parser.add_argument("--seconds", type=float, default=10.0, help="that they do so, and insert (default 10)")
    parser.add_argument("--chosen", type=int, metavar="AGENTS",
                        help="instead of all this measure an edition of chosen duels among so many agents")  # fmt: skip
    parser.add_argument("--measure-here", type=int, metavar="ROWS", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.quick:
        options.rows, options.agents, options.results, options.seconds = [1_000, 10_000], 30, 8, 3.0
    if options.measure_here is not None:
        _answer(options)
        return 0
    from tests.postgres import NoPostgres

    try:
        if options.chosen:
            return _chosen(options)
        report = run(options)
    except NoPostgres as reason:
        print(f"Cannot run: PostgreSQL is needed: {reason}", file=sys.stderr)
        return 2
    print(table(report))
    write_json(options.json, report)
    return 0 if report["all_correct"] else 1


def run(options: argparse.Namespace) -> Report:
    """Return the figures. Raises NoPostgres."""
    from tests.postgres import postgres_url

    with work_folder() as folder, postgres_url() as server, contextlib.ExitStack() as stack:
        histories = {}
        for rows in sorted(options.rows):
            say(f"a history of {rows:,} rows")
            url = stack.enter_context(_database(server, f"standings_{rows}"))
            histories[rows] = stack.enter_context(_history(options, rows, url, folder))
        report = _measured(options, histories)
    say("")
    return {**circumstances(options), **summarise(report)}


def _chosen(options: argparse.Namespace) -> int:
    """Measure one edition of chosen duels, print its figures and, if asked, write JSON. Raises NoPostgres."""
    from tests.postgres import postgres_url

    # About twenty duels of each agent.
    options.agents, rows = options.chosen, 40 * options.chosen
    with (
        work_folder() as folder,
        postgres_url() as server,
        _database(server, "standings_chosen") as url,
        _history(options, rows, url, folder) as history,
    ):
        found = history.ask("chosen")
    print(text_table(("chosen duels", ""), [(name.replace("_", " "), value) for name, value in found.items()]))
    write_json(options.json, {**circumstances(options), **found})
    return 0


def _measured(options: argparse.Namespace, histories: Mapping[int, History]) -> dict[str, Report]:
    """Return all figures by history. Histories take turns, so that a busy moment of the machine affects all."""
    samples: dict[tuple[int, str], list[dict[str, float]]] = defaultdict(list)
    found: dict[str, Report] = {}
    for kind in KINDS:
        for done in range(0, options.results, TURN):
            say(f"{kind}: {done} of {options.results} results")
            for rows, history in histories.items():
                samples[rows, kind] += history.ask("results", kind=kind, count=min(TURN, options.results - done))
        for rows, history in histories.items():
            about = found.setdefault(str(rows), {**history.about, "kinds": {}})
            about["kinds"][kind] = figures(samples[rows, kind]) | {"is_correct": history.ask("is_correct", kind=kind)}
    for rows, history in histories.items():
        say(f"{options.workers} workers over {rows:,} rows")
        found[str(rows)]["at_once"] = history.ask("at_once", workers=options.workers, seconds=options.seconds)
    return found


def figures(results: Sequence[Mapping[str, float]]) -> Report:
    """Return medians in milliseconds, the 90th percentile and maximum of a result, and messages per result."""
    parts = ("result_ms", "finish_ms", "refresh_ms", "page_ms")
    ordered = sorted(row["result_ms"] for row in results)
    return {
        **{part: round(statistics.median(row[part] for row in results), 2) for part in parts},
        "p90_ms": round(ordered[len(ordered) * 9 // 10], 2),
        "worst_ms": round(max(row["result_ms"] for row in results), 2),
        "messages_per_result": round(sum(row["messages"] for row in results) / len(results), 3),
    }


def summarise(histories: Mapping[str, Report]) -> Report:
    """Return the figures of all histories, and the growth from the shortest to the longest."""
    shortest, longest = (histories[str(pick(int(rows) for rows in histories))] for pick in (min, max))
    growth = {
        kind: round(longest["kinds"][kind]["result_ms"] / shortest["kinds"][kind]["result_ms"], 3) for kind in KINDS
    }
    at_once = [found["at_once"] for found in histories.values()]
    return {
        "histories": dict(histories),
        "growth": growth,
        "growth_100x": max(growth.values()),
        "results_per_second": longest["at_once"]["results_per_second"],
        "inserts_per_second": longest["at_once"]["inserts_per_second"],
        "insert_share": longest["at_once"]["insert_share"],
        "messages_per_result": max(
            [found["messages_per_result"] for found in at_once]
            + [kind["messages_per_result"] for found in histories.values() for kind in found["kinds"].values()]
        ),
        "all_correct": all(
            part["is_correct"] for found in histories.values() for part in (*found["kinds"].values(), found["at_once"])
        ),
    }


@contextlib.contextmanager
def _database(server: str, name: str) -> Iterator[str]:
    """Create a database on a server, yield its address, and drop it."""
    _execute(server, f'DROP DATABASE IF EXISTS "{name}"', f'CREATE DATABASE "{name}"')
    try:
        yield urlsplit(server)._replace(path=f"/{name}").geturl()
    finally:
        _execute(server, f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


def _execute(server: str, *commands: str) -> None:
    connection = psycopg2.connect(server)
    try:
        # CREATE DATABASE cannot run in a transaction.
        connection.autocommit = True
        with connection.cursor() as cursor:
            for command in commands:
                cursor.execute(command)
    finally:
        connection.close()


class History:
    """A process with Django set up for the database of one history; it answers questions line by line."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.about: Report = self._read()

    def ask(self, question: str, **named: object) -> Any:
        assert self._process.stdin is not None
        print(json.dumps([question, named]), file=self._process.stdin, flush=True)
        return self._read()

    def _read(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("The process of a history has ended; its output says why.")
        return json.loads(line)


@contextlib.contextmanager
def _history(options: argparse.Namespace, rows: int, url: str, folder: Path) -> Iterator[History]:
    """Start the process of a history: this one does not load Django, which has one database per process."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG", "TMPDIR")}
    variables = {
        **kept, "DJANGO_SETTINGS_MODULE": "benchmarks.load.settings", "DEBUG": "false", "LOGS": "level=CRITICAL",
        "SECRET_KEY": "for-this-benchmark-alone-0123456789-abcdefghijklmnop", "DATABASE_URL": url,
        "DATA_DIR": str(folder / "data"), "METRICS_DIR": str(folder / f"metrics-{rows}"),
    }  # fmt: skip
    words = ["--agents", str(options.agents), "--measure-here", str(rows)]
    command = [sys.executable, "-m", "benchmarks.standings", *words]
    with subprocess.Popen(
        command, cwd=ROOT, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield History(process)
        finally:
            process.kill()


def _answer(options: argparse.Namespace) -> None:
    """Fill a database and answer questions about it until the input ends."""
    from benchmarks.results.measure import Measure

    measure = Measure(agents=options.agents, rows=options.measure_here)
    print(json.dumps(measure.about), flush=True)
    for line in sys.stdin:
        question, named = json.loads(line)
        print(json.dumps(getattr(measure, question)(**named)), flush=True)


def table(report: Mapping[str, Any]) -> str:
    """Return tables by history and kind of tournament, and of many workers."""
    columns = ("result_ms", "finish_ms", "refresh_ms", "page_ms", "worst_ms", "messages_per_result", "is_correct")
    kinds = [
        (f"{int(rows):,} rows, {kind}", *(figures[column] for column in columns))
        for rows, found in report["histories"].items()
        for kind, figures in found["kinds"].items()
    ]
    at_once = ("results_per_second", "inserts_per_second", "insert_share", "messages_per_result", "catch_up_seconds",
               "is_correct")  # fmt: skip
    together = [
        (f"{int(rows):,} rows", *(found["at_once"][column] for column in at_once))
        for rows, found in report["histories"].items()
    ]
    names = (tuple(column.replace("_", " ") for column in some) for some in (columns, at_once))
    return "\n\n".join(
        (
            text_table(("one result", *next(names)), kinds),
            text_table(("many workers at once", *next(names)), together),
            (
                f"growth from the shortest to the longest history: {report['growth_100x']} at most "
                f"({', '.join(f'{kind} {value}' for kind, value in report['growth'].items())})"
            ),
        )
    )


if __name__ == "__main__":
    # A signal becomes an exception, so that the private server is stopped too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
