"""gunicorn's hooks for a reload (HUP): each old process serves until a new one has loaded the site.

By itself gunicorn ends the old ones at once, and all requests wait for as long as the site takes to load.
"""

from __future__ import annotations

import os
import signal
from typing import Any


def on_reload(server: Any) -> None:
    """Let old and new processes be beside each other."""
    server.num_workers = 2 * server.cfg.workers


def pre_fork(server: Any, worker: Any) -> None:
    """Note whether the new process takes the place of an old one."""
    worker.takes_over = server.num_workers > server.cfg.workers


def post_worker_init(worker: Any) -> None:
    """Let the oldest process end, now that the site is loaded: TTOU is gunicorn's signal for one process less."""
    if worker.takes_over:
        os.kill(worker.ppid, signal.SIGTTOU)
