"""The page for operators, and the addresses of their programs: liveness of this process, and metrics."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from core.models import Alarm
from core.monitoring.exposition import REFUSED, figures, may_read
from core.operations.figures import ArenaFigures
from core.operations.health import health_components
from core.operations.load import queue_loads
from core.operations.status import arena_disks
from web.operations.parts import day_shown, hosts, queue_figures, share
from web.site.organisers import organisers


@csrf_exempt
@require_safe
def live(request: HttpRequest) -> HttpResponse:
    """Answer that this process lives, even if the database or other services are down."""
    return JsonResponse({"status": "alive"})


@csrf_exempt
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Return the metrics for Prometheus; 403 for requests that may not read them."""
    authorization, address = request.headers.get("Authorization", ""), request.META.get("REMOTE_ADDR", "")
    if not may_read(authorization=authorization, address=address, is_forwarded="X-Forwarded-For" in request.headers):
        return HttpResponse(REFUSED, content_type="text/plain; charset=utf-8", status=403)
    body, content_type = figures(request.headers.get("Accept", ""), [ArenaFigures()])
    return HttpResponse(body, content_type=content_type)


@organisers("core.view_worker")
def operations(request: HttpRequest) -> HttpResponse:
    """Show organisers queues, workers, hosts, ages and error rates."""
    now = timezone.now()
    day = day_shown(now)
    context: dict[str, Any] = {
        "tab": "operations",
        "now": now,
        **queue_figures(),
        "components": health_components(),
        "loads": queue_loads(now=now),
        "hosts": hosts(now),
        "alarms": Alarm.objects.filter(settled_at=None),
        "error_rate": day.error_rate,
        "charts": day.charts,
        "disks": [(disk, share(disk.total_bytes - disk.free_bytes, disk.total_bytes)) for disk in arena_disks()],
    }
    return render(request, "web/operations/operations.html", context)
