"""Answers to strangers, pages of one reader and parts of pages, each kept while the version of what it shows stays."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple, TypeVar

from django.conf import settings
from django.contrib.messages import get_messages
from django.contrib.staticfiles.storage import staticfiles_storage
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.csrf import get_token
from django.urls import Resolver404, ResolverMatch
from django.utils.cache import get_conditional_response, patch_vary_headers
from django.utils.http import http_date

from core.cache.answers import cached
from core.resolving import LONGEST_PATH, resolved
from core.watching.shown import (
    Shown,
    agent_duels_shown,
    agent_shown,
    duel_shown,
    environment_shown,
    evaluation_shown,
    everything_shown,
    now_shown,
    tournament_shown,
    user_shown,
)

Next = Callable[[HttpRequest], HttpResponseBase]
Part = TypeVar("Part")
KEPT: Mapping[str, tuple[Callable[..., Shown | None], tuple[str, ...]]] = {
    "web:home": (now_shown, ()),
    "web:watch": (now_shown, ()),
    "web:tournament_calendar": (now_shown, ()),
    "web:environment": (environment_shown, ("slug",)),
    "web:environment_rules": (environment_shown, ("slug",)),
    "web:edition": (environment_shown, ("slug",)),
    "web:participant": (environment_shown, ("slug",)),
    "web:tournaments": (environment_shown, ("slug",)),
    "web:season": (environment_shown, ("slug",)),
    "web:agent": (agent_shown, ("slug", "name")),
    "web:user": (user_shown, ("username",)),
    "web:evaluation": (evaluation_shown, ("evaluation_id",)),
    "web:duel": (duel_shown, ("duel_id",)),
    "web:match": (duel_shown, ("duel_id",)),
    "web:match_frames": (duel_shown, ("duel_id",)),
    "api:board": (environment_shown, ("slug",)),
    "api:participants": (tournament_shown, ("pk",)),
    "api:duels": (agent_duels_shown, ("agent",)),
    "api:match": (duel_shown, ("pk",)),
    "api:replay": (duel_shown, ("pk",)),
}
"""Answers that are kept, by the name of the address: what returns the version, and what it takes of the address."""
API = re.compile(r"/api/(?:v1/(?:environments|agents|tournaments|ratings|duels|evaluations)|leaderboard)/")
"""Lists and rows of the API, which are kept by the version of everything if KEPT has no version of them."""
QUERY = re.compile(r"(?:(?:page|environment|state|agent)=[\w-]{1,60}(?:&(?=.)|\Z)){0,3}")
"""Queries of addresses whose answers are kept; others are too many to keep."""
is_on = True
"""Off in most tests, which look at a page again within a second of a change."""
ASKED_BY = ("HX-Request", "HX-Target")
"""Headers by which a page is asked for a part of it."""
LARGEST_BYTES = 500_000
GZIP, GZIP_FORMAT = re.compile(r"\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))"), 31
"""A pattern of the Accept-Encoding of readers who take gzip, and the number that zlib has for that format."""
CACHE_CONTROL = "public, max-age=0, s-maxage=1"
"""For answers that all strangers get alike: nginx keeps one for a second, and browsers revalidate theirs each time."""
VARY = (*ASKED_BY, "Accept-Encoding", "Authorization", "Cookie", "X-Seen")
"""Headers that decide which answer a request gets."""
OWN_SECONDS = 60.0
"""How long a page is kept for its one reader, and a part of pages for all."""
RATE_LIMITS = frozenset({"x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"})
OF_ONE_REQUEST = RATE_LIMITS | {"content-encoding", "content-length", "set-cookie"}
"""Headers that are not kept."""


class KeptAnswer(NamedTuple):
    """An answer with status 200. body: as gzip. tag: its ETag; empty for an answer that cannot be kept."""

    headers: dict[str, str]
    body: bytes
    tag: str


NOT_KEPT = KeptAnswer({}, b"", "")


class KeptAnswers:
    """Middleware that answers strangers from the cache, with an ETag, and with 304 where the reader has it already.

    It stands outside all middleware that makes headers, so that they are kept too, and before the limits of requests,
    as a kept answer costs next to nothing.
    """

    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        match = _match(request)
        shown = None if match is None else _shown(request, match)
        if match is None:
            return self.get_response(request)
        if shown is None:
            return _instead(self.get_response(request))
        own: list[HttpResponseBase] = []

        def make() -> KeptAnswer:
            own.append(self.get_response(request))
            return _kept(own[0])

        version = f"{shown.version} {_release()}"
        answer = cached(_key(request), KeptAnswer, make, version=version, seconds=shown.seconds)
        if not answer.tag:
            return _instead(own[0] if own else self.get_response(request))
        request.resolver_match = match
        response = HttpResponse(headers=answer.headers)
        found = get_conditional_response(request, etag=answer.tag, response=response)
        if found is not None and found is not response:
            return found
        takes_gzip = GZIP.search(request.headers.get("Accept-Encoding", ""))
        response.content = answer.body if takes_gzip else zlib.decompress(answer.body, GZIP_FORMAT)
        response["Content-Length"] = str(len(response.content))
        if takes_gzip:
            response["Content-Encoding"] = "gzip"
        return response


def for_one_reader(
    request: HttpRequest, facts: Callable[[], Sequence[object]], make: Callable[[], HttpResponse]
) -> HttpResponse:
    """Return the page that `make` makes, or has made for this reader and these facts in the last minute.

    facts: returns all that the page shows, or versions of it. A page with messages is not kept, as they are shown once,
    and neither is an answer with another status than 200.
    """
    if not is_on or request.method != "GET" or not request.user.is_authenticated or len(get_messages(request)):
        return make()
    get_token(request)
    account = [field.value_from_object(request.user) for field in request.user._meta.concrete_fields]
    known = [facts(), account, dict(request.session), request.META["CSRF_COOKIE"], _key(request), _release()]
    key = sha256(json.dumps(known, default=str, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()
    own: list[HttpResponse] = []

    def text() -> str:
        own.append(make())
        return own[0].content.decode() if own[0].status_code == 200 else ""

    page = cached(f"own:{key}", str, text, seconds=OWN_SECONDS)
    response = own[0] if own else HttpResponse(page) if page else make()
    patch_vary_headers(response, ASKED_BY)
    return response


def for_all_readers(name: str, slug: str | None, facts: Sequence[object], kind: Any, make: Callable[[], Part]) -> Part:
    """Return the part of a page that `make` makes, or has made lately for another reader.

    slug: of the environment whose version the part has; None for one that is not kept. facts: what else it shows, as
    the caller has read it. kind: its type, as `cached` takes it.
    """
    shown = environment_shown(slug) if is_on and slug is not None else None
    if shown is None:
        return make()
    # The version is in the key and not given as such: else `cached` would return the part of the last version while
    # another caller makes the new one, and a page that is new otherwise would be kept with it.
    version = sha256(f"{shown.version} {facts} {_release()}".encode()).hexdigest()
    # While versions follow each other, few of them are held at a time.
    return cached(f"part:{name}:{version}", kind, make, seconds=min(OWN_SECONDS, 10 * shown.seconds))


def _release() -> str:
    """Return a text that differs between releases whose pages need other files."""
    return getattr(staticfiles_storage, "manifest_hash", "")


def _kept(response: HttpResponseBase) -> KeptAnswer:
    """Return what is kept of an answer."""
    if not isinstance(response, HttpResponse) or response.status_code != 200 or response.cookies:
        return NOT_KEPT
    if len(response.content) > LARGEST_BYTES:
        return NOT_KEPT
    is_gzip = response.get("Content-Encoding") == "gzip"
    plain = zlib.decompress(response.content, GZIP_FORMAT) if is_gzip else response.content
    # Weak, as it stands for the page both as it is and as gzip.
    tag = f'W/"{sha256(plain).hexdigest()[:32]}"'
    patch_vary_headers(response, VARY)
    headers = {"Cache-Control": CACHE_CONTROL, "Last-Modified": http_date(), **response.headers}
    headers["ETag"] = tag
    kept = {name: value for name, value in headers.items() if name.lower() not in OF_ONE_REQUEST}
    return KeptAnswer(kept, response.content if is_gzip else gzip.compress(plain, 1, mtime=0), tag)


def _instead(response: HttpResponseBase) -> HttpResponseBase:
    """Let nginx keep an answer that is not kept here, such as a 404 in place of a page that it would go on to send."""
    if response.status_code < 500 and response.status_code != 429 and not response.cookies:
        for name in RATE_LIMITS:
            response.headers.pop(name, None)
        patch_vary_headers(response, VARY)
        response.headers.setdefault("Cache-Control", CACHE_CONTROL)
    return response


def _match(request: HttpRequest) -> ResolverMatch | None:
    """Return the address of a stranger's request whose answer may be kept."""
    if (
        not is_on
        or request.method != "GET"
        or ("HTTP_COOKIE" in request.META and not request.COOKIES.keys() <= {settings.CSRF_COOKIE_NAME})
        or "HTTP_AUTHORIZATION" in request.META
        or "HTTP_X_SEEN" in request.META
        or len(request.path_info) > LONGEST_PATH
        or "\0" in request.path_info  # PostgreSQL rejects it in a query.
        or not QUERY.fullmatch(request.META.get("QUERY_STRING", ""))
    ):
        return None
    try:
        match = resolved(request.path_info)
        if match.view_name not in KEPT and not API.match(request.path_info):
            return None
        request.get_host()
    except (Resolver404, DisallowedHost):
        return None
    return match


def _shown(request: HttpRequest, match: ResolverMatch) -> Shown | None:
    shown, names = KEPT.get(match.view_name, (everything_shown, ()))
    named: dict[str, Any] = {**request.GET.dict(), **match.kwargs}
    return shown(*(named[name] for name in names)) if named.keys() >= set(names) else everything_shown()


def _key(request: HttpRequest) -> str:
    asked = [request.headers.get(name, "") for name in ASKED_BY]
    asked += [request.scheme or "", request.get_host(), request.get_full_path()]
    asked += [request.headers.get("Accept", "")] if API.match(request.path_info) else []
    return f"page:{sha256(chr(0).join(asked).encode('utf-8', 'surrogatepass')).hexdigest()}"
