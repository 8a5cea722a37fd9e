"""The capacity of one host, layer by layer, and what limits it; then how playing grows with workers and engines.

Each layer has the machine for itself, with a private PostgreSQL. Uploads: archives of small players on one worker of
builds and one of validations, from the upload to an agent that may play. Duels: Connect Four between NumPy players on
one worker. Page views: all kinds of pages and API lists under gunicorn (`benchmarks.site`). Live watchers by asking:
people at the page of an edition that runs, which asks for itself every two seconds. Live watchers by streams: people at
the page of a running duel, each with a stream of the process of live events (`benchmarks.streams`). Growth: the same
edition on one worker, two and four; with Debian's registry of images and as root also on two engines that share nothing
but that registry, each with half of the workers, although on the same processors. `rest` is the engine with the
players, and whatever else runs on this machine. Last, how many workers and hosts a set of users needs.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from arena_kit.environment.registry import get_spec
from arena_kit.sandbox.base import SandboxError
from benchmarks import needed, players, site, streams
from benchmarks.arena import Arena, ArenaFailed, Edition
from benchmarks.common import circumstances, new_parser, open_sandbox, say, text_table, work_folder, write_json
from benchmarks.load.usage import Usage, usage

SPEC = get_spec("connect-four")
WORKERS = (1, 2, 4)
REFRESH_SECONDS = 2.0
"""The pages of what runs ask for themselves this often."""
ASKING, STREAMING = "live watchers by asking", "live watchers by streams"
Report = dict[str, Any]
WHO = {"workers": "the arena's workers", "database": "PostgreSQL", "rest": "the engine with the players, and the rest"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print two tables and, if asked, write JSON; return 1 if something that is needed is missing."""
    parser = new_parser("capacity", __doc__, rounds=1)
    parser.add_argument("--agents", type=int, default=12, help="players (default 12)")
    parser.add_argument("--matches", type=int, default=SPEC.matches_per_duel, help="of a duel (default as on the site)")
    needed.add_options(parser)
    options = parser.parse_args(arguments)
    if options.quick:
        options.agents, options.matches = 5, 20
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    load = os.getloadavg()[0]
    try:
        layers, growth = run(options)
    except (SandboxError, ArenaFailed, site.CannotRun) as error:
        print(error, file=sys.stderr)
        return 1
    upload_seconds, duel_seconds = (3600 / float(layers[number]["figure"]) for number in (0, 1))
    counted = needed.needed(
        options, upload_seconds=upload_seconds, match_seconds=duel_seconds / options.matches, matches=options.matches
    )
    report = {
        "layers": layers,
        "growth": growth,
        "needed": counted,
        "load_before": round(load, 1),
        **circumstances(options),
    }
    print(table(report))
    print(f"\n{needed.table(counted, options)}")
    write_json(options.json, report)
    return 0


def run(options: argparse.Namespace) -> tuple[list[Report], list[Report]]:
    """Return the layers and the growth. Raises what `main` names."""
    say("pages and watchers")
    pages = page_layers(site.run(site_options(options)))
    say("streams")
    pages.append(stream_layer(streams.run(stream_options(options))))
    for row in pages:
        tell(row)
    with work_folder() as folder, open_sandbox(options.sandbox, options.base_image, folder), ExitStack() as stack:
        postgres = stack.enter_context(_postgres(folder))
        engines, registry = stack.enter_context(_second_engine(folder, options))
        meter = Meter(postgres.url("arena"), postgres.pid)
        variables = {"DATABASE_URL": postgres.url("arena"), **registry}
        arena = Arena(
            folder, sandbox=options.sandbox, base_image=options.base_image, variables=variables, mark=meter.mark
        )
        stack.callback(arena.remove)
        sources = [
            players.LINEAR.format(seed=seed, actions=SPEC.action_count, size=SPEC.observation.shape[0])
            for seed in range(options.agents)
        ]
        say("uploads")
        ready, whole = arena.prepare(sources, slug=SPEC.slug, match_count=options.matches, workers=1)
        uploads = layer("uploads per hour", 3600 * (len(sources) - 1) / (whole - ready), meter.shares())
        tell(uploads)
        growth = []
        for hosts in engines:
            for workers in WORKERS[len(hosts) - 1 :]:
                say(f"{workers} workers on {len(hosts)} engines")
                _, warm = arena.play(slug=SPEC.slug, agents=options.agents, workers=workers, engines=hosts)
                growth.append(grown(warm, workers, len(hosts), meter.shares()))
                tell(growth[-1])
        say("")
    duels = layer("duels per hour, one worker", growth[0]["duels_per_hour"], growth[0]["cpu_share"])
    first = growth[0]["duels_per_hour"]
    growth = [{**row, "times_one_worker": round(row["duels_per_hour"] / first, 2)} for row in growth]
    return [uploads, duels, *pages], growth


def tell(row: Report) -> None:
    """Print a figure as soon as it is known: whatever ends the run later takes none of them back."""
    what = row.get("layer") or f"duels per hour, {row['workers']} workers on {row['engines']} engines"
    print(f"{what}: {row.get('figure', row.get('duels_per_hour'))} ({shares_of(row)})", flush=True)


def shares_of(row: Report) -> str:
    """Return who took which share of the processors."""
    return ", ".join(f"{name} {share:.0%}" for name, share in row["cpu_share"].items())


