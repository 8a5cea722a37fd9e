"""Pages, filters and order of lists, all checked before they reach the database."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from django import forms
from django.core.paginator import EmptyPage, Page, PageNotAnInteger
from django.db.models import QuerySet
from django.utils.text import get_text_list
from django_filters import rest_framework as filters
from rest_framework.exceptions import ValidationError
from rest_framework.filters import OrderingFilter
from rest_framework.pagination import PageNumberPagination
from rest_framework.request import Request
from rest_framework.utils.urls import remove_query_param, replace_query_param

from core.listing import Counted

if TYPE_CHECKING:
    # At run time this import would be circular: views load these classes by the settings.
    from rest_framework.views import APIView

MAX_ROW_ID = 2**63 - 1
MOST_SKIPPED = 10_000
"""How many rows come before a page at most: PostgreSQL would read all that it skips."""
AFTER = "after"
OF_EVERY_LIST = ("page", "page_size", AFTER, "ordering", "format")
"""The parameters that every list takes."""
TOO_DEEP = f"At most {MOST_SKIPPED} rows may come before a page. Follow `next`, or use ?{AFTER}=ID, or a filter."


class Leaf(Counted):
    """Reads the keys of a page first and then these rows, because the joins of a row are expensive.

    In a single query PostgreSQL would join eight tables for all rows, also for those outside the page.
    """

    last_key: Any = None
    """That of the last row which was read, if more rows follow it."""

    def page(self, number: int | str) -> Page[Any]:
        try:
            number = int(number)
        except ValueError:
            raise PageNotAnInteger(self.error_messages["invalid_page"]) from None
        begin = (number - 1) * self.per_page
        if number < 1 or begin > MOST_SKIPPED:
            self.validate_number(number)
            raise ValidationError({"page": [TOO_DEEP]})
        rows = self.rows(begin)
        # The number of rows may be a minute old, and no row of a page that exists may be missing for that.
        if self.last_key is not None:
            self.count = max(self.count, begin + self.per_page + 1)
        elif rows or number == 1:
            self.count = begin + len(rows)
        else:
            raise EmptyPage(self.error_messages["no_results"])
        vars(self).pop("num_pages", None)
        return Page(rows, number, self)

    def rows(self, begin: int) -> list[Any]:
        """Return the rows of a page that begins at a place, counted from 0."""
        if not isinstance(self.object_list, QuerySet):
            found = self.object_list[begin : begin + self.per_page + 1]
            self.last_key = found[self.per_page - 1] if len(found) > self.per_page else None
            return list(found[: self.per_page])
        keys = list(self.object_list.values_list("pk", flat=True)[begin : begin + self.per_page + 1])
        self.last_key = keys[self.per_page - 1] if len(keys) > self.per_page else None
        rows = self.object_list.in_bulk(keys[: self.per_page])
        # A row that was deleted between the two queries is left out.
        return [rows[key] for key in keys if key in rows]


def _sign(rows: Any) -> str:
    """Return how a list is ordered by its ids: "-" for the newest first, "+" for the oldest, "" for another order."""
    order = rows.query.order_by if isinstance(rows, QuerySet) else ()
    return {"-pk": "-", "pk": "+"}.get(str(order[0]), "") if len(order) == 1 else ""


class Pages(PageNumberPagination):
    """Reads ?page=N&page_size=N."""

    django_paginator_class = Leaf
    page_size = 50
    max_page_size = 100
    page_size_query_param = "page_size"
    page_size_query_description = f"Rows per page, at most {max_page_size}."
    page_query_description = f"Number of the page, from 1; {MOST_SKIPPED} rows may come before it."

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any] | None:
        """Return the rows of a page; with ?after=ID, those after this row in a list in the order of its ids."""
        after = request.query_params.get(AFTER)
        self.sign = _sign(queryset)
        self.is_after = after is not None
        if after is None:
            found: list[Any] | None = super().paginate_queryset(queryset, request, view)
            self.last_key = vars(self.page.paginator)["last_key"] if self.page is not None else None
            return found
        if not (self.sign and after.isascii() and after.isdigit() and len(after) < 20 and int(after) <= MAX_ROW_ID):
            raise ValidationError({AFTER: ["The id of a row, in a list in the order of its ids."]})
        size = self.get_page_size(request)
        rows = queryset.filter(**{"pk__lt" if self.sign == "-" else "pk__gt": int(after)})
        leaf = Leaf(rows, size)
        self.request, self.page = request, Page(leaf.rows(0), 1, Leaf(queryset, size))
        self.last_key = leaf.last_key
        return list(self.page)

    def get_next_link(self) -> str | None:
        """Return the address of the next page; where too many rows come before it, by the last id of this one."""
        assert self.page is not None
        deep = self.page.number * self.page.paginator.per_page > MOST_SKIPPED
        if self.last_key is None or (deep and not self.sign):
            return None
        if not deep and not self.is_after:
            return super().get_next_link()
        assert self.request is not None
        url = remove_query_param(self.request.build_absolute_uri(), self.page_query_param)
        return str(replace_query_param(url, AFTER, self.last_key))

    def get_previous_link(self) -> str | None:
        """Return the address of the page before; a page by an id has none."""
        return super().get_previous_link() if not self.is_after else None

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        after = {
            "name": AFTER,
            "required": False,
            "in": "query",
            "description": "Instead of a page: the rows after the one with this id, in a list in the order of its ids.",
            "schema": {"type": "integer"},
        }
        return [*super().get_schema_operation_parameters(view), after]

    def get_page_size(self, request: Request) -> int:
        asked = request.query_params.get(self.page_size_query_param)
        if asked is None:
            return self.page_size
        if not (asked.isascii() and asked.isdigit() and len(asked) < 6 and 1 <= int(asked) <= self.max_page_size):
            raise ValidationError({"page_size": [f"A whole number from 1 to {self.max_page_size}."]})
        return int(asked)


class RowFilter(filters.Filter):
    """Filters by the id of a row."""

    field_class = forms.IntegerField

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, min_value=1, max_value=MAX_ROW_ID, **kwargs)


class Filters(filters.DjangoFilterBackend):
    """Filters a list by the view's `filterset_class`, and refuses filters that the list has not."""

    def filter_queryset(self, request: Request, queryset: QuerySet[Any], view: APIView) -> QuerySet[Any]:
        """Return the rows that match. Raises ValidationError, also for an unknown filter, which would match all."""
        filterset = self.get_filterset_class(view, queryset)
        known = [*(filterset.base_filters if filterset else ()), *OF_EVERY_LIST]
        for name in request.query_params:
            if name not in known:
                near = get_close_matches(name, known, 1) or known
                raise ValidationError({name: [f"This list has no such filter: use {get_text_list(near, 'or')}."]})
        found: QuerySet[Any] = super().filter_queryset(request, queryset, view)
        return found


class Ordering(OrderingFilter):
    """Orders by ?ordering=FIELD or -FIELD, of the fields that a view names; ties by id."""

    def filter_queryset(self, request: Request, queryset: QuerySet[Any], view: APIView) -> QuerySet[Any]:
        asked = request.query_params.get(self.ordering_param)
        allowed = [name for name, _ in self.get_valid_fields(queryset, view)]
        if asked is None:
            return queryset
        if asked.removeprefix("-") not in allowed:
            raise ValidationError(
                {self.ordering_param: [f"Use one of {', '.join(allowed)}, with or without a leading -."]}
            )
        return queryset.order_by(asked, "-pk" if asked.startswith("-") else "pk")

    def get_schema_operation_parameters(self, view: APIView) -> list[dict[str, Any]]:
        names = list(getattr(view, "ordering_fields", ()))
        if not names:
            return []
        return [
            {
                "name": self.ordering_param,
                "required": False,
                "in": "query",
                "description": "Field to order by; a leading - reverses the order.",
                "schema": {"type": "string", "enum": [f"{sign}{name}" for name in names for sign in ("", "-")]},
            }
        ]
