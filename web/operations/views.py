"""Addresses for operators' programs: liveness of this process, metrics, and alerts."""

from __future__ import annotations

import json

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from core.errors import Refused
from core.monitoring.exposition import REFUSED, figures, has_token, may_read
from core.notices.alerts import alerts_apply, alerts_read
from core.operations.figures import ArenaFigures

MOST_BYTES = 1 << 20
"""Maximum size of a message of Alertmanager."""
NOT_ALERTMANAGER = "Alerts are taken with METRICS_TOKEN only (Authorization: Bearer ...)."
TOO_LARGE = "A message of Alertmanager has at most 1 MiB here: group the alerts into smaller messages."


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


@csrf_exempt
@require_POST
def alerts(request: HttpRequest) -> HttpResponse:
    """Take a message of Alertmanager's webhook: alerts become alarms, which settle when the alerts are over."""
    if not has_token(request.headers.get("Authorization", "")):
        return JsonResponse({"detail": NOT_ALERTMANAGER}, status=403)
    # Not `request.body`, which reads all of it first.
    sent = request.read(MOST_BYTES + 1)
    if len(sent) > MOST_BYTES:
        return JsonResponse({"detail": TOO_LARGE}, status=413)
    try:
        alerts_apply(alerts=alerts_read(json.loads(sent)))
    except (ValueError, RecursionError):
        return JsonResponse({"detail": "This is not JSON."}, status=400)
    except Refused as refusal:
        return JsonResponse({"detail": str(refusal)}, status=400)
    return JsonResponse({"detail": "Taken."})
