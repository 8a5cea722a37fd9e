"""How often programs may ask. Counted in the cache; while that is down everybody may."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from django.core.cache import cache
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle

from core.cache import tried
from web.api.authentication import account_of

if TYPE_CHECKING:
    # At run time it would be a circle: views ask the settings for these classes.
    from rest_framework.views import APIView


class CalmCache:
    """The cache as throttles use it, empty while it is down."""

    def get(self, key: str, default: Any = None) -> Any:
        kept = tried(lambda: cache.get(key))
        return default if kept is None else kept

    def set(self, key: str, value: object, timeout: float | None = None) -> None:
        tried(lambda: cache.set(key, value, timeout))


class Throttle(SimpleRateThrottle):
    """Counts by account where there is one, else by address."""

    cache = CalmCache()  # type: ignore[assignment]

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
