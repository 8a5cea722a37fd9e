"""How many people can follow a running duel by streams of the process of live events, and what limits it.

A private PostgreSQL holds a running duel of which something new is told every second, as its worker would. The process
runs with the command of docker-compose.yml. Listeners on this machine open streams of that duel's page and keep them,
step by step up to the maximum that the process takes. A step is carried if no stream is refused or breaks off, and
95% of what is told reaches the streams within two seconds, after which a page that asks would know it too.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import site
from benchmarks.common import circumstances, say, text_table, work_folder, write_json
from benchmarks.load.front import NoFront, front
from benchmarks.load.listeners import Heard, files_for, listeners
from benchmarks.load.usage import Usage, usage

EVENTS = (
    "core.asgi", "--worker-class=asgi", "--workers=1", "--worker-connections=2100", "--graceful-timeout=1",
    "--no-control-socket", "--worker-tmp-dir=/dev/shm",
)  # fmt: skip
"""The command with which docker-compose.yml starts the process of live events, without its address."""
MOST = 2_000
"""The process refuses more streams than these (`MOST_STREAMS` in web/watching/stream.py)."""
STEPS = (0.125, 0.25, 0.5, 0.75, 1.0)
"""Shares of the maximum that are tried one after the other."""
LATE_SECONDS = 2.0
"""A page without a stream asks this often."""
HEARD_SHARE = 0.95
WHO = {
    "events": "the process of live events",
    "database": "PostgreSQL",
    "listeners": "the listeners themselves",
    "other": "what else runs on this machine",
}
Report = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table and, if asked, write JSON; return 1 if not even the first step is carried."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.streams", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here")
    parser.add_argument("--quick", action="store_true", help="end within 60 s, with 200 streams at most")
    parser.add_argument("--most", type=int, default=MOST, help=f"streams (default {MOST:,})")
    parser.add_argument("--seconds", type=float, default=10.0, help="of a step (default 10)")
    parser.add_argument(
        "--front", action="store_true", help="through nginx, as people do, each from an address of its own"
    )
    parser.add_argument("--processes", type=int, default=2, help="that listen (default 2)")
    options = parser.parse_args(arguments)
    if options.quick:
        options.most, options.seconds = 200, 5.0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        report = {**run(options), **circumstances(options)}
    except (site.CannotRun, NoFront) as reason:
        print(f"Cannot run: {reason}", file=sys.stderr)
        return 2
    print(table(report))
    write_json(options.json, report)
    return 0 if report["streams"] else 1


def run(options: argparse.Namespace) -> Report:
    """Return the figures: `streams`, `steps`, `cpu_share`, `limit`. Raises CannotRun."""
    most = files_for(options.most)
    with work_folder() as folder, contextlib.ExitStack() as stack:
        servers = stack.enter_context(site.servers(folder))
        say("filling the database")
        teller = stack.enter_context(_teller(servers.variables))
        duel = teller.wait()
        port, events = stack.enter_context(_events(folder, servers.variables))
        if options.front:
            port = stack.enter_context(front(folder, port))
        teller.begin()
        path = f"/events/duels/{duel}"
        crowd = stack.enter_context(listeners(port, path, processes=options.processes))
        pids, steps = {"events": events, "database": servers.pids["database"]}, []
        for share in STEPS:
            count = max(1, round(share * most))
            say(f"{count} streams")
            broken = crowd.open(count)
            before = usage(pids, servers.variables["DATABASE_URL"])
            heard = crowd.listen(options.seconds)
            after = usage(pids, servers.variables["DATABASE_URL"])
            steps.append(step(count, broken, heard, dict(teller.told), before, after))
            if not steps[-1]["is_carried"]:
                break
        say("")
    return summary(steps, most, options.most)


# --- Judging --------------------------------------------------------------------------------------------


def waits(times: Sequence[tuple[int, float]], told: Mapping[int, float], ended: float) -> list[float]:
    """Return for each count told early enough how long a stream took to tell it, or one that is later; inf: never.

    A stream may skip what is out of date. told: when each count was told. ended: when listening ended.
    """
    due = [(number, at) for number, at in told.items() if at <= ended - LATE_SECONDS]
    return [min((heard - at for later, heard in times if later >= number), default=float("inf")) for number, at in due]


def step(count: int, broken: int, heard: Heard, told: Mapping[int, float], before: Usage, after: Usage) -> Report:
    """Return the figures of one step."""
    new = {number: at for number, at in told.items() if at >= before.at}
    taken = sorted(wait for times in heard.times for wait in waits(times, new, after.at))
    broken = max(broken, heard.broken)
    is_heard = bool(taken) and _at(taken, HEARD_SHARE) <= LATE_SECONDS
    return {
        "streams": count,
        "broken": broken,
        "told": len(taken),
        "p50_ms": round(1000 * _at(taken, 0.5)) if taken and _at(taken, 0.5) < float("inf") else None,
        "p95_ms": round(1000 * _at(taken, 0.95)) if taken and _at(taken, 0.95) < float("inf") else None,
        "cpu_share": shares(heard, before, after),
        "is_carried": not broken and is_heard,
    }


def _at(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def shares(heard: Heard, before: Usage, after: Usage) -> dict[str, float]:
    """Return who took which share of all processors."""
    whole = (after.at - before.at) * len(os.sched_getaffinity(0))
    used = {name: after.cpu_seconds[name] - before.cpu_seconds[name] for name in after.cpu_seconds}
    used["listeners"] = heard.cpu_seconds
    used["other"] = max(0.0, after.busy_seconds - before.busy_seconds - sum(used.values()))
    return {name: round(seconds / whole, 3) for name, seconds in used.items()}


def summary(steps: Sequence[Report], most: int, wanted: int) -> Report:
    """Return what was carried and the sentence that says what limits it."""
    carried = [row for row in steps if row["is_carried"]]
    figure = carried[-1]["streams"] if carried else 0
    shown = carried[-1] if carried else steps[-1]
    return {
        "streams": figure,
        "cpu_share": shown["cpu_share"],
        "limit": limit(steps[-1], most, wanted),
        "steps": list(steps),
    }


def limit(last: Report, most: int, wanted: int) -> str:
    """Return what ended the measure, as a sentence."""
    share = last["cpu_share"]
    cores = len(os.sched_getaffinity(0))
    one = f"the process took {share['events'] * cores:.0%} of the one core that it can use"
    if last["is_carried"]:
        why = (
            f"All {most:,} were carried, which is all that the process takes"
            if most == MOST
            else f"All {most:,} that were tried were carried"
            + (", and the limit of open files allows no more" if most < wanted else "")
        )
        return f"{why}; {one}."
    if last["broken"]:
        return f"Of {last['streams']:,} streams {last['broken']:,} were refused or broke off; {one}."
    busy = sum(share.values())
    first = max(share, key=lambda name: share[name])
    return (
        f"With {last['streams']:,} streams what is told comes too late; {one}, and processors were busy for {busy:.0%} "
        f"of the time, most of it for {WHO[first]} ({share[first]:.0%})."
    )


# --- Processes ------------------------------------------------------------------------------------------


class Teller:
    """The process of `benchmarks.load.running_duel`. told: when it told each count of matches (monotonic seconds)."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._thread = threading.Thread(target=self._follow, name="teller", daemon=True)
        self.told: dict[int, float] = {}

    def wait(self) -> int:
        """Return the number of the duel once it is there. Raises CannotRun."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line.strip().isdigit():
            raise site.CannotRun("the database could not be filled; the reason stands above.")
        return int(line)

    def begin(self) -> None:
        """Tell from now on."""
        assert self._process.stdin is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()
        self._thread.start()

    def end(self) -> None:
        """End its input, with which it ends, and read what it has told until then."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
        if self._thread.is_alive():
            self._thread.join()

    def _follow(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            number, at = line.split()
            self.told[int(number)] = float(at)


@contextlib.contextmanager
def _teller(variables: Mapping[str, str]) -> Iterator[Teller]:
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.load.running_duel"], cwd=site.ROOT,
        env={**variables, "LOGS": "level=WARNING"}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    teller = Teller(process)
    with process:
        try:
            yield teller
        finally:
            teller.end()


@contextlib.contextmanager
def _events(folder: Path, variables: Mapping[str, str]) -> Iterator[tuple[int, int]]:
    """Start the process of live events; return its port and its first process. Raises CannotRun."""
    from tests.programs import answers, free_port, running

    port, log = free_port(), folder / "events.log"
    own = {**variables, "EVENTS_URL": "/events"}
    command = ["-m", "gunicorn", EVENTS[0], f"--bind=127.0.0.1:{port}", *EVENTS[1:]]
    with log.open("wb") as output, running(own, *command, output=output) as process:
        deadline = time.monotonic() + site.START_SECONDS
        while not answers(port):
            if process.poll() is not None or time.monotonic() > deadline:
                raise site.CannotRun(f"gunicorn did not start:\n{log.read_text()[-2000:]}")
            time.sleep(0.1)
        yield port, process.pid


def table(report: Mapping[str, Any]) -> str:
    """Return the steps as a table, then the sentence."""
    columns = ("streams", "broken", "p50_ms", "p95_ms")
    rows = [
        (*(row[column] for column in columns), *(f"{row['cpu_share'][name]:.0%}" for name in WHO))
        for row in report["steps"]
    ]
    titles = (*(column.replace("_", " ") for column in columns), *WHO)
    return f"{text_table(titles, rows)}\n\n{report['streams']:,} streams are carried. {report['limit']}"


if __name__ == "__main__":
    sys.exit(main())