class Meter:
    """Usage when something begins and when it has ended."""

    def __init__(self, database_url: str, database: int) -> None:
        self._url, self._database, self._marks = database_url, database, list[Usage]()

    def mark(self, workers: Sequence[int]) -> None:
        pids = {f"worker-{number}": pid for number, pid in enumerate(workers)}
        self._marks.append(usage({"database": self._database, **pids}, self._url))

    def shares(self) -> dict[str, float]:
        """Return the shares of all processors between the last two marks."""
        before, after = self._marks[-2:]
        whole = (after.at - before.at) * len(os.sched_getaffinity(0))
        used = {name: after.cpu_seconds[name] - before.cpu_seconds[name] for name in after.cpu_seconds}
        database = used.pop("database")
        workers, busy = sum(used.values()), after.busy_seconds - before.busy_seconds
        found = {"workers": workers, "database": database, "rest": max(0.0, busy - workers - database)}
        return {name: round(seconds / whole, 3) for name, seconds in found.items()}


def site_options(options: argparse.Namespace) -> argparse.Namespace:
    """Return the options of `benchmarks.site` for the same kind of run."""
    quick = {"agents": 20, "editions": 2, "matches": 400, "rounds": 1, "seconds": 4.0}
    whole = {"agents": 200, "editions": 20, "matches": 100_000, "rounds": options.rounds, "seconds": 20.0}
    return argparse.Namespace(
        **(quick if options.quick else whole), connections=32, uploaders=4, processes=2, fill_here=False, json=None
    )


def stream_options(options: argparse.Namespace) -> argparse.Namespace:
    """Return the options of `benchmarks.streams` for the same kind of run."""
    quick, whole = {"most": 200, "seconds": 5.0}, {"most": streams.MOST, "seconds": 10.0}
    return argparse.Namespace(**(quick if options.quick else whole), processes=2, front=False)


def layer(name: str, figure: float, shares: Mapping[str, float]) -> Report:
    """Return a layer with what limits it."""
    busy = sum(shares.values())
    most = max(shares, key=lambda part: shares[part])
    limit = (
        f"processors: {WHO[most]} take {shares[most]:.0%} of them"
        if busy >= 0.8
        else f"one worker: processors are idle for {1 - busy:.0%} of the time"
    )
    return {"layer": name, "figure": round(figure, 1), "cpu_share": dict(shares), "limit": limit}


def page_layers(pages: Report) -> list[Report]:
    """Return the layers of the site, from the report of `benchmarks.site`."""
    figures = {
        "page views per second": (pages["requests_per_second"], pages["limits"]),
        ASKING: (round(pages["refreshes_per_second"] * REFRESH_SECONDS, 1), pages["watching_limits"]),
    }
    return [
        {"layer": name, "figure": figure, "cpu_share": limits["cpu_share"], "limit": limits["sentence"]}
        for name, (figure, limits) in figures.items()
    ]


def stream_layer(report: Report) -> Report:
    """Return the layer of streams, from the report of `benchmarks.streams`. steps: how late each number heard it."""
    return {
        "layer": STREAMING, "figure": report["streams"], "cpu_share": report["cpu_share"], "limit": report["limit"],
        "steps": report["steps"],
    }  # fmt: skip


def grown(edition: Edition, workers: int, engines: int, shares: Mapping[str, float]) -> Report:
    """Return what an edition says about a number of workers."""
    duels = len(edition.other_seconds)
    return {
        "workers": workers,
        "engines": engines,
        "duels_per_hour": round(3600 * duels / edition.wall_seconds, 1),
        "seconds_beside_playing": round(statistics.median(edition.other_seconds), 3),
        "cpu_share": dict(shares),
    }


@contextmanager
def _postgres(folder: Path) -> Iterator[Any]:
    from tests.postgres import NoPostgres
    from tests.season.services import Postgres

    try:
        made = Postgres(folder)
    except NoPostgres as reason:
        raise site.CannotRun(f"PostgreSQL is needed: {reason}") from None
    try:
        made.create("arena")
        yield made
    finally:
        made.stop()


@contextmanager
def _second_engine(folder: Path, options: argparse.Namespace) -> Iterator[tuple[list[tuple[str, ...]], dict[str, str]]]:
    """Yield the sets of engines to play on, and the variables of the registry between them."""
    here: list[tuple[str, ...]] = [("",)]
    if options.sandbox != "docker" or os.geteuid() != 0 or not shutil.which("docker-registry"):
        print("One engine only: a second one takes Docker, root and docker-registry.", file=sys.stderr)
        yield here, {}
        return
    from arena_kit.tests.image.registries import registry_server
    from tests.relay import relayed
    from tests.season.services import EmptyEngine

    with registry_server(folder / "registry") as server:
        engine = EmptyEngine(folder, options.base_image)
        try:
            login = f"{server.registry.user}:{quote(server.registry.password)}"
            with relayed(server.port, pid=engine.pid, folder=folder):
                yield [*here, ("", engine.host)], {"PLAYER_REGISTRY": f"{login}@{server.registry.repository}"}
        finally:
            engine.end()


def table(report: Report) -> str:
    """Return two tables: the layers, and the growth."""
    layers = [(row["layer"], row["figure"], shares_of(row)) for row in report["layers"]]
    growth = [
        (f"{row['workers']} on {row['engines']}", row["duels_per_hour"], row["times_one_worker"], shares_of(row))
        for row in report["growth"]
    ]
    limits = "\n".join(f"{row['layer']}: {row['limit']}" for row in report["layers"])
    return (
        f"{text_table(('layer', 'figure', 'processors'), layers)}\n\n{limits}\n\n"
        f"{text_table(('workers on engines', 'duels per hour', 'times one', 'processors'), growth)}\n\n"
        f"{report['cores']} cores; load before {report['load_before']}."
    )


if __name__ == "__main__":
    sys.exit(main())
