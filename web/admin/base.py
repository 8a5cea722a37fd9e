"""What the organisers' pages share: read-only rows, actions that say what happened, and asking before they do it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.widgets import AdminSplitDateTime
from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.template.response import TemplateResponse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from core.errors import Refused
from core.jobs.states import IllegalTransition, StaleJob
from core.people.audit_log import row_changes, row_values
from web.admin.audited import deed_of, write_down

Row = TypeVar("Row", bound=Model)
NAMES_SHOWN = 3
PREDICATES = frozenset({"is", "has", "was", "waits", "begins", "ends", "may", "can"})
"""The words that begin what is said of the row whose name stands before them; other sentences are whole."""
MOST_NUMBER = 10**6

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin
    ReadOnlyInline = admin.TabularInline
else:

    class ModelAdmin(admin.ModelAdmin):
        """Generic for the type checker alone."""

        def __class_getitem__(cls, _: object) -> type:
            return cls

    class ReadOnlyInline(admin.TabularInline):
        """As ModelAdmin."""

        def __class_getitem__(cls, _: object) -> type:
            return cls


class NamedTimesAdmin(ModelAdmin[Row]):
    """The two fields of a moment have names of their own: for screen readers Django gives them none.

    Their clock offers times as the site writes them.
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
    """Rows that only services write. Actions stay: they go through services."""

    actions_on_bottom = True
    list_per_page = 50

    def get_readonly_fields(self, request: HttpRequest, obj: Row | None = None) -> list[str]:
        """Every column, also those that no form may ever hold, then what is made for this page."""
        hidden = set(self.exclude or ())
        return [*(field.name for field in self.opts.fields if field.name not in hidden), *self.readonly_fields]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Row | None = None) -> bool:
        # Without an object this is the right to run actions. With one it would be the right to save the row as it
        # was when the page was drawn, over what a worker has written since.
        return obj is None and super().has_change_permission(request)

    def has_delete_permission(self, request: HttpRequest, obj: Row | None = None) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked before an action. number, reason: what the fields are for; empty when none is needed.

    least, most: the range of the number.
    """

    title: str
    consequence: str
    button: str
    reason: str = ""
    number: str = ""
    least: int = 1
    most: int = MOST_NUMBER


class QuestionForm(forms.Form):
    """A number, and a sentence that people will read, as far as a question asks for them."""

    number = forms.IntegerField()
    reason = forms.CharField(max_length=200, strip=True, widget=forms.TextInput(attrs={"size": 80}))

    def __init__(self, question: Question, data: QueryDict | None) -> None:
        super().__init__(data, label_suffix="")
        self.fields["number"] = forms.IntegerField(min_value=question.least, max_value=question.most)
        for name, label in (("number", question.number), ("reason", question.reason)):
            if label:
                self.fields[name].label = label
            else:
                del self.fields[name]
        for field in list(self.fields.values())[:1]:
            field.widget.attrs["autofocus"] = True


def ask(page: ModelAdmin[Row], request: HttpRequest, rows: QuerySet[Row], question: Question) -> HttpResponse | str:
    """Ask before an action is done: the page with the question, or the reason once it has been given.

    The number, where it was asked for, is in `number_given`.
    """
    form = QuestionForm(question, request.POST if "answered" in request.POST else None)
    if form.is_valid():
        reason: str = form.cleaned_data.get("reason", "")
        return reason
    context = {
        **admin.site.each_context(request),
        "title": question.title,
        "question": question,
        "form": form,
        "opts": page.model._meta,
        "rows": list(rows[:100]),
        "row_count": rows.count(),
        "action": _chosen_action(request),
        "select_across": request.POST.get("select_across", "0"),
        "selected": request.POST.getlist(ACTION_CHECKBOX_NAME),
        "checkbox_name": ACTION_CHECKBOX_NAME,
    }
    return TemplateResponse(request, "web/admin/admin_question.html", context)


def number_given(request: HttpRequest) -> int:
    """The number of an answer that `ask` has found good."""
    return int(request.POST["number"])


def do_each(page: ModelAdmin[Row], request: HttpRequest, rows: QuerySet[Row], action: Callable[[Row], str]) -> None:
    """Run `action` on every row and say what happened. It returns a sentence, or raises to say why not."""
    news: dict[tuple[int, str], list[Row]] = {}
    given = request.POST.get("reason", "").strip() if "answered" in request.POST else ""
    reason = f" Reason: {given}" if given else ""
    deed = deed_of(request)
    for row in rows:
        before = row_values(row)
        try:
            # Together: nothing is done that is not written down.
            with transaction.atomic():
                level, sentence = messages.SUCCESS, action(row)
                deed.changes = row_changes(row, before)
                page.log_change(request, row, sentence + reason)
        except StaleJob:
            level, sentence = messages.WARNING, "has moved on meanwhile, so nothing was done. Please look again."
        except (Refused, IllegalTransition) as refusal:
            level, sentence = messages.ERROR, f"nothing was done. {refusal}"
        if level != messages.SUCCESS:
            write_down(request, deed.action, row, sentence + reason)
        news.setdefault((level, sentence), []).append(row)
    for (level, sentence), concerned in news.items():
        page.message_user(request, _said(concerned, sentence), level)


def text_block(text: str) -> SafeString:
    """A log or trace as it was written."""
    return format_html("<pre>{}</pre>", text) if text else format_html("{}", "–")


def links(*pairs: tuple[str, str]) -> SafeString:
    """(address, title) pairs as links beside each other."""
    return format_html_join(" · ", '<a href="{}">{}</a>', pairs)


def _chosen_action(request: HttpRequest) -> str:
    """What was chosen in the menu whose button was pressed: a list has one above and one below."""
    actions = request.POST.getlist("action")
    index = request.POST.get("index", "0")
    return actions[int(index)] if index.isdecimal() and int(index) < len(actions) else actions[0]


def _said(rows: list[Any], sentence: str) -> str:
    """What happened to rows. Their names are people's own and stay as they are written."""
    is_predicate = sentence.partition(" ")[0] in PREDICATES
    if len(rows) == 1:
        return f"{rows[0]}{'' if is_predicate else ':'} {sentence}"
    shown = ", ".join(str(row) for row in rows[:NAMES_SHOWN])
    more = ", …" if len(rows) > NAMES_SHOWN else ""
    each = "each " if is_predicate else ""
    return f"{len(rows)} {rows[0]._meta.verbose_name_plural} ({shown}{more}): {each}{sentence}"
