"""gunicorn's hooks for a reload (HUP): each old process serves until a new one has loaded the site.

By itself gunicorn ends the old ones at once, and all requests wait for as long as the site takes to load; and it ends
itself if a new one cannot load the site.
"""

from __future__ import annotations

import gc
import os
import signal
import time
from contextlib import suppress
from typing import Any

MADE_BEFORE_GC = 10_000
"""New objects among which Python looks for those that only hold each other, some 50 of each request; 700 by default."""
LARGEST_BODY_BYTES, MOST_HELD_BYTES = 2_000_000, 16_000_000
"""Bytes of one body in memory, and of all after which it looks at once: they are held by those objects."""
PAUSE_SECONDS = 5.0
"""Time until a process that could not load the site ends and the next one tries, while old ones serve."""


def on_reload(server: Any) -> None:
    """Let old and new processes be beside each other."""
    for worker in server.WORKERS.values():
        worker.is_old = True
    server.num_workers = len(server.WORKERS) + server.cfg.workers


def pre_fork(server: Any, worker: Any) -> None:
    """Choose the old process whose place the new one takes, with those whose place that one was about to take."""
    others = server.WORKERS.values()
    taken = {pid for other in others for pid in other.replaces[:1]}
    free = (other for other in others if other.is_old and other.pid not in taken)
    worker.replaces = next(((other.pid, *other.replaces) for other in free), ())
    worker.is_old, worker.has_loaded, worker.held_bytes = False, False, 0
    # gunicorn ends itself when a process ends that has not booted: not while old ones serve.
    worker.booted = any(other.is_old for other in others)


def post_worker_init(worker: Any) -> None:
    """Let the old process end, now that the site is loaded."""
    from core.monitoring.logs import log_in_batches  # The arbiter loads nothing of the site.

    log_in_batches()
    # What is loaded stays, and need not be looked through.
    gc.collect()
    gc.freeze()
    gc.set_threshold(MADE_BEFORE_GC)
    worker.has_loaded = True
    for pid in worker.replaces:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)


def post_request(worker: Any, req: Any, variables: dict[str, Any], resp: Any) -> None:
    """Free the bodies of requests that are over, once they are many bytes."""
    # Larger ones are refused, or are files.
    worker.held_bytes += min(int(variables.get("CONTENT_LENGTH") or 0), LARGEST_BODY_BYTES)
    if worker.held_bytes > MOST_HELD_BYTES:
        worker.held_bytes = 0
        gc.collect()


def worker_exit(server: Any, worker: Any) -> None:
    """Wait in a process that could not load the site, so that tries take no more than a part of a core."""
    if worker.pid == os.getpid() and worker.booted and not worker.has_loaded:
        time.sleep(PAUSE_SECONDS)


def child_exit(server: Any, worker: Any) -> None:
    """Have one process less when an old one has ended."""
    if worker.is_old:
        server.num_workers = max(server.cfg.workers, server.num_workers - 1)
