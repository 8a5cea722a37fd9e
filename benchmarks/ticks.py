"""The processor time of a driver's tick with many lots that play, against a double of the cluster's API over HTTP."""

from __future__ import annotations

import json
import multiprocessing
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from arena_kit.cluster.client import PAGE, ApiCluster
from arena_kit.cluster.lots.driver import Claimed, Driver
from arena_kit.cluster.lots.manifest import LotJob, channel_of, lot_manifest
from arena_kit.cluster.manifest import PodPlayerSpec, Tenant
from arena_kit.cluster.status import Ended
from arena_kit.environment.spec import Limits
from arena_kit.referee.lot import DuelPart, Lot, LotPlayer

TENANT = Tenant(id="bench", namespace="arena-players", referee_image="registry.test/site@sha256:" + "a" * 64)
CONFIG = """
apiVersion: v1
kind: Config
current-context: bench
clusters: [{{name: bench, cluster: {{server: "http://127.0.0.1:{port}"}}}}]
users: [{{name: bench, user: {{token: none}}}}]
contexts: [{{name: bench, context: {{cluster: bench, user: bench}}}}]
"""
TICK_SECONDS = 5.0


@dataclass
class Rows:
    """Rows in memory whose claims all hold, of which none waits."""

    claims: frozenset[str]
    told: list[str] = field(default_factory=list)

    def live_claims(self) -> frozenset[str]:
        return self.claims

    def renew(self, claims: Sequence[str]) -> frozenset[str]:
        return frozenset()

    def claim(self, count: int) -> list[LotJob]:
        return []

    def progress(self, claim: str, done: dict[str, int]) -> None:
        self.told.append(claim)

    def finish(self, claim: str, lines: Sequence[str], ended: Ended) -> LotJob | None:
        raise AssertionError("Nothing ends here.")

    def finish_parts(self, claim: str, lines: Sequence[str]) -> None:
        raise AssertionError("There is no block here.")

    def fail(self, claim: str, code: str, sentence: str) -> None:
        raise AssertionError(sentence)


def duel_lot(number: int, *, players: Sequence[PodPlayerSpec], matches: int, limits: Limits, times: int = 1) -> LotJob:
    """Return a lot in which each of these players has a duel of Connect Four with each other one, or several."""
    claim = f"{number:032x}"
    pairs = [(first, second) for second in range(len(players)) for first in range(second)] * times
    names = tuple(LotPlayer(f"player-{place + 1}", channel_of(place), limits) for place in range(len(players)))
    duels = tuple(
        DuelPart(f"duel-{place}", "connect-four-v1", pair, ("one", "two"), 7, matches, 128, limits)
        for place, pair in enumerate(pairs, 1)
    )
    lot = Lot(claim, names, duels=duels)
    return LotJob("duel", number, 1, claim, lot.to_json(), tuple(players), limits.duel_seconds)


def tick_cpu_seconds(folder: Path, *, lots: int, rounds: int) -> list[float]:
    """Return the processor seconds of this process in each of some ticks that follow one another."""
    player = PodPlayerSpec("registry.test/players@sha256:" + "b" * 64, Limits())
    jobs = [duel_lot(number, players=(player, player), matches=100, limits=Limits()) for number in range(lots)]
    here, there = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=_serve, args=(there, jobs), daemon=True)
    server.start()
    try:
        config = folder / "kubeconfig"
        config.write_text(CONFIG.format(port=here.recv()))
        now = [0.0]
        rows = Rows(frozenset(job.claim for job in jobs))
        driver = Driver(rows, ApiCluster(TENANT, kubeconfig=str(config)), TENANT, lots, lambda: now[0])
        driver.claimed = {job.claim: Claimed(job, 0.0, is_made=True) for job in jobs}
        seconds = []
        for _ in range(rounds):
            now[0] += TICK_SECONDS
            begun = time.process_time()
            driver.tick()
            seconds.append(time.process_time() - begun)
            if driver.trouble or len(driver.claimed) != lots:
                raise RuntimeError(f"The tick did not follow all lots: {driver.trouble}")
        return seconds
    finally:
        server.terminate()
        server.join()


def _serve(pipe: Connection, jobs: Sequence[LotJob]) -> None:
    manifests = [lot_manifest(job, TENANT) for job in jobs]
    pages = {"jobs": _pages([_job(one) for one in manifests]), "pods": _pages([_pod(one) for one in manifests])}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            if path.endswith("/log"):
                body = b"progress duel-1 7\n"
            else:
                place = query.partition("continue=")[2].partition("&")[0] or "0"
                body = pages[path.rpartition("/")[2]][int(place)]
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        pipe.send(server.server_port)
        server.serve_forever()


def _pages(items: list[dict[str, Any]]) -> list[bytes]:
    starts = range(0, len(items), PAGE)
    following = [str(number) for number in range(1, len(starts))]
    return [
        json.dumps({"items": items[start : start + PAGE], "metadata": {"continue": then}}).encode()
        for start, then in zip(starts, [*following, ""], strict=True)
    ]


def _job(manifest: dict[str, Any]) -> dict[str, Any]:
    metadata = {**manifest["metadata"], "uid": manifest["metadata"]["name"]}
    return {**manifest, "metadata": metadata, "status": {"active": 1, "startTime": "2026-11-23T12:00:00Z"}}


def _pod(manifest: dict[str, Any]) -> dict[str, Any]:
    template, name = manifest["spec"]["template"], manifest["metadata"]["name"]
    labels = {**template["metadata"]["labels"], "job-name": name}
    running = {"running": {"startedAt": "2026-11-23T12:00:00Z"}}
    containers = [
        {"name": one["name"], "state": running, "image": one["image"], "imageID": one["image"], "ready": True}
        for one in template["spec"]["containers"]
    ]
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": "2026-11-23T12:00:00Z"}
        for kind in ("Initialized", "Ready", "ContainersReady", "PodScheduled")
    ]
    return {
        "metadata": {"name": f"{name}-pod", "labels": labels, "creationTimestamp": "2026-11-23T12:00:00Z"},
        "spec": template["spec"],
        "status": {"phase": "Running", "containerStatuses": containers, "conditions": conditions},
    }
