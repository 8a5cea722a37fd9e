"""The memory of the players in this process's running duel."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from benchmarks.common import BENCH_LABEL


def players_bytes(kind: str) -> int:
    """Return the bytes that cannot be reclaimed: of the containers' cgroups, or of this process's descendants."""
    return _containers_bytes() if kind == "docker" else _descendants_bytes()


def _containers_bytes() -> int:
    from arena_kit.image.engine import connect

    client = connect()
    try:
        total = 0
        for container in client.containers.list(filters={"label": f"{BENCH_LABEL}={os.getpid()}"}):
            answer: Any = container.stats(stream=False, one_shot=True)
            stats = answer["memory_stats"]["stats"]
            # Version 1 of cgroups calls it rss, version 2 anon.
            total += stats["rss"] if "rss" in stats else stats["anon"]
        return total
    finally:
        client.close()


def _descendants_bytes() -> int:
    parents: dict[int, int] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = status.read_text()
        except OSError:
            continue
        # The name in brackets may contain spaces.
        parents[int(status.parent.name)] = int(text.rpartition(")")[2].split()[1])
    ours = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in ours and pid not in ours}:
        ours |= more
    return sum(own_bytes(pid) for pid in ours - {os.getpid()})


def own_bytes(pid: int) -> int:
    """Return the resident bytes of a process, with shared pages divided among the processes that share them."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:"))
