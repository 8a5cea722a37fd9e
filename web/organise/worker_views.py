"""The organisers' page of workers and hosts."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from core.jobs.worker_selectors import worker_rows
from core.models import HostState, WorkerHost
from core.operations.status import watchdog_runs
from web.operations.parts import hosts, queue_figures
from web.site.organisers import organisers
from web.site.requests import page_number

A_PAGE = 50
HOSTS_SHOWN = 50


@organisers("core.view_worker")
def workers(request: HttpRequest) -> HttpResponse:
    """Show who lives and what each worker does, by worker and by host, and the hosts that the arena has made."""
    # By state, which sorts as alive, lost, stopped.
    rows = worker_rows().order_by(F("state"), "queue", "host", "pid")
    gone = (HostState.ENDED, HostState.FAILED)
    context = {
        "tab": "organise_workers",
        "now": timezone.now(),
        **queue_figures(),
        "watchdog_runs": watchdog_runs(),
        "page": Paginator(rows, A_PAGE).get_page(page_number(request.GET)),
        "hosts": hosts(timezone.now()),
        "made": WorkerHost.objects.exclude(state__in=gone)[:HOSTS_SHOWN],
    }
    return render(request, "web/organise/workers.html", context)
