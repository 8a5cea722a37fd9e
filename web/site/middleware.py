"""Middleware that sets headers, shows 404 pages, follows sessions and requires the second factor."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

from csp.constants import HEADER as POLICY
from csp.utils import build_policy
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.middleware.security import SecurityMiddleware
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.defaults import page_not_found
from whitenoise.middleware import WhiteNoiseFileResponse

from core.errors import Refused
from core.models import User
from core.people.hashers import TooManyHashes
from core.people.second_factor_selectors import has_second_factor, second_factor_missing
from core.people.sessions import is_logged_out, session_use
from core.sealing import NotOpened
from web.site.gate import page_gate
from web.site.limits import limits_count, limits_state
from web.site.logins import locked_out
from web.site.requests import comes_with_session, loaded_user
from web.site.too_many import TooMany, too_many
from web.site.working import work_as_chosen

logger = logging.getLogger(__name__)
Next = Callable[[HttpRequest], HttpResponseBase]

# The site uses none of these features. Those that are not listed are off by default.
FEATURES = (
    "accelerometer",
    "autoplay",
    "browsing-topics",
    "camera",
    "display-capture",
    "encrypted-media",
    "geolocation",
    "gyroscope",
    "hid",
    "magnetometer",
    "microphone",
    "midi",
    "payment",
    "serial",
    "usb",
    "xr-spatial-tracking",
)
OWN = ("publickey-credentials-create", "publickey-credentials-get", "screen-wake-lock")
"""Features that the site's own pages use: passkeys, and a screen that stays on in a hall."""
FRAMES = "X-Frame-Options"
HEADERS = {
    "Permissions-Policy": ", ".join([*(f"{name}=()" for name in FEATURES), *(f"{name}=(self)" for name in OWN)]),
    # Other sites must not embed our pictures, videos or files.
    "Cross-Origin-Resource-Policy": "same-origin",
}


class OverHttps(HttpRequest):
    """A request for the headers that only answers over HTTPS have."""

    def _get_scheme(self) -> str:
        return "https"


class SitePages(SecurityMiddleware):
    """Django's middleware of HTTPS and headers, with what it has no setting for, such as the 404 page with DEBUG too.

    A private arena runs with DEBUG on, and its pages should show the same sentences.
    """

    PLAIN = "The API is at https:// only. If this request had a token, it travelled in plain text: revoke it."

    def __init__(self, get_response: Next) -> None:
        super().__init__(get_response)
        self._next = get_response
        # Made once, as making them takes longer than many an answer. No page has a policy with a nonce.
        own = {**HEADERS, POLICY: build_policy(), FRAMES: settings.X_FRAME_OPTIONS}
        kinds = (HttpRequest(), OverHttps())
        self.of_files = {request.is_secure(): self._headers(request, {}) for request in kinds}
        self.headers = {request.is_secure(): self._headers(request, own) for request in kinds}

    def _headers(self, request: HttpRequest, own: Mapping[str, str]) -> Mapping[str, tuple[str, str]]:
        bare = HttpResponse(headers=own)
        del bare.headers["Content-Type"]
        return self.process_response(request, bare).headers._store

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        is_secure = request.is_secure()
        refused = self._refused(request) if self.redirect and not is_secure else None
        response = refused or self._next(request)
        # Pictures in files have styles of their own, which the policy of pages would forbid.
        headers = self.of_files if isinstance(response, WhiteNoiseFileResponse) else self.headers
        # By name in lower case, as Django keeps them: setting a header checks and converts it each time.
        there, left_out = response.headers._store, _left_out(response)
        for name, header in headers[is_secure].items():
            if name != left_out:
                there.setdefault(name, header)
        # Set by the session, or by the token of a program: what a person is shown is kept by no cache.
        if loaded_user(request) is not None:
            response.headers.setdefault("Cache-Control", "private, no-store")
        if is_logged_out(request):
            response.headers["Clear-Site-Data"] = '"cache", "storage"'
        return response

    def _refused(self, request: HttpRequest) -> HttpResponseBase | None:
        if request.path_info.startswith("/api/"):
            return JsonResponse({"detail": self.PLAIN}, status=403)
        return self.process_request(request)

    def process_view(
        self, request: HttpRequest, view: object, args: object, names: dict[str, Any]
    ) -> HttpResponse | None:
        # PostgreSQL rejects a NUL in a query, and no row has such a name. The API handles this itself.
        is_page = request.resolver_match is not None and request.resolver_match.namespace == "web"
        unheard_of = is_page and any("\0" in str(name) for name in names.values())
        return page_not_found(request, Http404()) if unheard_of else None

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if isinstance(exception, TooManyHashes):
            return too_many(request, TooMany(str(exception), code="too_many_logins", retry_after_seconds=5))
        if isinstance(exception, NotOpened):
            logger.error("%s", exception)
            sentence = "This site cannot read your second factor at the moment. Please tell the organisers."
            if request.path_info.startswith("/api/"):
                return JsonResponse({"detail": sentence}, status=503)
            context = {"title": "This cannot be checked", "sentence": sentence}
            return render(request, "web/site/refusal.html", context, status=503)
        if isinstance(exception, Refused) and not request.path_info.startswith("/api/"):
            # No page of its own shows it, e.g. on the way back from a provider.
            context = {"title": "This was not done", "sentence": str(exception)}
            return render(request, "web/site/refusal.html", context, status=409)
        return page_not_found(request, exception) if isinstance(exception, Http404) else None


