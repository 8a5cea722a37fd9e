"""What a page costs when nobody else asks: queries, time in the database, time in all. Needs Django."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from typing import Any

import django

from benchmarks.load.visitors import HOST, Visit, reads

SAMPLES = 5


def costs(plan: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """By kind of page, medians: `queries`, `database_ms`, `alone_ms`. In this process, without a server before it."""
    django.setup()
    return {name: _cost([reads(plan, name, path) for path in paths]) for name, paths in plan["pages"].items()}


def _cost(visits: list[Visit]) -> dict[str, float]:
    # The first time templates are read and connections are made.
    _ask(visits[0])
    step = max(1, len(visits) // SAMPLES)
    asked = (visits[::step] * SAMPLES)[:SAMPLES]
    queries, database, alone = zip(*(_ask(visit) for visit in asked), strict=True)
    return {
        "queries": max(queries),
        "database_ms": round(statistics.median(database), 1),
        "alone_ms": round(statistics.median(alone), 1),
    }


def _ask(visit: Visit) -> tuple[int, float, float]:
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    client = Client(headers={"host": HOST, **visit.headers})
    begun = time.perf_counter()
    answer = client.get(visit.path)
    # A streamed answer is made while it is read.
    assert answer.getvalue()
    alone = time.perf_counter() - begun
    with CaptureQueriesContext(connection) as captured:
        client.get(visit.path)
    seconds = sum(float(query["time"]) for query in captured.captured_queries)
    return len(captured), 1000 * seconds, 1000 * alone
