"""Workers with their state and current job, below a table of the queues."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from core.jobs.worker_selectors import WorkerState, worker_rows
from core.models import Duty, Worker, WorkerHost
from core.operations.queue_status import queue_statuses
from core.operations.status import watchdog_runs
from core.times import since
from web.admin.base import ReadOnlyAdmin, admin_action
from web.organise.actions.operation import DRAIN

FAULT_SHOWN = 200
"""Length in characters of a fault in the list; the worker's own page shows all of it."""


@admin.register(Worker)
class WorkerAdmin(ReadOnlyAdmin[Worker]):
    change_list_template = "web/admin/admin_workers.html"
    list_display = ("name", "queue", "state", "seen", "job", "jobs_done", "faults", "trouble", "versions")
    search_fields = ("name", "queue", "version", "last_fault", "engine_error")
    exclude: ClassVar[tuple[str, ...]] = ("job_kind", "job_id")
    readonly_fields: ClassVar[tuple[str, ...]] = ("state", "job")
    actions = None

    def get_queryset(self, request: HttpRequest) -> QuerySet[Worker]:
        return worker_rows()

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        """Order by state: alive, lost, stopped."""
        return ("state", "queue", "host", "pid")

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Show the list below a table of the queues."""
        queues = [(row, _ago(row.oldest_at), _ago(row.finished_at)) for row in queue_statuses()]
        extra = {"queues": queues, "watchdog_runs": watchdog_runs(), "title": "Workers"}
        return super().changelist_view(request, {**(extra_context or {}), **extra})

    @admin.display(ordering="state")
    def state(self, worker: Any) -> str:
        return WorkerState(worker.state).label

    @admin.display(ordering="seen_at", description="last heard of")
    def seen(self, worker: Worker) -> str:
        return _ago(worker.seen_at)

    @admin.display(ordering="version")
    def versions(self, worker: Worker) -> str:
        return ", ".join(filter(None, (worker.version, f"Python {worker.python}", worker.engine)))

    @admin.display(description="current job")
    def job(self, worker: Worker) -> SafeString:
        if not worker.job_kind or worker.job_id is None:
            return format_html("{}", "–")
        address = reverse(f"admin:core_{worker.job_kind}_change", args=[worker.job_id])
        return format_html('<a href="{}">{} {}</a>', address, worker.job_kind, worker.job_id)

    @admin.display(description="last fault", empty_value="–")
    def trouble(self, worker: Worker) -> str:
        """Return the current fault of the engine, or the last fault of the worker."""
        if worker.engine_error:
            return worker.engine_error
        return f"{worker.last_fault[:FAULT_SHOWN]} ({_ago(worker.last_fault_at)})" if worker.last_fault else ""


@admin.register(Duty)
class DutyAdmin(ReadOnlyAdmin[Duty]):
    list_display = ("name", "done_at", "worker", "since")
    search_fields = ("name", "worker")
    actions = None


def _ago(moment: datetime | None) -> str:
    return "–" if moment is None else f"{since(moment, timezone.now())} ago"


@admin.register(WorkerHost)
class WorkerHostAdmin(ReadOnlyAdmin[WorkerHost]):
    list_display = ("name", "provider", "state", "reason", "created_at", "ready_at", "drained_at", "ended_at")
    list_filter = ("state", "provider")
    search_fields = ("name",)
    actions = ("drain",)

    drain = admin_action(DRAIN)
