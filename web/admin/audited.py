"""Writes every action on admin pages into the audit log, also on pages of other packages."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
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


@dataclass(slots=True)
class RequestAudit:
    """What a request writes into the audit log. written: the rows that already have an entry."""

    action: str = ""
    changes: Changes = field(default_factory=dict)
    written: set[tuple[str, str]] = field(default_factory=set)


def audit_of(request: HttpRequest) -> RequestAudit:
    audit: RequestAudit | None = getattr(request, "_request_audit", None)
    if audit is None:
        audit = RequestAudit()
        request._request_audit = audit  # type: ignore[attr-defined]  # stored on the request, because it belongs to that alone
    return audit


def write_down(request: HttpRequest, action: str, row: Model, note: str = "", changes: Changes | None = None) -> None:
    """Add an entry to the audit log: an action on a row in the admin, or its refusal."""
    audit_of(request).written.add(_key(row))
    operator = operator_of(request, AuditEntry.Channel.ADMIN)
    audit_record(operator=operator, action=action, row=row, note=note, changes=changes)


class Audited(Page):
    """Mixed into every page of the organisers' site.

    Forms, deletions and Django's own history call the three `log_...` methods. Actions are wrapped, so that an action
    that logs nothing itself still gets an entry.
    """

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        audit_of(request).changes = form_changes(form, formsets)

    def log_addition(self, request: HttpRequest, obj: Model, message: Any) -> LogEntry:
        self._log(request, audit_of(request).action or "add", obj, message)
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Model, message: Any) -> LogEntry:
        self._log(request, audit_of(request).action or "change", obj, message)
        return super().log_change(request, obj, message)

    def log_deletions(self, request: HttpRequest, queryset: Any) -> list[LogEntry]:
        for row in queryset:
            changes = {name: [value, None] for name, value in row_values(row).items()}
            write_down(request, "delete", row, changes=changes)
        return super().log_deletions(request, queryset)

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        found: dict[str, Any] = {**super().get_actions(request)}
        return {name: (audited(action, name), name, title) for name, (action, _, title) in found.items()}

    def _log(self, request: HttpRequest, action: str, row: Model, message: Any) -> None:
        audit = audit_of(request)
        changes, audit.changes = audit.changes, {}
        write_down(request, action, row, message if isinstance(message, str) else "", changes)


def audited(action: Action, name: str) -> Action:
    """Wrap an action of a list so that every chosen row gets an entry in the audit log."""

    @wraps(action)
    def run(page: Any, request: HttpRequest, queryset: QuerySet[Model]) -> HttpResponseBase | None:
        audit = audit_of(request)
        audit.action = name
        # Separate objects, because the action may delete its own.
        rows = list(queryset.all())
        before = [row_values(row) for row in rows]
        # Our own actions use a transaction for each row and its entry (web.admin.base.do_each). Others get one for all.
        is_ours = action.__module__.startswith(f"{__package__}.")
        with nullcontext() if is_ours else transaction.atomic():
            response = action(page, request, queryset)
            # A page as the answer asks a question first; the action has not been done yet.
            if response is None or response.status_code >= 300:
                for row, values in zip(rows, before, strict=True):
                    if _key(row) not in audit.written:
                        write_down(request, name, row, changes=row_changes(row, values))
        return response

    return run


def _key(row: Model) -> tuple[str, str]:
    return row._meta.label_lower, str(row.pk)
