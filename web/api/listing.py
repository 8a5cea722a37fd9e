"""Pages, filters and order of lists, all checked before they reach the database."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from django import forms
from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.utils.text import get_text_list
from django_filters import rest_framework as filters
from rest_framework.exceptions import ValidationError
from rest_framework.filters import OrderingFilter
from rest_framework.pagination import PageNumberPagination
from rest_framework.request import Request

if TYPE_CHECKING:
    # At run time this import would be circular: views load these classes by the settings.
    from rest_framework.views import APIView

MAX_ROW_ID = 2**63 - 1
OF_EVERY_LIST = ("page", "page_size", "ordering", "format")
"""The parameters that every list takes."""


class Leaf(Paginator):  # type: ignore[type-arg]  # at run time it takes no argument
    """Reads the keys of a page first and then these rows, because the joins of a row are expensive.

    In a single query PostgreSQL would join eight tables for all rows, also for those outside the page.
    """

    def page(self, number: int | str) -> Page[Any]:
        found = super().page(number)
        if not isinstance(self.object_list, QuerySet):
            return found
        begin = (found.number - 1) * self.per_page
        keys = list(self.object_list.values_list("pk", flat=True)[begin : begin + self.per_page])
        rows = self.object_list.in_bulk(keys)
        # A row that was deleted between the two queries is left out.
        return Page([rows[key] for key in keys if key in rows], found.number, self)


class Pages(PageNumberPagination):
    """Reads ?page=N&page_size=N."""

    django_paginator_class = Leaf
    page_size = 50
    max_page_size = 100
    page_size_query_param = "page_size"
    page_size_query_description = f"Rows per page, at most {max_page_size}."
    page_query_description = "Number of the page, from 1."

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
