"""How often programs may ask: counted in the cache; while Redis is down each process counts for itself."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle

from web.api.authentication import account_of

if TYPE_CHECKING:
    # At run time it would be a circle: views ask the settings for these classes.
    from rest_framework.views import APIView


class Throttle(SimpleRateThrottle):
    """Counts by account where there is one, else by address."""

    def get_cache_key(self, request: Request, view: APIView) -> str | None:
        return self.key_of(self.who(request))

    def who(self, request: Request) -> str:
        account = account_of(request)
        return f"account {account.pk}" if account else f"address {self.get_ident(request)}"

    def key_of(self, who: str) -> str:
        # Whatever stands in a header: the key is short and plain.
        return f"throttle:{self.scope}:{hashlib.blake2b(who.encode('utf-8', 'replace'), digest_size=16).hexdigest()}"


class StrangerThrottle(Throttle):
    scope = "stranger"

    def get_cache_key(self, request: Request, view: APIView) -> str | None:
        return None if account_of(request) else super().get_cache_key(request, view)


class AccountThrottle(Throttle):
    scope = "account"

    def get_cache_key(self, request: Request, view: APIView) -> str | None:
        return super().get_cache_key(request, view) if account_of(request) else None


class UploadThrottle(Throttle):
    """Counts only what is sent, not what is read from the same address."""

    scope = "upload"

    def allow_request(self, request: Request, view: APIView) -> bool:
        return request.method != "POST" or super().allow_request(request, view)


class LoginThrottle(Throttle):
    """Tries of passwords: by address, whoever logs in there already."""

    scope = "login"

    def allow_request(self, request: Request, view: APIView) -> bool:
        return request.method != "POST" or super().allow_request(request, view)

    def who(self, request: Request) -> str:
        return f"address {self.get_ident(request)}"


class AccountLoginThrottle(LoginThrottle):
    """Tries of passwords: by e-mail, from whatever address."""

    def who(self, request: Request) -> str:
        email = request.data.get("email", "") if isinstance(request.data, dict) else ""
        return f"email {str(email)[:254].casefold()}"
