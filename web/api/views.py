"""What the views of lists and of single things have in common."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, TypeVar

from django.core.exceptions import ObjectDoesNotExist
from django.db.models import Model, QuerySet
from django.http import Http404
from rest_framework import generics
from rest_framework.exceptions import NotAuthenticated, ValidationError
from rest_framework.request import Request
from rest_framework.serializers import Serializer
from rest_framework.views import APIView

from core.errors import QuotaExceeded, Refused
from core.models import User
from web.site.accounts import account_of

Row = TypeVar("Row", bound=Model)


class Listed(generics.ListAPIView[Row]):
    """A list in pages, filtered and ordered."""

    tag: ClassVar[str]
    ordering_fields: ClassVar[tuple[str, ...]] = ()


class Shown(generics.RetrieveAPIView[Row]):
    """A single thing."""

    tag: ClassVar[str]


class Acting(APIView):
    """Something that only an account may do."""

    tag: ClassVar[str]

    def account(self, request: Request) -> User:
        """Who does it. Raises NotAuthenticated, which says how to get a token."""
        account = account_of(request)
        if account is None:
            raise NotAuthenticated
        return account


def one(rows: QuerySet[Row], **condition: Any) -> Row:
    """The row, or a 404 with a sentence."""
    try:
        return rows.get(**condition)
    except ObjectDoesNotExist:
        raise Http404(f"There is no such {rows.model._meta.verbose_name}.") from None


def checked(form: type[Serializer[Any]], request: Request) -> dict[str, Any]:
    """What a request sends, checked. Raises ValidationError."""
    sent = form(data=request.data, context={"request": request})
    sent.is_valid(raise_exception=True)
    data: dict[str, Any] = sent.validated_data
    return data


@contextmanager
def refusals() -> Iterator[None]:
    """Say what a service refuses at the field that it belongs to."""
    try:
        yield
    except QuotaExceeded:
        # With a status and a code of its own.
        raise
    except Refused as refusal:
        raise ValidationError({refusal.field or "detail": [str(refusal)] if refusal.field else str(refusal)}) from None
