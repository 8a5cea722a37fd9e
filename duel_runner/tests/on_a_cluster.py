"""Settings and queues of an arena that plays on a cluster."""

from __future__ import annotations

from typing import Any

import pytest

from core.jobs import registry
from duel_runner.queues import serve

QUEUES = ("build", "lots", "duel", "tournament", "publish")


def play_on_a_cluster(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process be one of an arena with SANDBOX=kubernetes, until the test ends."""
    build = registry.SERVICES["build"]
    for name in ("SERVICES", "DRIVERS"):
        monkeypatch.setattr(registry, name, {})
    for module in ("core.jobs.claims", "core.tests.working"):
        monkeypatch.setattr(f"{module}.SERVICES", registry.SERVICES)
    monkeypatch.setattr("core.jobs.stopping._asked_at", None)
    settings.SANDBOX = "kubernetes"
    settings.QUEUES = QUEUES
    registry.SERVICES["build"] = build
    serve("kubernetes")
