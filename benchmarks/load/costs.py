"""The cost of a page on an idle site: queries, time in the database, total time. Needs Django."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from benchmarks.load.visitors import HOST, Visit, reads, upload_of

if TYPE_CHECKING:
    from django.http import HttpResponse
    from django.test import Client

SAMPLES = 5


def costs(plan: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Return medians by kind of page: `queries`, `database_ms`, `alone_ms`. Runs in this process, without a server."""
    from django.test import Client

    # One client for all: creating it loads the middleware, and WhiteNoise then reads all static files.
    client, chance = Client(headers={"host": HOST}), random.Random(1)
    visits = {name: _spread([reads(plan, name, path) for path in paths]) for name, paths in plan["pages"].items()}
    visits["upload"] = [upload_of(plan["uploads"][0], chance, turn) for turn in range(2 * SAMPLES + 1)]
    return {name: _cost(client, asked) for name, asked in visits.items()}


def _spread(visits: Sequence[Visit]) -> list[Visit]:
    """Return one page to begin with, then some pages of all, each twice."""
    some = (list(visits[:: max(1, len(visits) // SAMPLES)]) * SAMPLES)[:SAMPLES]
    return [visits[0], *(visit for visit in some for _ in range(2))]


def _cost(client: Client, visits: Sequence[Visit]) -> dict[str, float]:
    """Return the costs of visits: the first loads templates and connects, then pairs of one timed and one counted."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    _ask(client, visits[0])
    alone, queries, database = [], [], []
    for timed, watched in zip(visits[1::2], visits[2::2], strict=True):
        begun = time.perf_counter()
        # A streamed answer is computed while it is read.
        assert _ask(client, timed).getvalue()
        alone.append(1000 * (time.perf_counter() - begun))
        with CaptureQueriesContext(connection) as captured:
            _ask(client, watched)
        queries.append(len(captured))
        database.append(1000 * sum(float(query["time"]) for query in captured.captured_queries))
    return {
        "queries": max(queries),
        "database_ms": round(statistics.median(database), 1),
        "alone_ms": round(statistics.median(alone), 1),
    }


def _ask(client: Client, visit: Visit) -> HttpResponse:
    headers = dict(visit.headers)
    client.cookies.load(headers.pop("Cookie", ""))
    answer: Any
    if visit.body is None:
        answer = client.get(visit.path, headers=headers)
    else:
        answer = client.generic("POST", visit.path, visit.body, headers.pop("Content-Type"), headers=headers)
    client.cookies.clear()
    assert answer.status_code in (200, 201), f"{visit.path}: {answer.status_code}"
    found: HttpResponse = answer
    return found
