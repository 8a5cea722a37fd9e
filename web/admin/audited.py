"""Writes every form, deletion and action of admin pages into the audit log, also on pages of other packages."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from core.models import AuditEntry
from core.people.audit_log import Changes, audit_record, operator_of, row_changes, row_values
from web.organise.audits import form_changes

if TYPE_CHECKING:
    from django.contrib.admin import ModelAdmin
    from django.contrib.admin.models import LogEntry

    Page = ModelAdmin[Any]
else:
    Page = object

Action = Callable[[Any, HttpRequest, QuerySet[Model]], HttpResponseBase | None]


class Audited(Page):
    """Mixed into every page of the admin. Forms, deletions and Django's own history call the three `log_...` methods.

    Actions of other packages are wrapped, so that one that logs nothing itself still gets an entry.
    """

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        # Stored on the request, because it belongs to that alone.
        request._audit_changes = form_changes(form, formsets)  # type: ignore[attr-defined]

    def log_addition(self, request: HttpRequest, obj: Model, message: Any) -> LogEntry:
        _write(request, "add", obj, getattr(request, "_audit_changes", {}))
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Model, message: Any) -> LogEntry:
        _write(request, "change", obj, getattr(request, "_audit_changes", {}))
        return super().log_change(request, obj, message)

    def log_deletions(self, request: HttpRequest, queryset: Any) -> list[LogEntry]:
        for row in queryset:
            _write(request, "delete", row, {name: [value, None] for name, value in row_values(row).items()})
        return super().log_deletions(request, queryset)

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        found: dict[str, Any] = {**super().get_actions(request)}
        return {name: (audited(action, name), name, title) for name, (action, _, title) in found.items()}


def audited(action: Action, name: str) -> Action:
    """Wrap an action of a list so that every chosen row gets an entry in the audit log."""

    @wraps(action)
    def run(page: Any, request: HttpRequest, queryset: QuerySet[Model]) -> HttpResponseBase | None:
        # Separate objects, because the action may delete its own.
        rows = list(queryset.all())
        before = [row_values(row) for row in rows]
        with transaction.atomic():
            response = action(page, request, queryset)
            # A page as the answer asks a question first; the action has not been done yet. Deletions log themselves.
            is_done = response is None or response.status_code >= 300
            if is_done and name != "delete_selected":
                for row, values in zip(rows, before, strict=True):
                    _write(request, name, row, row_changes(row, values))
        return response

    return run


def _write(request: HttpRequest, action: str, row: Model, changes: Changes) -> None:
    operator = operator_of(request, AuditEntry.Channel.ADMIN)
    audit_record(operator=operator, action=action, row=row, changes=changes)
