"""What a page costs when nobody else asks: queries, time in the database, time in all. Needs Django."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from benchmarks.load.visitors import HOST, Visit, reads

if TYPE_CHECKING:
    from django.test import Client

SAMPLES = 5


def costs(plan: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """By kind of page, medians: `queries`, `database_ms`, `alone_ms`. In this process, without a server before it."""
    from django.test import Client

    # One for all: it loads the middleware, and WhiteNoise reads the folder of static files then.
    client = Client(headers={"host": HOST})
    return {name: _cost(client, [reads(plan, name, path) for path in paths]) for name, paths in plan["pages"].items()}


def _cost(client: Client, visits: list[Visit]) -> dict[str, float]:
    # The first time templates are read and connections are made.
    _ask(client, visits[0])
    step = max(1, len(visits) // SAMPLES)
    asked = (visits[::step] * SAMPLES)[:SAMPLES]
    queries, database, alone = zip(*(_ask(client, visit) for visit in asked), strict=True)
    return {
        "queries": max(queries),
        "database_ms": round(statistics.median(database), 1),
        "alone_ms": round(statistics.median(alone), 1),
    }


def _ask(client: Client, visit: Visit) -> tuple[int, float, float]:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    client.cookies.load(visit.headers.get("Cookie", ""))
    begun = time.perf_counter()
    answer = client.get(visit.path)
    # A streamed answer is made while it is read.
    assert answer.getvalue()
    alone = time.perf_counter() - begun
    with CaptureQueriesContext(connection) as captured:
        client.get(visit.path)
    client.cookies.clear()
    seconds = sum(float(query["time"]) for query in captured.captured_queries)
    return len(captured), 1000 * seconds, 1000 * alone