def _left_out(response: HttpResponseBase) -> str:
    """Return the header that an answer lacks, in lower case."""
    if getattr(response, "xframe_options_exempt", False):
        return FRAMES.lower()
    # Django's own page of an error has a script in it.
    return POLICY.lower() if settings.DEBUG and response.status_code in (404, 500) else ""


class BeforeViews:
    """Middleware that checks a request before its view: session, team, course and limits, in this order.

    After the view, logins with too many wrong passwords get their answer, as from the middleware of django-axes. These
    are functions and not middleware of their own, whose layers each request would have to pass.
    """

    ALWAYS = frozenset({"account_login", "account_logout", "admin:logout"})
    TO_SHOW = frozenset({"mfa_reauthenticate", "mfa_reauthenticate_webauthn"})
    TO_SET_UP = frozenset({"mfa_index", "mfa_activate_totp", "mfa_add_webauthn", "account_reauthenticate"})
    SENTENCE = "Your account needs its second factor. Log in on the site, where you are asked for it."

    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if getattr(request, "axes_locked_out", False):
            response = locked_out(request, getattr(request, "axes_credentials", None))
        limits_state(request, response)
        return response

    def process_view(self, request: HttpRequest, view: Callable[..., Any], *_: Any) -> HttpResponse | None:
        if (refused := self._session(request)) is not None:
            return refused
        work_as_chosen(request, view)
        return page_gate(request) or limits_count(request)

    def _session(self, request: HttpRequest) -> HttpResponse | None:
        """Note the use of a session, and end those that organisers have left open.

        One that lacks its account's second factor reaches only the pages to show it or set it up.
        """
        if not comes_with_session(request) or not isinstance(request.user, User):
            return None
        # A page that renews a part of itself is not in use.
        if "HX-Request" not in request.headers:
            session_use(request, now=timezone.now())
        if not second_factor_missing(request):
            return None
        has_one = has_second_factor(request.user)
        address = request.resolver_match.view_name if request.resolver_match else ""
        if address in self.ALWAYS or address in (self.TO_SHOW if has_one else self.TO_SET_UP):
            return None
        if address.startswith("api:") or request.path_info.startswith("/api/"):
            return JsonResponse({"detail": self.SENTENCE}, status=403)
        if not has_one:
            return redirect("mfa_index")
        wanted = request.get_full_path() if request.method in ("GET", "HEAD") else ""
        return redirect(
            f"{reverse('mfa_reauthenticate')}?{urlencode({'next': wanted})}" if wanted else "mfa_reauthenticate"
        )
