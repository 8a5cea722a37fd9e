"""How many pages a second the whole site answers, how long visitors wait, and what limits it.

A private PostgreSQL is filled with 200 agents, 20 editions and 100,000 rated matches. The site runs under gunicorn with
the command of docker-compose.yml and its own settings, without DEBUG, with Redis if it is installed; only quotas and
rate limits are too high to be reached. First, visitors on this machine request every address once, as on a site that
has been running for a while. Then they request all kinds of pages and API lists, without a pause on each connection,
while some of them upload agents. In turn with that, they request a bare Django view on the same server, which returns a
constant without any middleware, the same view behind the arena's middleware, and only what strangers see: from the site
itself, and through nginx as people do. Percentiles are under full load; `alone_ms` is the time on the idle site.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from benchmarks.common import circumstances, middle, say, text_table, work_folder, write_json
from benchmarks.load.front import front
from benchmarks.load.usage import Usage, usage
from benchmarks.load.visitors import Answered, Choose, Crowd, crowd, each_once, mixed, of_strangers, turns, watching

ROOT = Path(__file__).resolve().parent.parent
GUNICORN = ("--config=python:core.handover", "--workers=2", "--threads=8", "--timeout=120", "--worker-tmp-dir=/dev/shm")
"""The command with which docker-compose.yml starts the site."""
START_SECONDS = 60.0
MOST_VISITS = 60_000
"""Requests of one measure."""
LONGEST_SECONDS = 900.0
"""The time in which every address is requested once."""
RECORDED, PLAYS = 200, 60
UNLIMITED = "1000000/second"
Report = dict[str, Any]
WHO = {
    "site": "the site's workers",
    "database": "PostgreSQL",
    "redis": "Redis",
    "visitors": "the visitors themselves",
    "other": "what else runs on this machine",
}


class CannotRun(Exception):
    """Something that the benchmark needs is missing; the message names it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table and, if asked, write JSON; return 1 if any answer was wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.site", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here")
    parser.add_argument("--quick", action="store_true", help="end within 60 s, on a small arena")
    parser.add_argument("--agents", type=int, default=200, help="default 200")
    parser.add_argument("--editions", type=int, default=20, help="of up to 199,999 matches (default 20)")
    parser.add_argument(
        "--matches",
        type=int,
        default=100_000,
        help="of all editions (default 100,000); more in their copies",
    )
    parser.add_argument("--rounds", type=int, default=3, help="measures of everything (default 3)")
    parser.add_argument("--seconds", type=float, default=20.0, help="of a measure of the site (default 20)")
    parser.add_argument("--connections", type=int, default=32, help="visitors at once (default 32)")
    parser.add_argument("--uploaders", type=int, default=4, help="of them upload (default 4)")
    parser.add_argument("--processes", type=int, default=2, help="that visitors share (default 2)")
    parser.add_argument("--fill-here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.quick:
        options.agents, options.editions, options.matches, options.rounds, options.seconds = 20, 2, 400, 1, 4.0
    if options.fill_here:
        print(json.dumps(_fill_here(options)))
        return 0
    try:
        report = run(options)
    except CannotRun as reason:
        print(f"Cannot run: {reason}", file=sys.stderr)
        return 2
    print(table(report))
    write_json(options.json, report)
    return 1 if any(page["errors"] for page in report["pages"].values()) else 0


def run(options: argparse.Namespace) -> Report:
    """Return the figures. Raises CannotRun."""
    with work_folder() as folder, contextlib.ExitStack() as stack:
        started = stack.enter_context(servers(folder))
        say("filling the database")
        filled = _fill_in_a_process(options, started.variables)
        plan = filled["plan"]
        port, pid = stack.enter_context(_site(folder, started.variables))
        fronted = stack.enter_context(front(folder, port)) if shutil.which("nginx") else None
        pids, url = {"site": pid, **started.pids}, started.variables["DATABASE_URL"]
        first, measured = _measure(options, plan, port, fronted, pids, url)
    return {
        **circumstances(options),
        "gunicorn": " ".join(GUNICORN),
        "redis": "redis" in started.pids,
        "fill_seconds": filled["seconds"],
        "first_visits_per_second": round(first.per_second, 1),
        **summarise(measured, filled["costs"]),
    }


# --- Servers --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Servers:
    """The servers that the site uses. pids: the first process of each."""

    variables: dict[str, str]
    pids: dict[str, int]


@contextlib.contextmanager
def servers(folder: Path) -> Iterator[Servers]:
    """Start PostgreSQL with default settings, and Redis if it is installed. Raises CannotRun."""
    from tests.postgres import NoPostgres
    from tests.season.services import Postgres, RedisServer

    with contextlib.ExitStack() as stack:
        try:
            postgres = Postgres(folder)
        except NoPostgres as reason:
            raise CannotRun(f"PostgreSQL is needed: {reason}") from None
        stack.callback(postgres.stop)
        postgres.create("arena")
        pids, variables = {"database": postgres.pid}, _variables(folder, postgres.url("arena"))
        if shutil.which("redis-server"):
            redis = RedisServer(folder)
            stack.callback(redis.stop)
            pids["redis"], variables["REDIS_URL"] = redis.pid, redis.url(0)
        else:
            print("Without Redis: redis-server is not installed.", file=sys.stderr)
        yield Servers(variables, pids)


def _variables(folder: Path, database_url: str) -> dict[str, str]:
    rates = ("stranger", "account", "upload", "replay", "replay_file", "results")
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG", "TMPDIR")}
    return {
        **kept,
        "DJANGO_SETTINGS_MODULE": "benchmarks.load.settings",
        "DEBUG": "false",
        "SECRET_KEY": "for-this-benchmark-alone-0123456789-abcdefghijklmnop",
        "DATABASE_URL": database_url,
        "DATA_DIR": str(folder / "data"),
        "METRICS_DIR": str(folder / "metrics"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "QUOTAS": "uploads_per_day=0,active_agents=0,storage_bytes=0,concurrent_jobs=0",
        "RATES": ",".join(f"{name}={UNLIMITED}" for name in rates),
    }


@contextlib.contextmanager
def _site(folder: Path, variables: Mapping[str, str]) -> Iterator[tuple[int, int]]:
    """Start the site under gunicorn; return its port and its first process. Raises CannotRun."""
    from tests.programs import free_port, running

    port, log = free_port(), folder / "site.log"
    command = ["-m", "gunicorn", "benchmarks.load.wsgi", f"--bind=127.0.0.1:{port}", *GUNICORN]
    # The log goes to a file, as in production.
    with log.open("wb") as output, running(variables, *command, output=output) as process:
        deadline = time.monotonic() + START_SECONDS
        while not _serves(port):
            if process.poll() is not None or time.monotonic() > deadline:
                raise CannotRun(f"gunicorn did not start:\n{log.read_text()[-2000:]}")
            time.sleep(0.1)
        yield port, process.pid


def _serves(port: int) -> bool:
    """Return whether a worker has loaded the site; gunicorn's first process listens earlier."""
    try:
        with contextlib.closing(HTTPConnection("127.0.0.1", port, timeout=START_SECONDS)) as visit:
            visit.request("GET", "/bare/")
            return visit.getresponse().status == HTTPStatus.OK
    except (OSError, HTTPException):
        return False


def _fill_in_a_process(options: argparse.Namespace, variables: Mapping[str, str]) -> Report:
    """Fill the database in a new process, so that this one does not load Django."""
    numbers = {"--agents": options.agents, "--editions": options.editions, "--matches": options.matches}
    words = [str(word) for pair in numbers.items() for word in pair]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.site", "--fill-here", *words],
        cwd=ROOT, env={**variables, "LOGS": "level=WARNING"}, stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    found: Report = json.loads(done.stdout.splitlines()[-1])
    return found


def _fill_here(options: argparse.Namespace) -> Report:
    from benchmarks.load.costs import costs
    from benchmarks.load.rows import MATCHES_PER_DUEL, Size, fill

    begun = time.monotonic()
    recorded = min(RECORDED, options.matches // MATCHES_PER_DUEL)
    plan = fill(Size(options.agents, options.editions, options.matches, min(PLAYS, recorded), recorded))
    return {"plan": plan, "seconds": round(time.monotonic() - begun, 1), "costs": costs(plan)}


# --- Measuring ------------------------------------------------------------------------------------------


Load = tuple[Crowd, Usage, Usage]
"""Requests of many, with the usage before and after."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The samples of every round. fronted: strangers who come through nginx; empty without it.

    usage: before those who watch, between them and the visits of the site, and after.
    """

    bare: Crowd
    bare_in_site: Crowd
    watching: Crowd
    strangers: Crowd
    fronted: Crowd
    site: Crowd
    usage: tuple[Usage, Usage, Usage]

    @property
    def watched(self) -> Load:
        return self.watching, *self.usage[:2]

    @property
    def visited(self) -> Load:
        return self.site, *self.usage[1:]


def _measure(
    options: argparse.Namespace,
    plan: Mapping[str, Any],
    port: int,
    fronted: int | None,
    pids: Mapping[str, int],
    database_url: str,
) -> tuple[Crowd, list[Measured]]:
    """Return the first visits of every address, and the rounds."""

    def let_in(choose: Choose, seconds: float, port: int = port) -> Crowd:
        return crowd(port, choose, connections=options.connections, processes=options.processes,
                     seconds=seconds, most=MOST_VISITS)  # fmt: skip

    visits, short = mixed(plan, uploaders=options.uploaders), options.seconds / 4
    say("every address once")
    opened = let_in(once := each_once(plan, connections=options.connections), LONGEST_SECONDS)
    if fronted:  # The site keeps pages by host, and nginx is another one here.
        let_in(once, LONGEST_SECONDS, fronted)
    taken = []
    for number in range(1, options.rounds + 1):
        say(f"round {number} of {options.rounds}")
        bare, bare_in_site = turns(let_in, ("/bare/", "/bare-in-site/"), 1.5 * short)
        strangers = let_in(of_strangers(plan), options.seconds / 2)
        through = let_in(of_strangers(plan), options.seconds / 2, fronted) if fronted else Crowd([], 1.0, 0.0)
        first = usage(pids, database_url)
        watched = let_in(watching(plan), short)
        between = usage(pids, database_url)
        site = let_in(visits, options.seconds)
        used = first, between, usage(pids, database_url)
        taken.append(Measured(bare, bare_in_site, watched, strangers, through, site, used))
    say("")
    return opened, taken


def summarise(measured: Sequence[Measured], costs: Mapping[str, Mapping[str, float]]) -> Report:
    """Return rates as medians over rounds, and percentiles over all visits of all rounds."""
    answers = [answer for row in measured for answer in row.site.answers]
    names = sorted({answer.name for answer in answers})
    return {
        "requests_per_second": middle([row.site.per_second for row in measured], 1),
        "bare_requests_per_second": middle([row.bare.per_second for row in measured], 1),
        "bare_in_site_requests_per_second": middle([row.bare_in_site.per_second for row in measured], 1),
        "refreshes_per_second": middle([row.watching.per_second for row in measured], 1),
        "strangers_per_second": middle([row.strangers.per_second for row in measured], 1),
        "strangers_ratio_in_site": middle([row.strangers.per_second / row.bare_in_site.per_second for row in measured]),
        "fronted_per_second": middle([row.fronted.per_second for row in measured], 1),
        "fronted_ratio_in_site": middle([row.fronted.per_second / row.bare_in_site.per_second for row in measured]),
        "ratio": middle([row.site.per_second / row.bare.per_second for row in measured], 4),
        "ratio_in_site": middle([row.site.per_second / row.bare_in_site.per_second for row in measured], 4),
        "bare_client_cpu_share": middle([row.bare.cpu_seconds / row.bare.seconds / _cores() for row in measured]),
        "all": _percentiles(answers),
        "pages": {
            name: {**_percentiles([answer for answer in answers if answer.name == name]), **costs.get(name, {})}
            for name in names
        },
        "problems": dict(Counter(answer.problem for answer in answers if answer.problem).most_common(10)),
        "limits": limits([row.visited for row in measured]),
        "watching_limits": limits([row.watched for row in measured]),
    }


def _percentiles(answers: Sequence[Answered]) -> dict[str, float]:
    times = sorted(1000 * answer.seconds for answer in answers)
    # One visit has no percentiles.
    cuts = statistics.quantiles(times, n=100, method="inclusive") if len(times) > 1 else times * 99
    return {
        "count": len(times),
        **{f"p{share}_ms": round(cuts[share - 1], 1) for share in (50, 95, 99)},
        "errors": sum(bool(answer.problem) for answer in answers),
    }


def limits(loads: Sequence[Load]) -> Report:
    """Return where the time of processors and database went while the site was visited, over all rounds.

    cpu_share: of all processors; `other` is everything else on this machine, including the kernel's shared work.
    database_sessions: mean number of sessions that execute at once.
    """
    wall = sum(after.at - before.at for _, before, after in loads)
    requests = sum(len(crowd.answers) for crowd, *_ in loads)
    cpu = {
        name: sum(after.cpu_seconds[name] - before.cpu_seconds[name] for _, before, after in loads)
        for name in loads[0][1].cpu_seconds
    }
    cpu["visitors"] = sum(crowd.cpu_seconds for crowd, *_ in loads)
    busy = sum(after.busy_seconds - before.busy_seconds for _, before, after in loads)
    cpu["other"] = max(0.0, busy - sum(cpu.values()))
    shares = {name: round(seconds / wall / _cores(), 3) for name, seconds in cpu.items()}
    executed = sum(after.database_seconds - before.database_seconds for _, before, after in loads)
    transactions = sum(after.transactions - before.transactions for _, before, after in loads)
    return {
        "sentence": sentence(shares, busy / wall / _cores(), executed / wall),
        "cpu_share": shares,
        "cpu_busy": round(busy / wall / _cores(), 3),
        "site_cpu_ms_per_request": round(1000 * cpu["site"] / requests, 2),
        "database_cpu_ms_per_request": round(1000 * cpu["database"] / requests, 2),
        "database_ms_per_request": round(1000 * executed / requests, 2),
        "visitors_cpu_ms_per_request": round(1000 * cpu["visitors"] / requests, 2),
        "transactions_per_request": round(transactions / requests, 2),
        "database_sessions": round(executed / wall, 2),
    }


def sentence(shares: Mapping[str, float], busy: float, sessions: float) -> str:
    """Return what limits the site, as a sentence."""
    if busy < 0.8:
        return (
            f"Processors are idle for {1 - busy:.0%} of the time: what limits is waiting (for locks, for disks), with "
            f"{sessions:.1f} sessions of the database at work."
        )
    first, second = itertools.islice(sorted(shares, key=lambda name: -shares[name]), 2)
    return (
        f"Processors are busy for {busy:.0%} of the time, most of it for {WHO[first]} ({shares[first]:.0%} of all, "
        f"then {WHO[second]}, {shares[second]:.0%}): more or faster cores, or less work there, is what would help."
    )


def _cores() -> int:
    return len(os.sched_getaffinity(0))


# --- For people -----------------------------------------------------------------------------------------


def table(report: Mapping[str, Any]) -> str:
    """Return the percentiles by kind of page as a table, then the totals."""
    columns = ("count", "p50_ms", "p95_ms", "p99_ms", "errors", "alone_ms", "database_ms", "queries")
    rows = [
        (name, *(page.get(column) for column in columns))
        for name, page in [*report["pages"].items(), ("all", report["all"])]
    ]
    limit = report["limits"]
    shares = ", ".join(f"{WHO[name]} {share:.0%}" for name, share in limit["cpu_share"].items())
    return (
        f"{text_table(('page', *(column.replace('_', ' ') for column in columns)), rows)}\n\n"
        f"{report['requests_per_second']} requests/s; a bare view {report['bare_requests_per_second']} (ratio "
        f"{report['ratio']}), behind the arena's middleware {report['bare_in_site_requests_per_second']} (ratio "
        f"{report['ratio_in_site']}).\nStrangers alone: {report['strangers_per_second']} requests/s (ratio to the view "
        f"behind the middleware {report['strangers_ratio_in_site']}); through nginx {report['fronted_per_second']} "
        f"(ratio {report['fronted_ratio_in_site']}).\nProcessors: {shares}. A request takes "
        f"{limit['site_cpu_ms_per_request']} ms of the site's processor time and {limit['database_ms_per_request']} ms "
        f"of the database.\n{limit['sentence']}"
        + "".join(f"\n{number} times {problem}" for problem, number in report["problems"].items())
    )


if __name__ == "__main__":
    # A signal becomes an exception, so that the private servers are stopped too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
