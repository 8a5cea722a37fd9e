"""The page for operators: what the arena does now, and what it did in the last day."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from core.models import Alarm
from core.operations.day import queue_days
from core.operations.health import health_components
from core.operations.status import arena_disks
from web.operations.parts import (
    ended_plot,
    hosts,
    open_plot,
    platform_share,
    queue_figures,
    rates_plot,
    share,
    waits_plot,
)
from web.site.organisers import organisers


@organisers("core.view_worker")
def operations(request: HttpRequest) -> HttpResponse:
    """Show organisers queues, workers, hosts, ages and error rates."""
    now, days = timezone.now(), queue_days(now=timezone.now())
    context: dict[str, Any] = {
        "tab": "operations", "now": now, **queue_figures(),
        "components": health_components(now=now), "hosts": hosts(now),
        "alarms": Alarm.objects.filter(settled_at=None), "error_rate": platform_share(days),
        "ended": ended_plot(days), "rates": rates_plot(days), "open": open_plot(days), "waits": waits_plot(days),
        "disks": [(disk, share(disk.total_bytes - disk.free_bytes, disk.total_bytes)) for disk in arena_disks()],
    }  # fmt: skip
    return render(request, "web/operations/operations.html", context)
