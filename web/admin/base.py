"""Shared parts of the organisers' pages: read-only rows, actions with messages, and questions before actions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.widgets import AdminSplitDateTime
from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from core.errors import Refused
from core.jobs.states import IllegalTransition, StaleJob
from core.models import User
from core.people.audit_log import row_changes, row_values
from web.admin.audited import audit_of, write_down
from web.organise.action import OrganiserAction, OrganiserAnswer, OrganiserQuestion, QuestionForm, refused, said

Row = TypeVar("Row", bound=Model)

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin
    ReadOnlyInline = admin.TabularInline
else:

    class ModelAdmin(admin.ModelAdmin):
        """Lets code write ModelAdmin[Row], which Django supports only in its type stubs."""

        def __class_getitem__(cls, _: object) -> type:
            return cls

    class ReadOnlyInline(admin.TabularInline):
        """Lets code write ReadOnlyInline[Row, Parent], like ModelAdmin."""

        def __class_getitem__(cls, _: object) -> type:
            return cls


class NamedTimesAdmin(ModelAdmin[Row]):
    """Gives the date and the time field of a moment names for screen readers, which Django does not.

    The clock beside them offers times in the site's format.
    """

    class Media:
        js = (forms.Script("core/times.js", defer=True),)

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if field is not None and isinstance(field.widget, AdminSplitDateTime):
            for widget, part in zip(field.widget.widgets, ("date", "time"), strict=True):
                widget.attrs["aria-label"] = f"{field.label}: {part}"
        return field


class ReadOnlyAdmin(ModelAdmin[Row]):
    """Rows that only services write. Actions are allowed, because they call services."""

    actions_on_bottom = True
    list_per_page = 50

    def get_readonly_fields(self, request: HttpRequest, obj: Row | None = None) -> list[str]:
        """Return every column, including the non-editable ones, then the fields computed for this page."""
        hidden = set(self.exclude or ())
        return [*(field.name for field in self.opts.fields if field.name not in hidden), *self.readonly_fields]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Row | None = None) -> bool:
        # Without an object this is the right to run actions. With an object it would be the right to save the row,
        # which would overwrite what a worker has written since the page was loaded.
        return obj is None and super().has_change_permission(request)

    def has_delete_permission(self, request: HttpRequest, obj: Row | None = None) -> bool:
        return False


def admin_action(action: OrganiserAction[Any]) -> Callable[..., HttpResponse | None]:
    """Return an action of an organiser as one of an admin's list."""

    @admin.action(description=action.label, permissions=[action.right])
    def run(page: ModelAdmin[Any], request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        if action.question is not None:
            return ask_and_do(page, request, queryset, action.question, action.do)
        assert isinstance(request.user, User)
        answer = OrganiserAnswer("", 0, request.user)
        do_each(page, request, queryset, lambda row: action.do(row, answer))
        return None

    return run


def ask_and_do(
    page: ModelAdmin[Row],
    request: HttpRequest,
    rows: QuerySet[Row],
    question: OrganiserQuestion,
    action: Callable[[Row, OrganiserAnswer], str],
) -> HttpResponse | None:
    """Return the page with the question; once it has been answered, run `action` on every row as `do_each` does."""
    form = QuestionForm(question, request.POST if "answered" in request.POST else None)
    if form.is_valid():
        assert isinstance(request.user, User)
        answer = form.answer(request.user)
        do_each(page, request, rows, lambda row: action(row, answer))
        return None
    context = {
        **admin.site.each_context(request),
        **_chosen_rows(request, rows),
        "title": question.title,
        "question": question,
        "form": form,
        "opts": page.model._meta,
    }
    return TemplateResponse(request, "web/admin/admin_question.html", context)


def _chosen_rows(request: HttpRequest, rows: QuerySet[Row]) -> dict[str, object]:
    """Return what the form of a question repeats of the list: the rows and the action that were chosen there."""
    return {
        "rows": list(rows[:100]),
        "row_count": rows.count(),
        "action": _chosen_action(request),
        "select_across": request.POST.get("select_across", "0"),
        "selected": request.POST.getlist(ACTION_CHECKBOX_NAME),
        "checkbox_name": ACTION_CHECKBOX_NAME,
    }


def do_each(page: ModelAdmin[Row], request: HttpRequest, rows: QuerySet[Row], action: Callable[[Row], str]) -> None:
    """Run `action` on every row and show messages. It returns a sentence, or raises Refused with the reason."""
    news: dict[tuple[int, str], list[Row]] = {}
    given = request.POST.get("reason", "").strip() if "answered" in request.POST else ""
    reason = f" Reason: {given}" if given else ""
    audit = audit_of(request)
    for row in rows:
        before = row_values(row)
        try:
            # In one transaction, so that no action is missing from the audit log.
            with transaction.atomic():
                level, sentence = messages.SUCCESS, action(row)
                audit.changes = row_changes(row, before)
                page.log_change(request, row, sentence + reason)
        except (Refused, IllegalTransition, StaleJob) as error:
            level, sentence = messages.ERROR, refused(error)
        if level != messages.SUCCESS:
            write_down(request, audit.action, row, sentence + reason)
        news.setdefault((level, sentence), []).append(row)
    for (level, sentence), concerned in news.items():
        page.message_user(request, said(concerned, sentence), level)


def text_block(text: str) -> SafeString:
    """Return a log or traceback with its line breaks."""
    return format_html("<pre>{}</pre>", text) if text else format_html("{}", "–")


def links(*pairs: tuple[str, str]) -> SafeString:
    """Return (address, title) pairs as links in one line."""
    return format_html_join(" · ", '<a href="{}">{}</a>', pairs)


def _chosen_action(request: HttpRequest) -> str:
    """Return the action chosen in the menu whose button was pressed: a list has a menu above and one below."""
    actions = request.POST.getlist("action")
    index = request.POST.get("index", "0")
    return actions[int(index)] if index.isdecimal() and int(index) < len(actions) else actions[0]
