"""The plain page of a model in the admin: a list with search and filters, and its rows read-only.

Superusers get the form of the organisers' pages where there is one; what else is done with rows is done under Organise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from allauth.mfa.models import Authenticator
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Page
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from core.errors import Refused
from core.listing import Counted
from core.models import Job, User
from core.people.rights import SUPERUSER, may
from core.people.second_factor import second_factor_lost
from web.organise.editors import EDITORS, Editor
from web.organise.job_sheets import job_address
from web.organise.sheet import has_word
from web.organise.sheets import BY_KIND

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin[Any]
else:
    ModelAdmin = admin.ModelAdmin  # not generic at run time


class FoundFirst(Counted):
    """Pages whose rows are found by key before others are joined to them.

    Of one query with both, a database may join all rows of the list, and read a whole table of duels for it.
    """

    def page(self, number: int | str) -> Page[Any]:
        page, rows = super().page(number), self.object_list
        assert isinstance(page.object_list, QuerySet)
        assert isinstance(rows, QuerySet)
        page.object_list = rows.filter(pk__in=list(page.object_list.values_list("pk", flat=True)))
        return page


class Rows(ModelAdmin):
    """The rows of a model. exclude: columns that no page here shows; filters in the address cannot guess them."""

    actions = None
    list_per_page = 50
    paginator = FoundFirst
    show_full_result_count = False

    @property
    def editor(self) -> Editor | None:
        """The organisers' form of these rows."""
        return EDITORS.get(str(self.opts.model_name))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).defer(*(self.exclude or ()))

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        for word in search_term.split():
            queryset = queryset.filter(has_word(self.model, self.search_fields, word))
        return queryset, False

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        return lookup.partition("__")[0] not in (self.exclude or ()) and super().lookup_allowed(lookup, value, request)

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> list[Any]:
        if self.editor is not None and self._has_form(request, obj):
            return list(self.editor.form(instance=obj).fields)
        hidden = self.get_exclude(request, obj) or ()
        return [field.name for field in self.opts.fields if field.name not in hidden]

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> list[Any]:
        return [] if self._has_form(request, obj) else self.get_fields(request, obj)

    def _has_form(self, request: HttpRequest, obj: Model | None) -> bool:
        return self.has_add_permission(request) if obj is None else self.has_change_permission(request, obj)

    def get_form(self, request: HttpRequest, obj: Model | None = None, change: bool = False, **kwargs: Any) -> Any:
        if self.editor is not None and self._has_form(request, obj):
            return self.editor.form
        return super().get_form(request, obj, change, **kwargs)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self.editor is not None and self.editor.may_add and may(request.user, SUPERUSER)

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return self.editor is not None and self.editor.may_change and may(request.user, SUPERUSER)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        assert self.editor is not None
        assert isinstance(request.user, User)
        try:
            sentence = self.editor.saved(form, request.user)
        except Refused as refusal:
            raise PermissionDenied(f"Nothing was saved. {refusal}") from None
        if sentence and change:
            self.message_user(request, sentence, messages.WARNING)
        elif sentence:
            # For the answer to the form alone: it may hold a secret.
            request._saved_sentence = sentence  # type: ignore[attr-defined]

    def response_add(self, request: HttpRequest, obj: Model, post_url_continue: str | None = None) -> HttpResponse:
        sentence = getattr(request, "_saved_sentence", "")
        if not sentence or self.editor is None:
            return super().response_add(request, obj, post_url_continue)
        context = {"title": f"{obj} is saved", "sentence": sentence, "back": self.editor.back, "tab": self.editor.tab}
        return render(request, "web/organise/saved.html", context)

    def view_on_site(self, obj: Any) -> str | None:
        """Return the organisers' page of a job, and the page of everybody of a row that a list of theirs has."""
        if isinstance(obj, Job):
            return job_address(obj)
        sheet = BY_KIND.get(str(self.opts.model_name))
        return sheet.page(obj) if sheet is not None and sheet.page is not None else None


class Opening(Rows):
    """Rows that open or lock an account: second factors, logins of providers, failed logins. Superusers may delete
    them, and no page shows a secret."""

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return may(request.user, SUPERUSER)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        super().delete_model(request, obj)
        if isinstance(obj, Authenticator):
            second_factor_lost(user=obj.user)


class SeedLists(Rows):
    """Lists of seeds. Only superusers see hidden ones; every organiser sees the hash that the arena is committed to."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return admin.ModelAdmin.get_queryset(self, request)

    def get_exclude(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        is_shown = request.user.is_superuser or (obj is not None and obj.is_public)
        return () if is_shown else ("seeds",)


@dataclass(frozen=True, slots=True)
class Table:
    """The page of a model. shown, search, filters, related, hidden, order: names of columns, with spaces between.

    empty: columns by which rows can be told apart that have a value in them. date: the column of its years and days.
    """

    model: type[Model]
    shown: str
    search: str = ""
    filters: str = ""
    empty: str = ""
    related: str = ""
    hidden: str = ""
    date: str | None = None
    order: str = ""
    base: type[Rows] = Rows

    def page(self) -> type[Rows]:
        """Return its class."""
        parts = {
            "list_display": tuple(self.shown.split()),
            "list_filter": (
                *self.filters.split(),
                *((name, admin.EmptyFieldListFilter) for name in self.empty.split()),
            ),
            "search_fields": tuple(self.search.split()),
            "list_select_related": tuple(self.related.split()) or False,
            "exclude": tuple(self.hidden.split()),
            "date_hierarchy": self.date,
            "ordering": tuple(self.order.split()),
        }
        return type(f"{self.model.__name__}Rows", (self.base,), parts)
