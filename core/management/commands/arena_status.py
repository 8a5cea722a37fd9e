"""The arena on one screen: queues, workers, stuck jobs, disks, engine and versions."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand

from core.operations.status import STALE_AFTER, ArenaStatus, status
from core.times import since

GIB = 1 << 30
Rows = Sequence[Sequence[object]]


class Command(BaseCommand):
    help = "Show queues, workers, running and stuck jobs, alarms, disk, engine and versions on one screen."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print JSON for programs, with times in ISO format")

    def handle(self, *args: Any, **options: Any) -> None:
        now = status()
        text = json.dumps(asdict(now), default=_plain, indent=2) if options["json"] else "\n".join(screen(now))
        self.stdout.write(text)


def screen(found: ArenaStatus) -> Iterator[str]:
    """Yield the lines of the screen."""
    versions = found.versions
    yield f"RL Arena {versions.arena}, {found.now:%Y-%m-%d %H:%M:%S} UTC"
    yield f"Python {versions.python}, Django {versions.django}, {versions.database}, messages in {versions.broker}"
    yield f"Sandbox {versions.sandbox}, engine: {versions.engine_error or versions.engine or 'not needed'}"
    yield _watchdog(found)
    for disk in found.disks:
        share = disk.free_bytes / disk.total_bytes
        size = f"{disk.free_bytes / GIB:.1f} of {disk.total_bytes / GIB:.1f} GiB free ({share:.0%})"
        yield f"Disk of {disk.folder}: {size}"
    for alarm in found.alarms:
        yield f"ALARM since {alarm.raised_at:%d %b %H:%M} UTC: {alarm.message}"

    def ago(moment: datetime | None) -> str:
        return "–" if moment is None else since(moment, found.now)

    yield from _table(
        "Queues",
        ("queue", "workers", "running", "waiting", "delayed", "oldest", "last success", "messages"),
        [
            (row.name, row.workers, row.running, row.waiting, row.delayed, ago(row.oldest_at), ago(row.finished_at),
             row.messages)
            for row in found.queues
        ],
    )  # fmt: skip
    yield from _table(
        "Workers",
        ("worker", "queue", "state", "last seen", "job", "done", "faults", "arena", "python", "trouble"),
        [
            (row.name, row.queue, row.state, ago(row.seen_at),
             f"{row.job_kind} {row.job_id}" if row.job_kind else "–", row.jobs_done, row.faults, row.version,
             row.python, row.trouble[:60] or "–")
            for row in found.workers
        ],
    )  # fmt: skip
    yield from _table(
        "Running",
        ("job", "worker", "attempt", "for"),
        [(f"{row.kind} {row.id}", row.worker, row.attempt, ago(row.started_at)) for row in found.running],
    )
    yield from _table(
        "Tournaments",
        ("tournament", "format", "for", "played", "open", "note"),
        [
            (row.name, row.format, ago(row.started_at), row.played, row.open, row.note or "–")
            for row in found.tournaments
        ],
    )
    yield from _table(
        "Stuck or delayed",
        ("job", "created", "code", "why"),
        [(f"{row.kind} {row.id}", ago(row.created_at), row.code, row.sentence) for row in found.stuck],
    )


def _watchdog(found: ArenaStatus) -> str:
    if found.watched_at is None:
        return "WATCHDOG: it has never run. Start the workers."
    line = f"last run {since(found.watched_at, found.now)} ago, by {found.watched_by}"
    return f"Watchdog: {line}." if found.now - found.watched_at < STALE_AFTER else f"WATCHDOG: {line}. It is overdue."


def _table(title: str, heads: Sequence[str], rows: Rows) -> Iterator[str]:
    yield ""
    if not rows:
        yield f"{title}: none"
        return
    yield f"{title}:"
    cells = [heads, *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(heads))]
    for row in cells:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{value!r} cannot be written as JSON.")
