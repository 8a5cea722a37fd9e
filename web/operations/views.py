"""Addresses for operators: liveness of this process, and metrics."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from core.monitoring.exposition import REFUSED, figures, may_read
from core.operations.figures import ArenaFigures


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
