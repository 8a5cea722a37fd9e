"""The API that opens an account, by the rules of the sign-up page."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from core.people.passwords import LONGEST_PASSWORD
from web.api.base import checked, refusals
from web.people.forms import SignUpForm
from web.site.throttling import AccountThrottle, SignUpThrottle, StrangerThrottle


class AccountRequest(serializers.Serializer[Any]):
    """A new account. invitation_code and team are needed where the sign-up page has these fields."""

    email = serializers.EmailField(max_length=254)
    username = serializers.CharField(max_length=150)
    password = serializers.CharField(max_length=LONGEST_PASSWORD, trim_whitespace=False)
    invitation_code = serializers.CharField(max_length=200, required=False, default="", allow_blank=True)
    team = serializers.CharField(max_length=100, required=False, default="", allow_blank=True)
    github = serializers.CharField(max_length=100, required=False, default="", allow_blank=True)


class NewAccountAnswer(serializers.Serializer[Any]):
    username = serializers.CharField()
    email = serializers.CharField()
    must_confirm_email = serializers.BooleanField(
        help_text="Whether the arena has mailed a link that confirms the address."
    )


class Accounts(APIView):
    """Sign-up for programs."""

    tag = "tokens"
    throttle_classes = [StrangerThrottle, AccountThrottle, SignUpThrottle]

    @extend_schema(request=AccountRequest, responses={201: NewAccountAnswer})
    def post(self, request: Request) -> Response:
        """Open an account, as the sign-up page does. Then make a token at /api/v1/tokens/."""
        data = checked(AccountRequest, request)
        form = SignUpForm({**data, "password1": data["password"], "password2": data["password"]})
        if not form.is_valid():
            raise ValidationError({_field(name): [str(text) for text in texts] for name, texts in form.errors.items()})
        with refusals():
            user = form.account_open()
        return Response(NewAccountAnswer(user).data, status=201)


def _field(name: str) -> str:
    return {"password1": "password", "password2": "password", "__all__": "detail"}.get(name, name)
