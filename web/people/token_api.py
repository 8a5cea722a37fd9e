"""The API that creates tokens with e-mail and password, lists them and revokes them."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.http import Http404
from django.utils import timezone
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from core.errors import Refused
from core.models import ApiToken, AuditEntry, TokenScope, User
from core.people.audit_log import account_record
from core.people.passwords import LONGEST_PASSWORD
from core.people.second_factor import second_factor_check
from core.people.second_factor_selectors import has_second_factor
from core.people.services import user_authenticate
from core.people.tokens import MAX_DAYS, USUAL_DAYS, token_create, token_revoke
from web.api.base import Acting, checked, refusals
from web.api.parsers import BoundedFormParser, BoundedJSONParser
from web.site.logins import login_succeeded
from web.site.throttling import AccountThrottle, LoginAccountThrottle, LoginDayThrottle, LoginThrottle, StrangerThrottle

API = AuditEntry.Channel.API
WRONG = "E-mail and password do not match an account."
CODE_NEEDED = "This account has a second factor: send its code as `code` too."


class TokenRequest(serializers.Serializer[Any]):
    email = serializers.CharField(max_length=254)
    password = serializers.CharField(
        max_length=LONGEST_PASSWORD, trim_whitespace=False, style={"input_type": "password"}
    )
    code = serializers.CharField(
        max_length=32,
        default="",
        allow_blank=True,
        help_text="Code of the second factor, if the account has one, or a recovery code.",
    )
    name = serializers.CharField(max_length=50, default="API", help_text="Purpose of the token.")
    days = serializers.IntegerField(
        min_value=1,
        max_value=MAX_DAYS,
        default=USUAL_DAYS,
        help_text="Days until the token expires.",
    )
    scope = serializers.ChoiceField(TokenScope.choices, default=TokenScope.API, help_text="The door that it opens.")


class TokenAnswer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    name = serializers.CharField()
    scope = serializers.ChoiceField(TokenScope.choices)
    hint = serializers.CharField(help_text="First characters of the token.")
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    last_used_at = serializers.DateTimeField(allow_null=True, help_text="Accurate to some minutes.")
    last_used_address = serializers.CharField()


class NewTokenAnswer(TokenAnswer):
    token = serializers.SerializerMethodField(help_text="The token itself: it is never shown again.")

    def get_token(self, row: ApiToken) -> str:
        return str(self.context["token"])


class TokenList(Acting):
    """Your tokens."""

    tag = "tokens"
    parser_classes = [BoundedJSONParser, BoundedFormParser, MultiPartParser]
    throttle_classes = [StrangerThrottle, AccountThrottle, LoginThrottle, LoginDayThrottle, LoginAccountThrottle]

    @extend_schema(responses=TokenAnswer(many=True))
    def get(self, request: Request) -> Response:
        """Your tokens, newest first, without their secrets."""
        return Response(TokenAnswer(self.account(request).api_tokens.all(), many=True).data)

    @extend_schema(request=TokenRequest, responses={201: NewTokenAnswer})
    def post(self, request: Request) -> Response:
        """Create a token with your e-mail and password, and a code if you have a second factor."""
        form = checked(TokenRequest, request)
        owner = user_authenticate(request=request._request, email=form["email"], password=form["password"])
        if owner is None:
            raise AuthenticationFailed(WRONG)
        if has_second_factor(owner):
            _code_check(request, owner, form["code"])
        login_succeeded(request._request, owner)
        with refusals(), transaction.atomic():
            wanted = {name: form[name] for name in ("name", "days", "scope")}
            row, token = token_create(owner=owner, now=timezone.now(), **wanted)
            account_record(request, owner, "make_token", row=row, method="password", channel=API)
        answer = NewTokenAnswer(row, context={"token": token})
        return Response(answer.data, status=201, headers={"Cache-Control": "no-store"})


def _code_check(request: Request, owner: User, code: str) -> None:
    """Raise AuthenticationFailed for a code that is missing or wrong; the owner sees it, as the password was right."""
    try:
        if not code:
            raise AuthenticationFailed(CODE_NEEDED)
        second_factor_check(user=owner, code=code)
    except (AuthenticationFailed, Refused) as failure:
        note = "Wrong code." if code else "Without a code."
        account_record(request, owner, "log_in_failed", note=note, method="code", channel=API, is_known=False)
        raise AuthenticationFailed(str(failure) if code else CODE_NEEDED) from None


class TokenShown(Acting):
    """One of your tokens."""

    tag = "tokens"

    @extend_schema(request=None, responses={204: OpenApiResponse(description="The token is revoked.")})
    def delete(self, request: Request, pk: int) -> Response:
        """Revoke one of your tokens."""
        owner = self.account(request)
        with transaction.atomic():
            row = token_revoke(owner=owner, token_id=pk)
            if row is None:
                raise Http404("You have no such token.")
            account_record(request, owner, "revoke_token", row=row, channel=API)
        return Response(status=204)


class MeAnswer(serializers.Serializer[Any]):
    username = serializers.CharField()
    email = serializers.CharField(source="mailbox", help_text="Empty for accounts without an e-mail.")
    team = serializers.CharField()
    github = serializers.CharField()
    is_staff = serializers.BooleanField()


class Me(Acting):
    """Your account."""

    tag = "tokens"

    @extend_schema(responses=MeAnswer)
    def get(self, request: Request) -> Response:
        return Response(MeAnswer(self.account(request)).data)
