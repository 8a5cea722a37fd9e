"""The page for operators: what the arena does now, and what it did in the last day."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from core.models import Alarm
from core.operations.day import queue_days
from core.operations.health import health_components
from core.operations.queue_status import queue_statuses
from core.operations.status import arena_disks
from core.times import since
from web.operations.parts import NOTHING, ended_plot, hosts, open_plot, platform_share, rates_plot, share, waits_plot


def operations(request: HttpRequest) -> HttpResponse:
    """Show organisers queues, workers, hosts, ages and error rates."""
    if not request.user.is_authenticated:
        return redirect_to_login(request.get_full_path())
    if not (request.user.is_staff and request.user.has_perm("core.view_worker")):
        raise PermissionDenied("The operation of the arena is for organisers.")
    now, days = timezone.now(), queue_days(now=timezone.now())
    context: dict[str, Any] = {
        "now": now, **_now(), "components": health_components(now=now), "hosts": hosts(now),
        "alarms": Alarm.objects.filter(settled_at=None), "error_rate": platform_share(days),
        "ended": ended_plot(days), "rates": rates_plot(days), "open": open_plot(days), "waits": waits_plot(days),
        "disks": [(disk, share(disk.total_bytes - disk.free_bytes, disk.total_bytes)) for disk in arena_disks()],
    }  # fmt: skip
    return render(request, "web/operations/operations.html", context)


def _now() -> dict[str, Any]:
    """Return the figures of this moment: all queues together, and each with its ages in words."""
    rows, now = queue_statuses(), timezone.now()
    oldest = min((row.oldest_at for row in rows if row.oldest_at), default=None)

    def ago(moment: Any) -> str:
        return NOTHING if moment is None else since(moment, now)

    return {
        "queues": [(row, ago(row.oldest_at), ago(row.finished_at)) for row in rows],
        "running": sum(row.running for row in rows),
        "waiting": sum(row.waiting + row.delayed for row in rows),
        "alive": sum(row.workers for row in rows),
        "oldest": ago(oldest),
    }
