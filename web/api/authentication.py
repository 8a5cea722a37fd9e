"""Authentication of programs by a token."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.utils import timezone
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework import authentication
from rest_framework.exceptions import AuthenticationFailed, Throttled
from rest_framework.request import Request

from core.addresses import client_address
from core.models import ApiToken, User
from core.people.second_factor_selectors import has_second_factor
from core.people.tokens import token_find
from web.site.throttling import BadTokenThrottle

if TYPE_CHECKING:
    from drf_spectacular.openapi import AutoSchema

SCHEMES = ("bearer", "token")
BAD_HEADER = "The Authorization header must be: Bearer, a space, and your token."
BAD_TOKEN = "This token is wrong, revoked or expired. Create a new one on your profile page."  # noqa: S105  (a sentence)
NO_SECOND_FACTOR = "Organisers need a second factor, and this account has none. Set it up on your profile page."
HOW_TO_GET_ONE = (
    "Send a token in the header: Authorization: Bearer TOKEN. You get one on your profile page, or by POST "
    "/api/v1/tokens/ with the e-mail and password of your account."
)


class TokenAuthentication(authentication.BaseAuthentication):
    """Reads `Authorization: Bearer TOKEN`; some clients send `Token TOKEN`."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        try:
            return self._authenticate(request)
        except AuthenticationFailed:
            # A view checks its throttles only after authentication, so wrong tokens have their own.
            throttle = BadTokenThrottle()
            if not throttle.allow(request):
                raise Throttled(throttle.wait()) from None
            raise

    def _authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() not in SCHEMES:
            return None
        if not token or not token.isascii() or not token.isprintable() or " " in token:
            raise AuthenticationFailed(BAD_HEADER)
        row = token_find(token, now=timezone.now(), address=client_address(request.META))
        if row is None:
            raise AuthenticationFailed(BAD_TOKEN)
        if row.owner.is_staff and settings.REQUIRE_STAFF_TOTP and not has_second_factor(row.owner):
            raise AuthenticationFailed(NO_SECOND_FACTOR)
        return row.account, row

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="api"'


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The description of this authentication in the schema."""

    target_class = TokenAuthentication
    name = "token"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": HOW_TO_GET_ONE}
