"""The audit log, which only superusers may read."""

from __future__ import annotations

import json

from django.contrib import admin
from django.http import HttpRequest
from django.utils.safestring import SafeString

from core.models import AuditEntry
from web.admin.base import text_block
from web.admin.ledger import AppendOnlyAdmin


@admin.register(AuditEntry)
class AuditEntryAdmin(AppendOnlyAdmin[AuditEntry]):
    list_display = ("at", "operator", "channel", "action", "model", "object_name", "short_note", "address")
    list_display_links = ("at",)
    list_filter = ("channel", "action", "model")
    search_fields = ("operator", "object_name", "=object_id", "note", "=request_id", "=address")
    date_hierarchy = "at"
    exclude = ("changes",)
    readonly_fields = ("change_list",)

    def has_view_permission(self, request: HttpRequest, obj: AuditEntry | None = None) -> bool:
        return request.user.is_active and request.user.is_superuser

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    @admin.display(description="note")
    def short_note(self, entry: AuditEntry) -> str:
        return entry.note[:100]

    @admin.display(description="changes")
    def change_list(self, entry: AuditEntry) -> SafeString:
        lines = [
            f"{name}: {json.dumps(before, ensure_ascii=False)} → {json.dumps(after, ensure_ascii=False)}"
            for name, (before, after) in entry.changes.items()
        ]
        return text_block("\n".join(lines))
