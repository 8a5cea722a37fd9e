"""Work of processors and the database during a measure, as the kernel and PostgreSQL count it."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psycopg2  # type: ignore[import-untyped]  # one query does not need its types

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Usage:
    """Totals at a moment. busy_seconds: of all processors together. database_seconds: spent executing."""

    at: float
    cpu_seconds: Mapping[str, float]
    busy_seconds: float
    database_seconds: float
    transactions: int


def usage(pids: Mapping[str, int], database_url: str) -> Usage:
    """Return the totals of these processes, including all their descendants."""
    parents, used = _processes()
    by_name = {name: sum(used.get(pid, 0.0) for pid in _family(root, parents)) for name, root in pids.items()}
    executed, transactions = _database(database_url)
    return Usage(time.monotonic(), by_name, _busy_seconds(), executed, transactions)


def _processes() -> tuple[dict[int, int], dict[int, float]]:
    """Return by process its parent, and the processor time of itself and its ended children."""
    parents, used = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        pid = int(path.parent.name)
        parents[pid], used[pid] = int(fields[1]), sum(map(int, fields[11:15])) / TICKS
    return parents, used


def _family(root: int, parents: Mapping[int, int]) -> set[int]:
    family = {root}
    while more := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= more
    return family


def _busy_seconds() -> float:
    fields = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    idle = fields[3] + fields[4]
    return (sum(fields) - idle) / TICKS


def _database(url: str) -> tuple[float, int]:
    """Return the seconds that sessions executed and the number of transactions; idle sessions report both."""
    connection = psycopg2.connect(url)
    try:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT active_time, xact_commit + xact_rollback FROM pg_stat_database "
                "WHERE datname = current_database()"
            )
            found = cursor.fetchone()
    finally:
        connection.close()
    assert found is not None
    return found[0] / 1000, found[1]
