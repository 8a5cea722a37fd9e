"""The answer to requests that come too often."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

from core.errors import Refused
from web.site.embedding import PATH, embeddable
from web.site.embedding import refusal as plain_refusal


class TooMany(Refused):
    """There were too many requests. retry_after_seconds: when to try again."""

    def __init__(self, message: str, *, code: str, retry_after_seconds: int) -> None:
        super().__init__(message, code=code)
        self.retry_after_seconds = retry_after_seconds


def too_many(
    request: HttpRequest, refusal: TooMany, *, title: str = "One moment, please", offers_reset: bool = False
) -> HttpResponse:
    """Answer with status 429: a page for people, JSON for programs and the viewer of matches."""
    response: HttpResponse
    if request.path_info.startswith("/api/"):
        response = JsonResponse({"detail": str(refusal), "code": refusal.code}, status=429)
    elif request.path_info.startswith(PATH):
        response = plain_refusal(str(refusal), 429)
        embeddable(response)
    elif request.path_info.endswith("/frames.json"):
        response = JsonResponse({"error": str(refusal)}, status=429)
    else:
        context = {"title": title, "sentence": str(refusal), "offers_reset": offers_reset}
        response = render(request, "429.html", context, status=429)
    response.headers["Retry-After"] = str(refusal.retry_after_seconds)
    response.headers["Cache-Control"] = "no-store"
    return response
