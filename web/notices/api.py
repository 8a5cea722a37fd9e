"""The API of the inbox."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import Http404
from django.utils import timezone
from django_filters import rest_framework as filters
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from core.links import absolute
from core.models import Notice, NoticeKind
from core.notices.selectors import inbox
from core.notices.services import notices_read
from web.api.base import Acting, Listed
from web.site.requests import account_of


class NoticeAnswer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    kind = serializers.ChoiceField(choices=NoticeKind.choices)
    title = serializers.CharField()
    text = serializers.CharField()
    url = serializers.SerializerMethodField(help_text="Page with the details.")
    created_at = serializers.DateTimeField()
    read_at = serializers.DateTimeField(allow_null=True)

    def get_url(self, row: Notice) -> str:
        return absolute(row.address)


class NoticeFilter(filters.FilterSet):
    kind = filters.ChoiceFilter(choices=NoticeKind.choices)
    unread = filters.BooleanFilter(field_name="read_at", lookup_expr="isnull", help_text="true: only unread notices.")

    class Meta:
        model = Notice
        fields = ["kind", "unread"]


class InboxRead(serializers.Serializer[Any]):
    read = serializers.IntegerField(help_text="Number of notices that were unread.")


class Inbox(Listed[Notice], Acting):
    """Your inbox, newest first."""

    tag = "inbox"
    serializer_class = NoticeAnswer
    filterset_class = NoticeFilter
    queryset = Notice.objects.all()

    def get_queryset(self) -> QuerySet[Notice]:
        account = account_of(self.request)
        if account is None:
            raise NotAuthenticated
        return inbox(account)

    @extend_schema(request=None, responses=InboxRead)
    def post(self, request: Request) -> Response:
        """Mark your whole inbox as read."""
        return Response({"read": notices_read(user=self.account(request), now=timezone.now())})


class NoticeRead(Acting):
    """One of your notices."""

    tag = "inbox"

    @extend_schema(request=None, responses={204: OpenApiResponse(description="The notice is read.")})
    def post(self, request: Request, pk: int) -> Response:
        """Mark one of your notices as read."""
        account = self.account(request)
        if not inbox(account).filter(pk=pk).exists():
            raise Http404("You have no such notice.")
        notices_read(user=account, notice_id=pk, now=timezone.now())
        return Response(status=204)
