"""Base classes of API views, and what their methods share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, TypeVar

from django.core.exceptions import ObjectDoesNotExist
from django.db.models import Model, QuerySet
from django.http import Http404
from rest_framework import generics
from rest_framework.exceptions import NotAuthenticated, ValidationError
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.serializers import Serializer
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView

from core.courses.sight import PATHS, listed, seen
from core.errors import QuotaExceeded, Refused
from core.models import User
from web.site.requests import account_of, viewer_of
from web.site.throttling import PollThrottle

Row = TypeVar("Row", bound=Model)


class Listed(generics.ListAPIView[Row]):
    """A paginated list that can be filtered and ordered."""

    tag: ClassVar[str]
    ordering_fields: ClassVar[tuple[str, ...]] = ()

    def filter_queryset(self, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the rows that match, without those of courses that lists leave out for the viewer."""
        rows = super().filter_queryset(queryset)
        return listed(rows, viewer_of(self.request)) if rows.model in PATHS else rows


class Shown(generics.RetrieveAPIView[Row]):
    """A single object."""

    tag: ClassVar[str]

    def get_object(self) -> Row:
        """Return the object that the address names. Raises Http404 with a sentence."""
        rows = self.get_queryset()
        shown = seen(rows, viewer_of(self.request)) if rows.model in PATHS else rows
        return one(shown, **{self.lookup_field: self.kwargs[self.lookup_field]})


class Acting(APIView):
    """An action that needs an account."""

    tag: ClassVar[str]

    def account(self, request: Request) -> User:
        """Return the account of the request. Raises NotAuthenticated, which says how to get a token."""
        account = account_of(request)
        if account is None:
            raise NotAuthenticated
        return account


class Polled(APIView):
    """Shows what programs wait for: reading it counts towards a limit of its own, and towards no other."""

    def get_throttles(self) -> list[BaseThrottle]:
        """Return the limits that a request counts towards."""
        return [PollThrottle()] if self.request.method in SAFE_METHODS else super().get_throttles()


def one(rows: QuerySet[Row], **condition: Any) -> Row:
    """Return the row. Raises Http404 with a sentence."""
    try:
        return rows.get(**condition)
    except ObjectDoesNotExist:
        raise Http404(f"There is no such {rows.model._meta.verbose_name}.") from None


def checked(form: type[Serializer[Any]], request: Request, **context: str) -> dict[str, Any]:
    """Return the validated data of a request. context: further values for the form. Raises ValidationError."""
    sent = form(data=request.data, context={"request": request, **context})
    sent.is_valid(raise_exception=True)
    data: dict[str, Any] = sent.validated_data
    return data


@contextmanager
def refusals() -> Iterator[None]:
    """Turn a service's Refused into a ValidationError at the field it concerns."""
    try:
        yield
    except QuotaExceeded:
        # to_response gives it its own status and code.
        raise
    except Refused as refusal:
        answer: dict[str, Any] = {refusal.field or "detail": [str(refusal)] if refusal.field else str(refusal)}
        if refusal.code != "refused":
            answer["code"] = refusal.code
        raise ValidationError(answer) from None
